"""read_card: the statements of a model card about hardware, from the bytes of its README. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from huggingface_hub.repocard import REGEX_YAML_BLOCK

from gpusizer.core.printable import printable
from gpusizer.hub.card_statements import (
    MOST_QUOTE_CHARS,
    MOST_STATEMENTS,
    ModelCard,
    ModelCardStatement,
)
from scrapers.readme.commands import command_statements
from scrapers.readme.context import context_statements, rope_statement
from scrapers.readme.prose import prose_statements
from scrapers.readme.tables import row_statements
from scrapers.readme.text import Block, card_blocks

CARD = "README.md"
MOST_COMMENTED_LINES = 200
MOST_COMMENT_CHARS = 300
_COMMENT = re.compile(r"(?:^|\s)#+\s*+([^#].*)")
# Introduces the comments of a command that runs the model.
_REQUIRED = "Required:"


def read_card(body: bytes, repo_id: str, url: str) -> ModelCard:
    """Return the statements of a card, each once, in the order of their lines."""
    text, first_line = card_text(body.decode("utf-8", errors="replace"))
    name = repo_id.rpartition("/")[2]
    found = card_blocks(text, first_line)
    statements: dict[ModelCardStatement, None] = {}
    for block in found.blocks:
        if len(statements) > MOST_STATEMENTS:
            break
        for statement in _statements(block, name):
            statements[_shown(statement)] = None
    # Of a card beyond the limits only the beginning is read.
    is_whole = found.are_all and len(statements) <= MOST_STATEMENTS
    return ModelCard(url, tuple(statements)[:MOST_STATEMENTS], is_partial=not is_whole)


def card_text(content: str) -> tuple[str, int]:
    """Return the Markdown below the metadata, and the line that it starts on.

    >>> card_text("---\\nlicense: mit\\n---\\n# Title")
    ('# Title', 4)
    """
    # The API has the metadata; huggingface_hub's pattern finds their end.
    unified = content.removeprefix("\ufeff").replace("\r\n", "\n")
    metadata = REGEX_YAML_BLOCK.match(unified)
    if metadata is None:
        return unified, 1
    return unified[metadata.end() :], 1 + metadata[0].count("\n")


def _statements(block: Block, name: str) -> Iterator[ModelCardStatement]:
    if block.kind == "row":
        yield from row_statements(block, name)
        return
    commands = list(command_statements(block.source, block.line))
    rope = None if commands else rope_statement(block.source, block.line, block.last_line)
    yield from commands if rope is None else [rope]
    if block.kind == "code":
        yield from _comments(block, commands)
        return
    yield from list(prose_statements(block)) or context_statements(block)


def _comments(block: Block, commands: Sequence[ModelCardStatement]) -> Iterator[ModelCardStatement]:
    # Needs in comments of a code block; hardware named above a command runs it.
    introduction = f"{_REQUIRED} {block.introduction}" if commands else block.introduction
    for number, text in enumerate(block.text.split("\n")[:MOST_COMMENTED_LINES]):
        comment = _COMMENT.search(text[:MOST_COMMENT_CHARS])
        if comment is not None:
            line = block.line + number
            said = replace(block, text=comment[1], line=line, last_line=line)
            yield from prose_statements(replace(said, introduction=introduction))


def _shown(statement: ModelCardStatement) -> ModelCardStatement:
    # A short quote, and printable characters alone in its texts.
    quote = printable(" ".join(statement.quote.split()))
    if len(quote) > MOST_QUOTE_CHARS:
        quote = f"{quote[: MOST_QUOTE_CHARS - 1]}…"
    listed = statement.listed
    if listed is not None and listed.branch is not None:
        listed = replace(listed, branch=printable(listed.branch))
    model, file = (text and printable(text) for text in (statement.model, statement.file))
    return replace(statement, quote=quote, model=model, file=file, listed=listed)
