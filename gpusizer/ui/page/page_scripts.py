"""The page's JavaScript: files of `scripts/`, and the values that the page gives them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gpusizer.ui.page.forms import FORMS, OWN_FIELDS, SEVERAL
from gpusizer.ui.presenters.badge import ORIGIN as BADGE_ORIGIN
from gpusizer.ui.presenters.pieces.frame import ORIGIN

TAB_ID = "gs-tab-"  # prefix of the id of a tab's element, before the tab's name
STORED_MACHINE = "gs-own-machine"  # key of the browser's storage

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
    """Return the script of a listener that calls a function.

    It passes these arguments, and last the listener's values.
    """
    passed = [*map(json.dumps, arguments), "values"]
    return f"(...values) => {function}({', '.join(passed)})"


def wishing(tab: str, *names: str) -> str:
    """Return the scripts of a component whose `wish` keeps an action and asks in a tab."""
    return f"const wish = gsAsking.asker({json.dumps(tab)}, trigger);\n{script_text(*names)}"


def search_label(grid_id: str, label: str) -> str:
    """Return a script that labels a grid's search field."""
    return f"({script_text('search_label').strip()})({json.dumps(grid_id)}, {json.dumps(label)});\n"


# part of the document's head, which runs before the page is visible
HEAD = (
    f"<script>window.gsPage = {json.dumps(_PAGE)};\n"
    f"{script_text('embedding', 'own_machine', 'asking', 'address')}</script>"
)

# writes the page's own origin into code examples, and listens to their copy buttons
COPY = script_text("copy", "tell", "copy_code")

# Scripts of GPUs side by side: remove one, add one by name, choose their quantizations, copy a
# command.
CARDS = ("tell", "copy_code", "own_address", "cards", "own_cards")

# offers the GPU that the browser names for the field of the machine
BROWSER = script_text("graphics_name", "ask_browser")

# scripts of an answer: its examples, its share buttons, and those that show a view below it
ANSWER = ("try", "tell", "share", "views")
