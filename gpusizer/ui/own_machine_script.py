"""Remembers the visitor's machine and prices in his browser, and keeps an address's parameters.

The browser remembers what is typed. An address that states nothing of the machine is read as if it
stated what is remembered, which is written into it before the page asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.ui.embedding import EMBED_PARAMETERS
from gpusizer.ui.forms import OWN_FIELDS
from gpusizer.ui.script_files import script_text

STORED_MACHINE = "gs-own-machine"
"""Key of the browser's storage."""

_ADDRESS = script_text("page_address", NAMES=OWN_FIELDS, KEPT=EMBED_PARAMETERS)
PAGE_ADDRESS_SCRIPT = f"<script>{_ADDRESS}</script>"
"""Part of the document's head. Links to other questions carry the parameters of a frame, and the
machine."""


def same_everywhere(names: Sequence[str], folds: int, shared: Sequence[str]) -> str:
    """Return a script that remembers the fields of one tab, in the order of `names`, and returns
    updates that open the folds of other tabs, and values for their fields `shared`."""
    return script_text("same_everywhere", NAMES=names, FOLDS=folds, SHARED=shared)
