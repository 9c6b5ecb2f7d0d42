"""How constants and bands of servers come from published runs, by hand."""

from __future__ import annotations

import pytest

from bench.serving import narrowest
from bench.serving_cases import read_cases
from gpusizer.fit.serving.constants import classes_of
from tests.unit.test_serving_bursts import run_of


def test_a_band_is_the_narrowest_that_holds_enough_runs() -> None:
    """Of ten runs of a source 82 % are nine, without the slow one, of eleven ten. Of four sources
    with a run each none is left out."""
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
