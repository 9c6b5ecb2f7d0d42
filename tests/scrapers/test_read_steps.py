"""Whoever waits for a read is told of its steps."""

from __future__ import annotations

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import ReadingStep, ignore_step, watched
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.fetcher import Fetcher
from scrapers.read_steps import Watchers
from tests.builders import tiny
from tests.hub_emulator import HubEmulator, gguf_repo, llama_repo
from tests.scrapers.conftest import settings_of

REF = ModelRef("org/name")


def fetcher(hub: HubEmulator) -> Fetcher:
    return Fetcher(settings_of(hub))


def names(steps: list[ReadingStep]) -> list[str]:
    return list(dict.fromkeys(step.name for step in steps))


def test_a_read_tells_of_its_files_its_headers_and_its_end(hub: HubEmulator) -> None:
    repo = hub.add(llama_repo(REF.repo_id, shards=4))
    steps: list[ReadingStep] = []
    fetch = fetcher(hub)
    watched(fetch, steps.append)(REF)
    assert names(steps) == ["files", "headers", "read"]
    assert steps[0].count == len(repo.files)
    assert [step for step in steps if step.name == "headers"][-1] == ReadingStep("headers", 4, 4)
    steps.clear()
    watched(fetch, steps.append)(REF)
    assert steps == [], "what is cached is not read"


def test_headers_of_gguf_files_are_counted(hub: HubEmulator) -> None:
    hub.add(gguf_repo(REF.repo_id))
    steps: list[ReadingStep] = []
    watched(fetcher(hub), steps.append)(REF)
    assert names(steps) == ["files", "headers", "read"]
    counted = [step for step in steps if step.name == "headers"][-1]
    assert counted.count == counted.total > 0


def test_a_visitors_read_is_watched_too(hub: HubEmulator) -> None:
    token = "hf_" + "a" * 34
    hub.add(llama_repo(REF.repo_id))
    hub.options.valid_tokens = {token: frozenset({REF.repo_id})}
    steps: list[ReadingStep] = []
    watched(fetcher(hub).for_visitor(token), steps.append)(REF)
    assert names(steps) == ["files", "headers", "read"]


def test_all_who_wait_for_one_read_are_told() -> None:
    watchers, first, second = Watchers(), list[ReadingStep](), list[ReadingStep]()
    files, headers, read = (
        ReadingStep("files", 9),
        ReadingStep("headers", 1, 2),
        ReadingStep("read"),
    )
    with watchers.watching(REF, first.append):
        watchers.tell(REF, files)
        with watchers.watching(REF, second.append):
            watchers.tell(REF, headers)
            watchers.tell(ModelRef("org/other"), files)
        watchers.tell(REF, read)
    watchers.tell(REF, read)
    assert (first, second) == ([files, headers, read], [headers])


def test_a_fetcher_without_steps_stays_as_it_is() -> None:
    def fetch(ref: ModelRef) -> RepoSnapshot:
        return tiny()

    assert watched(fetch, ignore_step) is fetch
