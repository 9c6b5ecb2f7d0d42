"""Sessions: Gradio's state of a page's visitor, without questions and answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder


class Sessions(StateHolder):
    """Gradio's sessions without descriptions of components.

    Gradio 6.31 makes for each session a description of every component (gradio/state_holder.py),
    0.03 seconds and 0.3 MB for a page, and writes all questions and answers into it, a pasted log
    and a thousand GPUs, too. It reads them for saved sessions alone, whose routes are closed.
    """

    def __getitem__(self, session_id: str) -> SessionState:
        """Return a session; a new or dropped one is created."""
        if session_id not in self.session_data:
            self.session_data[session_id] = _Session(self.blocks)
        return super().__getitem__(session_id)


def keep_less(app: App, blocks: gr.Blocks) -> None:
    """Give a Gradio application that serves `blocks` such sessions."""
    app.state_holder = Sessions()  # type: ignore[no-untyped-call]
    app.state_holder.set_blocks(blocks)


class _Session(SessionState):
    def __init__(self, blocks: gr.Blocks) -> None:
        # Gradio describes those components that `blocks` has.
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks={}))  # type: ignore[arg-type]
        self.config_values = _Undescribed()


class _Undescribed(dict[int, Any]):
    """Accepts every description, and keeps none."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, _: int) -> dict[str, Any]:
        return {}

    def __setitem__(self, _: int, description: Any) -> None:
        return
