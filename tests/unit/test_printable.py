"""Characters that are not seen: which they are, and how JSON and logs write them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import unicodedata

import pytest

from gpusizer.core.printable import REPLACEMENT, PrintableFormatter, json_text, printable
from tests.poison import POISON, SIGN, hidden

EVERY_CHARACTER = [chr(point) for point in range(sys.maxunicode + 1)]


def test_every_control_format_and_bidirectional_character_is_replaced() -> None:
    replaced = {character for character in EVERY_CHARACTER if printable(character) != character}
    unseen = set(hidden("".join(EVERY_CHARACTER)))
    assert unseen <= replaced
    # Those that newer versions of Unicode have, and Python's own does not.
    assert {unicodedata.category(character) for character in replaced - unseen} == {"Cn"}
    bidirectional = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F))}
    assert bidirectional | set(map(chr, range(0x2066, 0x206A))) <= replaced


@pytest.mark.parametrize("text", ["位宽\u3000四", "4\xa0bits – “déjà” ½ 👍🏽", "R$\xa01.234,5", ""])
def test_printable_texts_are_unchanged(text: str) -> None:
    assert printable(text) == text
    assert json.loads(json_text(text)) == text and text in json_text(text)


@pytest.mark.parametrize("indent", [None, 1])
def test_json_escapes_control_characters(indent: int | None) -> None:
    document = {f"名{POISON}": [EVERY_CHARACTER, {"n": 1.5, "none": None}]}
    text = json_text(document, indent=indent)
    assert json.loads(text) == document
    assert "名" in text
    assert set(hidden(text)) == (set() if indent is None else {"\n"})


def test_not_every_float_is_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_text([float("nan")])


def test_a_logged_exception_begins_no_line() -> None:
    try:
        raise RuntimeError(POISON)
    except RuntimeError:
        error = sys.exc_info()
    record = logging.LogRecord("name", logging.ERROR, "path", 1, POISON, None, error)
    first, *rest = PrintableFormatter().format(record).split("\n")
    assert not hidden("".join((first, *rest)))
    assert REPLACEMENT in first
    assert len(rest) > 3 and all(line.startswith("    ") for line in rest)


def test_the_shell_logs_so() -> None:
    """A bug whose exception quotes a repository, met while the shell answers."""
    code = (
        "import sys, gpusizer.__main__ as program, gpusizer.composition.shell as shell\n"
        "def fetch(ref): raise RuntimeError(sys.argv[1])\n"
        "make = shell.make_sizer\n"
        "shell.make_sizer = lambda *how: make(*how).reading(fetch)\n"
        "sys.exit(program.main(['size', 'org/name']))"
    )
    hostile = POISON.replace("\0", "").encode("utf-8", "ignore").decode()  # as arguments can be
    done = subprocess.run(
        [sys.executable, "-c", code, hostile], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr and SIGN in done.stderr
    assert set(hidden(done.stderr)) == {"\n"}
    assert not [line for line in done.stderr.splitlines() if line.startswith(SIGN)]


def test_the_sign_of_the_poison_begins_a_line_of_it() -> None:
    assert any(line.startswith(SIGN) for line in POISON.split("\n"))
    assert {unicodedata.category(character) for character in hidden(POISON)} == {
        *("Cc", "Cf", "Cs", "Zl", "Zp")
    }
