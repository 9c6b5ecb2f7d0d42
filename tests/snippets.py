"""Commands and code of the documents that people and agents read, as they are written there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("README*.md", "docs/*.md", "skills/*/SKILL.md")
    for path in ROOT.glob(pattern)
    if path.name != "recipes.md"  # commands for who changes the code
)
COMMAND = "command"  # kind of a line that a shell runs
QUESTION = "question"  # kind of a question over plain HTTP: `GET` and a path with a query
OPTION = "option"  # kind of an option with a value in a table, which is no whole command to paste
_SHELLS = ("sh", "bash", "console", "")
_PROGRAMS = "gpusizer|python3?|pip|pipx|uvx?|apt|apt-get|docker|curl|npm|npx|node|sh|bash"
# A program and the word after it are a name in some: `git push`, `python -m gpusizer`.
_COMMAND = re.compile(rf"(?!python -m gpusizer$)(?:{_PROGRAMS}|(?:git|hf) \S+) \S")
_QUESTION = re.compile(r"GET /\S*\?\S")
_OPTION = re.compile(r"--\S+[ =]\S")
_COMMENT = re.compile(r"(?:^|\s+)#(?:\s.*)?$")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A command or a piece of code, and where it is."""

    document: str
    line: int
    kind: str  # COMMAND, QUESTION or OPTION, or the language of a block of code
    text: str
    in_block: bool

    @property
    def place(self) -> str:
        """The document and the line, for messages."""
        return f"{self.document}:{self.line}"


def snippets(document: str) -> Iterator[Snippet]:
    """Yield the blocks of code of a document, a shell's line by line, and commands in its text."""
    line, cell = 1, False
    for token in _PARSER.parse((ROOT / document).read_text("utf-8")):
        line = token.map[0] + 1 if token.map else line
        cell = token.type in ("td_open", "th_open") or (cell and token.type == "inline")
        if token.type in ("fence", "code_block"):
            for kind, text in _of_block(token):
                yield Snippet(document, line, kind, text, in_block=True)
        for child in token.children or ():
            kind = _kind(child.content, cell) if child.type == "code_inline" else None
            if kind:
                yield Snippet(document, line, kind, child.content, in_block=False)


def _of_block(block: Token) -> Iterator[tuple[str, str]]:
    language = block.info.strip()
    if language not in _SHELLS:
        yield language, block.content
        return
    for line in block.content.replace("\\\n", " ").splitlines():
        if text := _COMMENT.sub("", line).strip():
            yield COMMAND, text


def _kind(code: str, in_table: bool) -> str | None:
    """Return the kind of a code span, None for a name."""
    if _COMMAND.match(code):
        return COMMAND
    if _QUESTION.match(code):
        return QUESTION
    return OPTION if in_table and _OPTION.match(code) else None
