"""Listeners get an answer or a GpusizerError as a value, never as an exception."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from gpusizer.core.errors import GpusizerError
from gpusizer.core.work_turns import TURNS

RANKED = 60
"""Rows of a ranking or list that the page shows."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


def attempt(answer: Callable[[], _Answer]) -> _Answer | GpusizerError:
    """Call `answer` and return its result or its error.

    Any other exception is logged, and returned as a GpusizerError without a cause.
    """
    try:
        with TURNS.computing():
            return answer()
    except GpusizerError as error:
        return error
    except Exception:
        _log.exception("unexpected failure")
        return GpusizerError()
