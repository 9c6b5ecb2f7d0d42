"""Random visits at night: after each step no error, an answer, and an address that tells it.

A failure names its seed and its steps.
"""

from __future__ import annotations

import pytest

from tests.browser.robot import Robot
from tests.browser.test_page import Open

STEPS = 30
WIDTHS = (1280, 390)


@pytest.mark.night
@pytest.mark.parametrize("seed", range(20))
def test_a_random_visit(visit: Open, seed: int) -> None:
    window = visit(WIDTHS[seed % 2])
    robot = Robot(window.page, visit().page, seed)
    window.go("/")
    for _ in range(STEPS):
        robot.do_something()
        robot.check(anew=True)
