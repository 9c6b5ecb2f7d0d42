"""Text of strangers, made safe to show: on a terminal, on the page and in files."""

# Control characters move a terminal's cursor and recolour it, bidirectional ones reorder the text
# around them, format characters are invisible.

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Callable

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Unicode's categories Cc, Cf, Cs, Zl and Zp; U+2065 is not assigned, and as invisible as its block.
_HIDDEN = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    """Return the text with U+FFFD for each control, format and bidirectional character.

    `keep` names those that stay: line ends if several lines are shown.

    >>> printable("bits\\x1b[2J\\u202e4"), printable("位宽 é")
    ('bits�[2J�4', '位宽 é')
    """
    if text.isascii() and text.isprintable():
        return text  # as most are: a page has thousands
    return _HIDDEN.sub(lambda match: match[0] if match[0] in keep else REPLACEMENT, text)


def json_text(document: object, *, indent: int | None = None) -> str:
    """Return JSON with unprintable characters escaped. Raise ValueError for NaN and infinity.

    >>> json_text({"名": "\\u202e"})
    '{"名": "\\\\u202e"}'
    """
    # Line ends stay: JSON has them between values alone.
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent)
    return _HIDDEN.sub(
        lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text
    )


def encodable(text: str, encoding: str) -> str:
    """Return JSON text with the characters escaped that an encoding lacks.

    >>> encodable('{"name":"通义"}', "cp1252")
    '{"name":"\\\\u901a\\\\u4e49"}'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(one if one.isascii() else json.dumps(one)[1:-1] for one in text)
    return text


def json_bytes(document: object, shape: Callable[[object], object] | None = None) -> bytes:
    """Return JSON in UTF-8, with U+FFFD for each lone surrogate.

    `shape` converts an object that JSON cannot represent.

    >>> json_bytes({"bits": 4, "method": "gptq\\ud800"}).decode()
    '{"bits":4,"method":"gptq�"}'
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=shape)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(REPLACEMENT, text).encode()


class PrintableFormatter(logging.Formatter):
    """Formatter that indents further lines, as of a traceback, so none looks like a record."""

    # Messages of exceptions may quote a stranger's text.
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep="\n").replace("\n", "\n    ")


def log_printably() -> None:
    """Log to standard error through `PrintableFormatter`."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def print_everywhere() -> None:
    """Make standard output replace characters that its encoding lacks, as on Windows."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
