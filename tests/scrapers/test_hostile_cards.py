"""Model cards that somebody wrote to break their reader: work is bounded, and nothing is raised.

Time is not measured: what is parsed is counted instead, by markdown-it's own tokens and by the
blocks that come out of them.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusizer.core.units import MIB
from gpusizer.hub.card_statements import MOST_STATEMENTS, ModelCard
from scrapers import card_text
from scrapers.card_text import MOST_BLOCKS, MOST_CHARS, MOST_LINES, card_blocks
from scrapers.model_card import read_card
from tests.each import each

HOSTILE = {
    "table": "| a | VRAM |\n|--|--|\n" + "| needs | 24 GB |\n" * 65_000,
    "wide table": "|a" * 50_000 + "|\n" + "|-" * 50_000 + "|\n" + "|1 GB" * 200_000,
    "backticks": "`" * 1_000_000,
    "backticks apart": "` " * 500_000,
    "growing backticks": "".join("`" * (n % 900) + "a" for n in range(2_000)),
    "nested lists": "".join(" " * (2 * n) + "- needs 24GB VRAM\n" for n in range(1_000)),
    "nested quotes": ">" * 1_000_000,
    "comment": "<!--" + " needs 24GB VRAM -" * 50_000,
    "comments": "<!-- x -->\n" * 90_000,
    "unclosed tags": "<td>" * 250_000,
    "tags in one line": "text " + "<b>" * 300_000,
    "emphasis": "*a_" * 330_000,
    "links": "[a](" * 250_000,
    "brackets": "[" * 1_000_000,
    "bidirectional": "\u202e needs 24GB VRAM \u202c" * 50_000,
    "ligatures": "\ufdfa" * 300_000,
    "numbers": "needs VRAM " + "9" * 500_000 + "GB",
    "amounts": "VRAM needs " + "1 GB, " * 150_000,
    "counts": "needs " + "1x" * 500_000 + "80GB",
    "spaces": "needs" + " " * 900_000 + "24GB VRAM",
    "one line command": "vllm serve a/b " + "--x y " * 150_000,
    "continued command": "```\nvllm serve \\\n" + "--x y \\\n" * 100_000,
    "quotes in a command": "```\nvllm serve '" + '"' * 900_000,
    "JSON argument": "```\nvllm serve a/b --hf-overrides '" + "[" * 200_000 + "'",
    "Python": "```\ntp_size = max_model_len = " + "(" * 200_000,
    "rope": "original_max_position_embeddings" + ":{" * 300_000,
    "metadata": "---\n" + "a: &a [*a, *a]\n" * 60_000,
    "headings": "# requirements\n" * 60_000,
    "null": "\0" * MIB,
    "carriage returns": "\r" * MIB,
    "fences": "```\n" * 250_000,
    "hidden characters in a table": "| Branch | File | Model | Size | VRAM |\n|-|-|-|-|-|\n"
    + "| \u202eb\x1b[2J | \u2066x.gguf | Big\u200b-7B | 4 GB | 5 GB |\n" * 50,
    "hidden characters in a command": "```\nvllm serve a/\u202eb --kv-cache-dtype \u202efp8\n"
    "ollama run \x1b[2Jb:q4\nllama-cli -m \u2066x.gguf\n```",
    "entities": "&amp;" * 200_000,
}


def check_texts(card: ModelCard) -> None:
    """Every text of a statement is printable and short."""
    for item in card.statements:
        texts = [value for value in item.to_json().values() if isinstance(value, str)]
        assert all(text.isprintable() and len(text) <= 200 for text in texts), texts


@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a card at most so many characters reach the parser of text, whatever the card is."""
    parsed_chars = 0
    parse = card_text._INLINE.parseInline

    def counting(source: str) -> object:
        nonlocal parsed_chars
        parsed_chars += len(source)
        return parse(source)

    monkeypatch.setattr(card_text._INLINE, "parseInline", counting)
    body = HOSTILE[name].encode()[:MIB]
    card = read_card(body, "org/name", "")
    assert parsed_chars <= 2 * card_text.MOST_CHARS
    assert len(card.statements) <= MOST_STATEMENTS
    check_texts(card)
    assert ModelCard.from_json(card.to_json()) == card


@each("name", HOSTILE)
def test_blocks_are_few_and_short(name: str) -> None:
    blocks = card_blocks(HOSTILE[name])
    assert len(blocks) <= MOST_BLOCKS
    assert sum(len(block.text) for block in blocks) <= 2 * MOST_CHARS
    assert all(block.last_line <= MOST_LINES + 1 for block in blocks)


WORDS = st.sampled_from(
    [
        *("needs", "24GB", "VRAM", "8xH100", "| ", "|", "\n", "\n\n", "- ", "  ", "# ", "```\n"),
        *("`", "**", "[", "](", ")", "<td>", "</table>", "<!--", "-->", "vllm serve a/b", "\\\n"),
        *("--tp 8", "显存", "需要", "\u202e", "|--|--|\n", "max_model_len=", "{", "}", "'", '"'),
        *("9" * 30, "1.58-bit", "Q4_K_M", "128k context", "> ", "1. ", "\t", "&nbsp;", "$X"),
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(WORDS, max_size=80).map(" ".join))
def test_any_card_is_read(markdown: str) -> None:
    card = read_card(markdown.encode(), "org/name", "")
    assert ModelCard.from_json(card.to_json()) == card
    check_texts(card)
    for statement in card.statements:
        assert 1 <= statement.line <= statement.last_line <= markdown.count("\n") + 1


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read(body: bytes) -> None:
    read_card(body, "org/name", "")
