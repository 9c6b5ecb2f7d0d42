"""Random visits: after each step no error, an answer to the question, an address that tells it.

With `GPUSIZER_NIGHTLY=1` twenty visits of thirty steps; a failure names its seed and its steps.
"""

from __future__ import annotations

import pytest

from tests.browser.robot import Robot
from tests.browser.test_page import Open
from tests.nightly import NIGHTLY

SEEDS = range(20) if NIGHTLY else range(1)
STEPS = 30 if NIGHTLY else 6
WIDTHS = (1280, 390)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_visit(visit: Open, seed: int) -> None:
    window = visit(WIDTHS[seed % 2])
    robot = Robot(window.page, visit().page, seed)
    window.go("/")
    for step in range(STEPS):
        robot.do_something()
        robot.check(anew=NIGHTLY or step == STEPS - 1)
