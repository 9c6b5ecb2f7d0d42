"""bench.load and bench.scaling: what counts as an error, what is asked, what caches keep."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from bench.load.hub import PRIVATE_MODEL, PRIVATE_TOKEN, Hub, hub_process, model_id
from bench.load.outcomes import Outcome, figures
from bench.load.scenarios import SCENARIOS
from bench.load.scenarios.soak import each_and_zipf, spread
from bench.load.visitors import Question, zipf
from bench.scaling import (
    Recent,
    Server,
    Tally,
    Traffic,
    addresses_for,
    processes_for,
    simulate,
)
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.ui.http_status import RETRY_AFTER_SECONDS
from scrapers.fetcher import Fetcher
from scrapers.snapshot_cache import COMMIT_SECONDS
from tests.each import each


@each(
    "outcome, kind",
    [
        (Outcome(0.1, 200), "ok"),
        (Outcome(0.1, 304), "ok"),
        (Outcome(0.1, 429, "hub_rate_limited", 60), "refused"),
        (Outcome(0.1, 503, "server_busy", 2), "refused"),
        (Outcome(0.1, 503, "server_busy"), "error"),
        (Outcome(0.1, 500, "internal"), "error"),
        (Outcome(0.1, 0, "ReadError"), "error"),
        (Outcome(0.1, 200, "hub_unreachable"), "refused"),
        (Outcome(0.1, 200, "internal"), "error"),
    ],
)
def test_what_is_refused_says_when_to_come_again(outcome: Outcome, kind: str) -> None:
    assert outcome.kind == kind
    assert {429, 503} == set(RETRY_AFTER_SECONDS)


def test_percentiles_are_of_the_answers() -> None:
    answers = [Outcome(number / 1000, 200) for number in range(1, 102)]
    summed = figures([*answers, Outcome(9.0, 500, "internal")], wall_seconds=2.0)
    assert (summed.answered, summed.errors, summed.per_second) == (101, 1, 50.5)
    assert (summed.p50_ms, summed.p95_ms) == (pytest.approx(51.0), pytest.approx(96.0))
    assert summed.errors_by == {"500 internal": 1}


def test_nothing_answered_has_no_percentiles() -> None:
    summed = figures([Outcome(0.1, 503, "server_busy", 2)], 1.0)
    assert summed.answered == 0 and summed.p95_ms != summed.p95_ms


def test_questions_follow_zipfs_law_and_repeat_for_a_seed() -> None:
    models = [model_id(number) for number in range(20)]

    def asked(seed: int) -> list[Question]:
        return list(itertools.islice(zipf(models, seed), 4000))

    assert asked(1) == asked(1) != asked(2)
    counts = Counter(question.fields.get("model") for question in asked(1))
    assert counts[models[0]] > 1.5 * counts[models[1]] > 2 * counts[models[9]] > 0
    paths = Counter(question.path for question in asked(1))
    assert set(paths) == {"size", "train", "compare", "gpus"} and paths["size"] > 2000


def test_a_soak_asks_about_each_model_evenly() -> None:
    models = [model_id(number) for number in range(20)]
    asked = list(each_and_zipf(models, 200))
    tenths = [{q.fields.get("model") for q in asked[: 20 * (part + 1)]} for part in range(10)]
    assert len(asked) == 200
    assert all(
        set(models[: 2 * (part + 1)]) <= tenth and len(tenth - {None}) <= 20
        for part, tenth in enumerate(tenths)
    )
    assert tenths[-1] >= set(models) and len({q.path for q in asked}) == 4


def test_a_soak_of_few_calls_asks_about_the_first_models() -> None:
    models = [model_id(number) for number in range(20)]
    assert [q.fields["model"] for q in each_and_zipf(models, 5)] == models[:5]


def test_memory_is_told_from_its_middle() -> None:
    assert spread([300_000_000, 310_000_000, 305_000_000]) == "300 to 310 MB, ± 1.6%"


def test_every_scenario_has_a_sentence() -> None:
    assert all(scenario.__doc__ for scenario in SCENARIOS.values())
    assert len(set(SCENARIOS.values())) == len(SCENARIOS) >= 12


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with hub_process(3) as hub:
        yield hub


def test_the_hub_of_the_bench_counts_and_fails_as_told(hub: Hub) -> None:
    fetch = Fetcher(Settings(endpoint=hub.endpoint, cdn_origins=(hub.cdn,)))
    assert fetch(ModelRef(model_id(1))).repo_id == model_id(1)
    assert fetch(ModelRef(PRIVATE_MODEL), PRIVATE_TOKEN).repo_id == PRIVATE_MODEL
    requests = hub.requests()
    hub.fail({"kind": "reset"})
    assert requests > 4
    hub.reset()
    assert hub.requests() == 0


def test_the_least_recently_used_go_first() -> None:
    recent = Recent(2)
    for key in ("a", "b", "a", "c"):
        recent.use(key, (1.0, 0))
    assert list(recent) == ["a", "c"]


def test_one_model_is_read_once_and_confirmed_every_five_minutes() -> None:
    traffic = Traffic(calls_a_day=86_400 / 3, models=1, variants=1, commits_a_day=0.0)
    tally = simulate(traffic, Server(), calls=20_000)
    assert (tally.cold, tally.calls, tally.kept_answers) == (0, 10_000, 10_000)
    assert tally.confirmed == tally.api == pytest.approx(tally.seconds / COMMIT_SECONDS, rel=0.05)


def test_a_model_that_changes_is_read_again() -> None:
    still = Traffic(calls_a_day=3_000, models=1, variants=1, commits_a_day=0.0)
    busy = Traffic(calls_a_day=3_000, models=1, variants=1, commits_a_day=500.0)
    assert simulate(still, Server(), calls=2_000).cold == 0
    assert simulate(busy, Server(), calls=2_000).cold > 20


def test_more_traffic_finds_more_in_the_caches() -> None:
    little = simulate(Traffic(calls_a_day=10_000, models=300), Server(), calls=6_000)
    much = simulate(Traffic(calls_a_day=1_000_000, models=300), Server(), calls=6_000)
    assert much.held > 1.5 * little.held
    assert much.api < little.api / 10


def test_processes_share_the_folder() -> None:
    traffic = Traffic(calls_a_day=1_000_000, models=300)
    apart = simulate(traffic, Server(held_models=0), calls=6_000, processes=4)
    assert apart.held == 0
    assert apart.on_disk > 10 * (apart.confirmed + apart.cold)


def test_processes_are_as_many_as_the_work_needs() -> None:
    assert processes_for(Tally(seconds=10.0, processor_seconds=1.0)) == 1
    assert processes_for(Tally(seconds=10.0, processor_seconds=31.0)) == 6


@pytest.mark.parametrize(("api", "files", "addresses"), [(1, 1, 1), (501, 1, 2), (1, 9_001, 4)])
def test_addresses_are_as_many_as_the_hub_asks_for(api: int, files: int, addresses: int) -> None:
    assert addresses_for(Tally(seconds=300.0, api=api, resolvers=files)) == addresses
