"""The answer that the first page shows as an example."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import GpusizerError
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.ui.answering import PageAnswer, answer
from gpusizer.ui.attempts import attempt
from gpusizer.ui.page_state import PageState

Stored = Callable[[str], RepoSnapshot | None]
"""Returns the embedded snapshot of a model, without a request to the Hub."""


def no_snapshot(model: str) -> None:
    """Return None: nothing is embedded."""


def sample_answer(sizer: Sizer, model: str, stored: Stored) -> PageAnswer | None:
    """Answer for an embedded model with the usual settings; None if it is not embedded.

    The page is built before anyone has asked, so that nothing is requested from the Hub.
    """
    snapshot = stored(model)
    if snapshot is None:
        return None
    reader, state = sizer.reading(lambda ref: snapshot), PageState(model)
    result = attempt(lambda: answer(reader, state))
    return None if isinstance(result, GpusizerError) else result
