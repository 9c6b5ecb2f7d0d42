"""What a new session costs: Gradio notes how every component was made, for each visitor anew."""

from __future__ import annotations

import inspect
from collections.abc import Iterable


def remember_signatures(kinds: Iterable[type]) -> None:
    """Let `inspect.signature` look up what it would work out again for the same classes.

    Gradio 6.31 asks it about all components of all pages at the first call of a session, and
    each HTTP call is a session (gradio/state_holder.py, `SessionState`): half of that time.
    """
    for kind in kinds:
        made_by = kind.__init__  # type: ignore[misc]
        if "__signature__" not in vars(made_by):
            made_by.__signature__ = inspect.signature(made_by)
