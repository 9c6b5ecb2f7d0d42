"""Ways to take an answer along: its address, and files of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from gpusizer.exports import estimates_csv, ranking_csv
from gpusizer.report import Report
from gpusizer.text import say_note
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.markdown import markdown
from gpusizer.ui.presenters.words import Words

_KINDS = ("link", "json", "csv", "memory", "markdown")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the browser makes."""

    name: str
    type: str
    text: str

    def to_json(self) -> str:
        """For the browser's script."""
        return json.dumps({"name": self.name, "type": self.type, "text": self.text})


def share_html(words: Words) -> Html:
    """A button for each way."""
    buttons = [
        el("button", words(f"share.{kind}"), type="button", class_="gs-button", data_share=kind,
           data_done=words("copied"))
        for kind in _KINDS
    ]  # fmt: skip
    return el(
        "div", join(buttons), class_="gs-share", role="group", aria_label=words("share.label")
    )


def download(report: Report, kind: str, words: Words) -> Download | None:
    """The file of that kind, None for an unknown one."""
    made = _FILES.get(kind)
    if made is None:
        return None
    suffix, media_type, text = made
    name = _UNSAFE.sub("-", report.profile.repo_id.rsplit("/", maxsplit=1)[-1])[:80]
    return Download(f"gpusizer-{name}{suffix}", media_type, text(report, words))


def _json(report: Report, words: Words) -> str:
    return json.dumps(report.to_json(say_note), ensure_ascii=False, indent=1, allow_nan=False)


_FILES: dict[str, tuple[str, str, Callable[[Report, Words], str]]] = {
    "json": (".json", "application/json", _json),
    "csv": ("-gpus.csv", "text/csv", lambda report, words: ranking_csv(report)),
    "memory": ("-memory.csv", "text/csv", lambda report, words: estimates_csv(report)),
    "markdown": (".md", "text/markdown", lambda report, words: markdown(report, words, "")),
}
