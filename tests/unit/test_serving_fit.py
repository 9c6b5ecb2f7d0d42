"""How constants and bands of servers come from published runs, by hand."""

from __future__ import annotations

import csv

import pytest

from bench.serving import narrowest
from bench.serving_cases import read_cases
from bench.serving_fit import Problem
from gpusizer.serving.constants import CONSTANT_TABLE, classes_of
from gpusizer.speed.classes import ROOT
from tests.unit.test_serving_bursts import run_of


def test_a_band_is_the_narrowest_that_holds_enough_runs() -> None:
    """82 % of ten runs of a source are nine, without the slow one; of eleven, ten.

    With a run each none of four sources is left out.
    """
    runs = [0.9, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2, 1.3, 1.4, 9.0]
    assert narrowest({"one": runs}) == pytest.approx((0.9, 1.4))
    assert narrowest({"one": [*runs, 0.1]}) == pytest.approx((0.9, 9.0))
    alone = {f"other {ratio}": [ratio] for ratio in (0.5, 1.0, 2.0, 4.0)}
    assert narrowest(alone) == pytest.approx((0.5, 4.0))


@pytest.mark.parametrize(
    ("release", "generation"), [("0.7.3", "first"), ("0.11.0", "second"), ("0.20.1", "third")]
)
def test_releases_of_one_generation_share_what_their_hosts_take(
    release: str, generation: str
) -> None:
    (case,) = read_cases([run_of(engine_version=release)])
    assert f"{generation} generation" in classes_of(case.facts)["step_seconds"]
    assert f"{generation} generation" not in classes_of(case.facts)["reading"]


@pytest.mark.parametrize(
    ("engine", "release", "order", "graphs"),
    [
        ("tensorrt-llm", "0.12.0", "prompts_first", 0),
        ("tensorrt-llm", "1.0.0", "mixed", 0),
        ("tensorrt-llm", None, "mixed", 0),
        ("vllm", "0.7.3", "prompts_first", 0),
        ("vllm", "0.11.0", "mixed", 512),
    ],
)
def test_a_release_has_the_scheduler_of_its_time(
    engine: str, release: str | None, order: str, graphs: int
) -> None:
    (case,) = read_cases([run_of(engine=engine, engine_version=release)])
    assert case.facts.scheduler.order == order
    assert case.facts.scheduler.graph_tokens == graphs


def test_what_one_source_alone_measured_is_nobody_elses_constant() -> None:
    """Two sources have an H100; a third has A100s of its own.

    Without one of the two only the other has H100s.
    """
    a100 = "a100-sxm-80gb"
    cases = read_cases(
        [
            run_of(source_group="one"),
            run_of(source_group="other"),
            run_of(source_group="third", gpu_slug=a100),
        ]
    )
    problem = Problem.from_cases(cases)
    theta = problem.start()
    hopper, ampere = cases[0].facts.memory_classes[0], cases[2].facts.memory_classes[0]
    assert {("reading", hopper), ("reading", ampere)} <= set(problem.keys)
    assert ("reading", hopper) in problem.factors(theta)
    assert ("reading", ampere) not in problem.factors(theta)
    assert ("reading", hopper) not in problem.factors(theta, "one")
    assert ("reading", ROOT) in problem.factors(theta, "one")


def test_every_factor_in_use_stands_on_two_sources() -> None:
    with CONSTANT_TABLE.open(encoding="utf-8", newline="") as file:
        sources = {(row["constant"], row["class"]): row["sources"] for row in csv.DictReader(file)}
    assert len(sources) > 100
    assert [key for key, count in sources.items() if int(count) < 2] == []
