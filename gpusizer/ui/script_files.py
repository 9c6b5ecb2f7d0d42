"""Reads the scripts of the page, files of JavaScript beside the stylesheet."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).with_name("scripts")
_HEADING = re.compile(r"\A(?://.*\n)+")


def script_text(name: str, **values: Any) -> str:
    """Return the text of a script without its heading, values as JSON in place of their names."""
    text = _HEADING.sub("", _FOLDER.joinpath(f"{name}.js").read_text(encoding="utf-8"))
    for word, value in values.items():
        text = text.replace(word, json.dumps(value))
    return text
