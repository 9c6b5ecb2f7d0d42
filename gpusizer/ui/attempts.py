"""An answer, or the error in its place: what a listener works with."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from gpusizer.errors import GpusizerError

RANKED = 60
"""Rows of a list that the page holds."""

Outputs = tuple[Any, ...]
"""Values for components, in the order of their tab."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


def attempt(answer: Callable[[], _Answer]) -> _Answer | GpusizerError:
    """What it returns, or the error it raises; a bug is logged and becomes an error too."""
    try:
        return answer()
    except GpusizerError as error:
        return error
    except Exception:
        _log.exception("unexpected failure")
        return GpusizerError()
