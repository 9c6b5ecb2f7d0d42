"""Find words that make readers guess: `python -m scripts.plain_words [PATH ...]`.

Reads docstrings and comments of every tracked Python file, the English sentences of
`gpusizer/text/` and the documents, or those at the paths alone. Prints a line for each find and
exits with 1 if there is any. The rules:

- no docstring begins with a word of `_OPENERS`: a function's begins with a verb, another's with the
  noun that it describes;
- no text holds a phrase of `_RIDDLES`, each with the plain word for it.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_OPENERS = re.compile(r"(?:What|That|Which|Of|Those|Nothing|The same|Whose|Where)\b")
_RIDDLES = {
    "nobody": "a condition: “if it is unset”",
    "whoever": "the noun: “a reader”",
    "besides": "“also”, or “beside it”",
    "so many": "the parameter's name",
    "of which": "a second sentence",
    "anew": "“again”",
    "reckon": "“compute”",
    "is told": "the verb: “receives”, “reads”",
    "are told": "the verb: “receive”, “read”",
    "stands": "“is”",
    "is none": "“is None”, “is missing”",
}
_RIDDLE = re.compile(rf"\b({'|'.join(_RIDDLES)})\b", re.IGNORECASE)
_DOCUMENTS = ("*.md", "gpusizer/text/en.toml")
_DEFINE_THE_RULES = ("scripts/plain_words.py", "tests/test_plain_words.py")


class Find(NamedTuple):
    """A word to replace, and its place."""

    file: str
    line: int
    word: str

    def __str__(self) -> str:
        plain = _RIDDLES.get(self.word.lower(), "a verb, or the noun that is described")
        return f"{self.file}:{self.line}: {self.word!r}; better {plain}"


def finds_in_code(file: str, source: str) -> Iterator[Find]:
    """Yield the finds of a module's docstrings and comments."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                if opener := _OPENERS.match(text.lstrip()):
                    yield Find(file, node.lineno, opener.group())
                yield from _riddles(file, text, node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _riddles(file, token.string, token.start[0])


def finds_in_text(file: str, text: str) -> Iterator[Find]:
    """Yield the finds of a document or a table of sentences."""
    yield from _riddles(file, text, 1)


def is_read(file: str, paths: Sequence[str]) -> bool:
    """Return whether the file is at one of the paths, or no path is given."""
    if file in _DEFINE_THE_RULES:
        return False
    return not paths or _is_at(file, paths)


def main(paths: Sequence[str]) -> int:
    """Print every find of the tracked files at the paths; return 1 if there is any."""
    code, texts = (
        [(file, _read(file)) for file in _tracked(*patterns) if is_read(file, paths)]
        for patterns in (("*.py",), _DOCUMENTS)
    )
    found = [find for file, source in code for find in finds_in_code(file, source)]
    found += [find for file, text in texts for find in finds_in_text(file, text)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def _riddles(file: str, text: str, first_line: int) -> Iterator[Find]:
    for match in _RIDDLE.finditer(text):
        if match.group() == "is None":  # Python's own word
            continue
        yield Find(file, first_line + text.count("\n", 0, match.start()), match.group())


def _tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()


def _is_at(file: str, paths: Sequence[str]) -> bool:
    return any(PurePosixPath(file).is_relative_to(path) for path in paths)


def _read(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
