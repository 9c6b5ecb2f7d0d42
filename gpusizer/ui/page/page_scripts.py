"""The page's JavaScript: files of `scripts/`, and what the page tells them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gpusizer.ui.page.forms import FORMS, OWN_FIELDS, SEVERAL
from gpusizer.ui.presenters.badge import ORIGIN as BADGE_ORIGIN
from gpusizer.ui.presenters.pieces.frame import ORIGIN

TAB_ID = "gs-tab-"
"""Prefix of the id of a tab's element, before the tab's name."""
STORED_MACHINE = "gs-own-machine"
"""Key of the browser's storage."""

STYLE = Path(__file__).with_name("style.css")
_FOLDER = STYLE.with_name("scripts")
_HEADING = re.compile(r"\A(?://.*\n)+")
_PAGE = {
    "kept": ("embed", "__theme"),  # parameters of a frame, which other questions keep
    "own": OWN_FIELDS,
    "ownOf": {tab: form.own for tab, form in FORMS.items()},
    "load": SEVERAL,
    "tabId": TAB_ID,
    "storedMachine": STORED_MACHINE,
    "origin": ORIGIN,
    "badgeOrigin": BADGE_ORIGIN,
}


def script_text(*names: str) -> str:
    """Return the text of some scripts without their headings."""
    files = (_FOLDER.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in names)
    return "".join(_HEADING.sub("", text) for text in files)


def call(function: str, *arguments: str) -> str:
    """Return the script of a listener that calls a function with these arguments, and last with
    the listener's values."""
    passed = [*map(json.dumps, arguments), "values"]
    return f"(...values) => {function}({', '.join(passed)})"


def wishing(tab: str, *names: str) -> str:
    """Return the scripts of a component whose `wish` keeps a wish and asks in a tab."""
    return f"const wish = gsAsking.asker({json.dumps(tab)}, trigger);\n{script_text(*names)}"


def search_label(grid_id: str, label: str) -> str:
    """Return a script that labels a grid's search field."""
    return f"({script_text('search_label').strip()})({json.dumps(grid_id)}, {json.dumps(label)});\n"


HEAD = (
    f"<script>window.gsPage = {json.dumps(_PAGE)};\n"
    f"{script_text('embedding', 'own_machine', 'asking', 'address')}</script>"
)
"""Part of the document's head, which runs before the page is seen."""
COPY = script_text("copy", "tell", "copy_code")
"""Writes the page's own origin into code examples, and listens to their copy buttons."""
CARDS = ("tell", "copy_code", "own_address", "cards", "own_cards")
"""Scripts of GPUs side by side: remove one, add one by its name, choose their quantizations, copy a
command."""
ANSWER = ("try", "tell", "share", "views")
"""Scripts of an answer: its examples, its share buttons, and those that show a view below it."""
