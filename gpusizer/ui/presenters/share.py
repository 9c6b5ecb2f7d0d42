"""Buttons that share an answer: copy its address, or save it as a file."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup

from gpusizer.api.exports import estimates_csv, ranking_csv
from gpusizer.api.size import SizeAnswer, size_answer
from gpusizer.core.printable import json_text
from gpusizer.text import say_note
from gpusizer.ui.presenters.markdown import markdown
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.report import Report

_KINDS = ("link", "json", "csv", "memory", "markdown")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def share_html(words: Words) -> Markup:
    """Write the buttons, folded."""
    return render("share.html", words, kinds=_KINDS)


def download(report: Report, kind: str, words: Words) -> dict[str, str] | None:
    """Return a report as a file of that kind for `ui/page/scripts/download.js`, None for an unknown
    kind."""
    file = _FILES.get(kind)
    if file is None:
        return None
    suffix, media_type, text = file
    name = _UNSAFE.sub("-", report.profile.repo_id.rsplit("/", maxsplit=1)[-1])[:80]
    return {"name": f"gpusizer-{name}{suffix}", "type": media_type, "text": text(report, words)}


def _answer(report: Report) -> SizeAnswer:
    return size_answer(report, say_note)


def _json(report: Report) -> str:
    return json_text(_answer(report).document(), indent=1)


_FILES: dict[str, tuple[str, str, Callable[[Report, Words], str]]] = {
    "json": (".json", "application/json", lambda report, words: _json(report)),
    "csv": ("-gpus.csv", "text/csv", lambda report, words: ranking_csv(_answer(report))),
    "memory": ("-memory.csv", "text/csv", lambda report, words: estimates_csv(_answer(report))),
    "markdown": (".md", "text/markdown", lambda report, words: markdown(report, words, "")),
}
