"""Model cards on the Hub: when they are read, and that no card can break its reader.

Time is not measured: parsed items are counted instead, by markdown-it's own tokens and by the
blocks that come out of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusizer.core.messages import Note
from gpusizer.core.units import MIB
from gpusizer.hub.card_statements import MOST_STATEMENTS, ModelCard
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.http import HubSession
from scrapers.fetcher import Fetcher
from scrapers.readme import claims, context, quants
from scrapers.readme import text as card_text
from scrapers.readme.model_card import read_card
from scrapers.readme.text import (
    MOST_BLOCKS,
    MOST_CARD_CELLS,
    MOST_CELLS,
    MOST_CHARS,
    MOST_LINES,
    card_blocks,
)
from scrapers.repository.hub import fetch_snapshot
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, literal_file, llama_repo
from tests.scrapers.conftest import AMPLE, Fetch, settings_of

CARD = "---\nlicense: mit\n---\n# Name\n\nIt needs 24GB of VRAM.\n"
README = "README.md"


def repo_with_card(card: str = CARD, repo_id: str = "org/name", **about: object) -> FakeRepo:
    repo = llama_repo(repo_id, shards=2)
    return replace(repo, files=repo.files | {README: literal_file(card)}, **about)


def test_statements_with_their_address(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(repo_with_card())
    card = fetch().card
    assert card.url == f"https://huggingface.co/org/name/blob/{repo.sha}/README.md"
    assert [(item.vram_gb, item.line) for item in card.statements] == [(24.0, 6)]


def test_a_card_is_left_unread_on_request(hub: HubEmulator, session: HubSession) -> None:
    hub.add(repo_with_card())
    snapshot = fetch_snapshot(ModelRef("org/name", reads_card=False), session, AMPLE)
    assert snapshot.card is None and snapshot.notes == ()
    assert not [request for request in hub.requests if README in request.path]


def test_no_card(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name", shards=2)
    hub.add(replace(repo, files={k: v for k, v in repo.files.items() if k != README}))
    snapshot = fetch()
    assert snapshot.card is None and snapshot.notes == ()


FAILURES = {
    "missing": Fault("status", README, status=404),
    "broken": Fault("status", README, status=500),
    "another text": Fault("garbage", README, body=b"It needs 1GB of VRAM."),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_card_leaves_a_note(
    hub: HubEmulator, fetch: Fetch, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapers.client.http.pause_seconds", lambda n, hint: 0.01)
    hub.add(repo_with_card())
    wanted = fetch()
    hub.faults.add(FAILURES[name])
    snapshot = fetch()
    assert snapshot.card is None
    assert [note.code for note in snapshot.notes] == ["card_unread"]
    assert snapshot.components == wanted.components


def test_a_long_card_leaves_a_note(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(repo_with_card(CARD + "x" * 2**20))
    assert fetch().notes == (Note("card_unread", reason="limits_exceeded"),)


def test_a_card_that_failed_is_read_again(hub: HubEmulator, session: HubSession) -> None:
    hub.add(repo_with_card())
    whole = fetch_snapshot(ModelRef("org/name"), session, AMPLE)
    lacking = replace(whole, card=None, notes=(Note("card_unread", reason="hub_unreachable"),))
    again = fetch_snapshot(ModelRef("org/name"), session, AMPLE, last_known=lacking)
    assert again.card == whole.card and again.notes == ()


def test_a_gated_card_is_for_its_visitor_alone(hub: HubEmulator, tmp_path: Path) -> None:
    """Neither an anonymous question nor the operator's token shows it, and no cache keeps it."""
    hub.options.valid_tokens = {"hf_visitor": ["org/name"], "hf_host": ["org/name"]}
    hub.add(repo_with_card(gated="auto"))
    fetcher = Fetcher(
        settings_of(
            hub,
            cache_folder=tmp_path,
            host_token="hf_host",
        )
    )
    assert fetcher.for_visitor("hf_visitor")(ModelRef("org/name")).card is not None
    everybodys = fetcher(ModelRef("org/name"))
    assert everybodys.card is None and everybodys.notes == ()
    kept = "".join(file.read_text() for file in tmp_path.glob("*.json"))
    assert "24GB" not in kept


def wide_table(*cells: str) -> str:
    """Return a table of as many columns as are read, with these cells by turns."""
    row = "|" + "|".join(cells * (MOST_CELLS // len(cells))) + "|\n"
    return "|VRAM" * MOST_CELLS + "|\n" + "|-" * MOST_CELLS + "|\n" + row * 600


HOSTILE = {
    "hardware in a wide table": wide_table("8x H100 80 GB VRAM"),
    "counts in a wide table": wide_table("8", "A100 or H100"),
    "hardware and words in a wide table": wide_table("8 GB VRAM needs", "inference word " * 9),
    "claims of a sentence": "\n\n".join(["8x H100 80 GB VRAM, " * 140] * 50),
    "sentences with claims": "\n\n".join(["It needs 8x H100 80 GB VRAM. " * 40] * 120),
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


# cards as long as is read, and one longer; each by its main content
LONG = {
    "characters": (f"# {'a' * 60}\n" * 2_380, f"# {'a' * 60}\n" * 2_382),
    "lines": ("\n" * (MOST_LINES - 1), "\n" * MOST_LINES),
    "blocks": tuple(("<table>" + "<tr><td>a" * 399 + "\n\n") * count for count in (6, 8)),
    "columns": ("|a" * 40 + "|\n" + "|-" * 40 + "|\n", "|a" * 41 + "|\n" + "|-" * 41 + "|\n"),
    "rows": ("|a|\n|-|\n" + "|b|\n" * 600, "|a|\n|-|\n" + "|b|\n" * 601),
    "code": ("```\n" + "a" * 19_999, "```\n" + "a" * 20_001),
    "a paragraph": ("a" * 3_000, "a" * 3_001),
    "HTML": ("<p>" + "a" * 19_000, "<p>" + "a" * 20_000),
    "statements": tuple(
        "\n".join(f"- It needs {n} GB of VRAM." for n in range(1, count + 1))
        for count in (MOST_STATEMENTS, MOST_STATEMENTS + 1)
    ),
}


def check_texts(card: ModelCard) -> None:
    """Every text of a statement is printable and short."""
    for item in card.statements:
        texts = [value for value in item.to_json().values() if isinstance(value, str)]
        assert all(text.isprintable() and len(text) <= 200 for text in texts), texts


class Counted:
    """A pattern that counts the characters that it searches."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.chars = pattern, 0

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.chars += len(text)
        return self.pattern.finditer(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_work_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few characters reach the parser of text and the searches for GPUs, amounts and contexts."""
    parsed_chars, parse = 0, card_text._INLINE.parseInline

    def counting(source: str) -> object:
        nonlocal parsed_chars
        parsed_chars += len(source)
        return parse(source)

    monkeypatch.setattr(card_text._INLINE, "parseInline", counting)
    counted = []
    for module, attribute in (
        *((claims, "_GPU"), (claims, "_AMOUNT")),
        *((context, "_TOKENS"), (quants, "_NAMES")),
    ):
        counted.append(Counted(getattr(module, attribute)))
        monkeypatch.setattr(module, attribute, counted[-1])
    for cached in (context.tokens_in, quants.quant_mentions, quants.names_in):
        cached.cache_clear()
    card = read_card(HOSTILE[name].encode()[:MIB], "org/name", "")
    assert parsed_chars <= 2 * card_text.MOST_CHARS
    assert max(pattern.chars for pattern in counted) <= 8 * MOST_CHARS
    assert len(card.statements) <= MOST_STATEMENTS
    check_texts(card)
    assert ModelCard.from_json(card.to_json()) == card
    blocks = card_blocks(HOSTILE[name]).blocks
    assert len(blocks) <= MOST_BLOCKS
    assert sum(len(block.text) for block in blocks) <= 2 * MOST_CHARS
    assert all(block.last_line <= MOST_LINES + 1 for block in blocks)


def test_a_card_of_many_cells_is_read_in_part(hub: HubEmulator, fetch: Fetch) -> None:
    """100 rows of 40 cells; the last row is the 101st."""
    table = wide_table("8x H100 80 GB VRAM", "as is")
    hub.add(repo_with_card(f"{CARD}\n{table}\nIt needs 48GB of VRAM.\n"))
    snapshot = fetch()
    assert snapshot.notes == (Note("card_read_in_part"),)
    assert snapshot.card.is_partial and snapshot.card.statements[0].vram_gb == 24.0
    assert RepoSnapshot.from_json(snapshot.to_json()).card == snapshot.card
    rows = [block for block in card_blocks(table).blocks if block.kind == "row"]
    assert sum(len(row.cells) for row in rows) == MOST_CARD_CELLS


@pytest.mark.parametrize("name", LONG)
def test_a_card_beyond_a_limit_is_read_in_part(name: str) -> None:
    text, longer = LONG[name]
    assert not read_card(text.encode(), "org/name", "").is_partial
    assert read_card(longer.encode(), "org/name", "").is_partial


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
