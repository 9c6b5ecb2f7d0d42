"""Readings of a start-up log with their lines, and rules that find them by a word and a pattern.

`wordings.toml` has them, a table for each engine, and says how they are written. A pattern sees a
window around the word, because lines are untrusted; rules of options see the line after the word
and test one literal at a time.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from gpusizer.core.loose_values import StoredObject
from gpusizer.logs.lines import Line, clean, file_name, hub_id_of

_TABLES = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
_VALUES: Mapping[str, list[str]] = _TABLES.pop("values")
_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_PATTERNS: Mapping[str, str] = _TABLES.pop("patterns") | {
    "number": _NUMBER,
    "count": r"\d{1,3}(?:,\d{3}){1,4}|\d{1,12}",
    "size": rf"{_NUMBER} ?[KMGT]?i?B",
    "flag": r"\w{1,9}",
}
_SPECIAL = re.compile(r"(<[^>]+>|  |…)")
_BEFORE, _AFTER = 160, 1000
_QUOTE_CHARS = 160

_POSITIVE = frozenset({"gpu_memory_bytes", "budget_bytes"})
_FLAG_WORDS = {
    **dict.fromkeys(("true", "1", "enabled", "on"), True),
    **dict.fromkeys(("false", "0", "disabled", "off"), False),
}
_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NOTHING = frozenset({"", "None", "none", "null", "nil", "-1"})

Scalar = str | int | float | bool

_HOST = ("CPU", "Host", "host")  # llama.cpp's names of buffers in system memory


@dataclass(frozen=True, slots=True)
class LogReading:
    """One value of a log."""

    name: str  # as in data/measurements/README.md; `_bytes` names are integer bytes
    value: Scalar  # converted; sizes exact only to `step`
    device: str = ""  # buffer or rank it belongs to, "" if the engine names none
    step: int = 0  # bytes of the last printed digit, 0 for values that are no size
    lines: tuple[int, ...] = ()  # line numbers from 1; several when amounts were added up
    quote: str = ""  # the words it was read from, of the first line


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """One start of one engine."""

    engine: str  # slug: "vllm", "sglang", "llama.cpp" or "ollama"
    facts: tuple[LogReading, ...]  # version, model, GPU, outcome
    settings: tuple[LogReading, ...]  # in the names of data/measurements
    measured: tuple[LogReading, ...]  # amounts; of several ranks or devices one each
    lines_read: int  # lines with any text
    cut: bool = False  # whether the paste went beyond what is read
    loads: int = 1  # starts found; the one with the largest weights is described

    @property
    def explained(self) -> int:
        """Weighted number of readings that the engine's rules found."""
        return 10 * len(self.measured) + len(self.settings) + len(self.facts)

    def get(self, name: str) -> Any:
        """Return the value of a fact or setting, None when the log does not say."""
        for reading in (*self.facts, *self.settings):
            if reading.name == name:
                return reading.value
        return None

    def text(self, name: str) -> str:
        """Return a fact or setting as text, "" when the log does not say."""
        value = self.get(name)
        return "" if value is None else str(value)

    def all_of(self, name: str) -> tuple[LogReading, ...]:
        """Return every reading of an amount, one per device or rank."""
        return tuple(reading for reading in self.measured if reading.name == name)

    def largest(self, name: str) -> LogReading | None:
        """Return the reading of the fullest rank or device."""
        return max(self.all_of(name), key=_size, default=None)

    def smallest(self, name: str) -> LogReading | None:
        """Return the reading of the rank with least: a pool is as large as its smallest."""
        return min(self.all_of(name), key=_size, default=None)

    def total(self, name: str, *, gpus_only: bool = False) -> LogReading | None:
        """Return the sum over devices, or over those that are not the host."""
        parts = [r for r in self.all_of(name) if not (gpus_only and is_host(r.device))]
        if not parts:
            return None
        lines = tuple(sorted({number for part in parts for number in part.lines}))
        value = sum(_size(part) for part in parts)
        step = max(part.step for part in parts)
        return LogReading(name, value, "", step, lines, parts[0].quote)


def is_host(device: str) -> bool:
    """Return whether llama.cpp's name of a buffer means system memory."""
    return any(word in device for word in _HOST)


def _size(reading: LogReading) -> float:
    return reading.value if isinstance(reading.value, int | float) else 0


Fixed = tuple[tuple[str, Scalar], ...]  # readings that follow from a wording


@dataclass(frozen=True, slots=True)
class LogRule:
    """Readings of one wording."""

    word: str  # a word that the line must contain
    # Named groups are readings, all but `device`; `_mib` groups are whole MiB.
    pattern: re.Pattern[str]
    add: bool = False  # amounts of the same name and device are summed, not replaced
    whole: bool = False  # the pattern may look at the line up to its end, from the word on
    fixed: Fixed = ()  # readings that follow from the wording, without a group

    def read(self, line: Line) -> Iterator[LogReading]:
        """Yield the readings that this rule finds in a line."""
        position = line.text.find(self.word)
        if position < 0:
            return
        window = (max(0, position - _BEFORE), position + _AFTER)
        match = self.pattern.search(
            line.text, *((position, len(line.text)) if self.whole else window)
        )
        if match is None:
            return
        groups = match.groupdict()
        device = clean(groups.pop("device", None) or line.rank)[:40]
        quote = clean(match[0][:_QUOTE_CHARS])
        for name, text in (*groups.items(), *self.fixed):
            for reading_name, value, step in _converted(name, text):
                yield LogReading(reading_name, value, device, step, (line.number,), quote)


@dataclass(frozen=True, slots=True)
class EngineLog:
    """Wordings of one engine's log."""

    signatures: tuple[str, ...]  # words; every log of the engine has one of them
    begins: tuple[str, ...]  # words of the first line of a start
    rules: tuple[LogRule, ...]


def _engine_log(table: StoredObject) -> EngineLog:
    rules = [*_own_rules(table)]
    if "runs" in table:
        rules += _own_rules(_TABLES[table["runs"]])
    elif "version" in table:
        rules.append(_rule(table["version"]))
    return EngineLog(tuple(table["signatures"]), tuple(table["begins"]), tuple(rules))


def _own_rules(table: StoredObject) -> Iterator[LogRule]:
    yield from map(_rule, table["lines"])
    for wording in table.get("summed", ()):
        yield _rule(wording, add=True)
    for wording, fixed in table["means"].items():
        yield _rule(wording, fixed=tuple(fixed.items()))
    for options in table.get("options", ()):
        for word in options["after"]:
            for printed, name in options["names"].items():
                yield _option(word, printed, name)


def _rule(
    wording: str, *, add: bool = False, fixed: tuple[tuple[str, Scalar], ...] = ()
) -> LogRule:
    # The longest literal part is the word to look for.
    parts = _SPECIAL.split(wording)
    literals = parts[::2]
    pattern = "".join(
        re.escape(literal) + _pattern_of(special)
        for literal, special in zip_longest(literals, parts[1::2], fillvalue="")
    )
    return LogRule(max(literals, key=len), re.compile(pattern), add=add, fixed=fixed)


def _pattern_of(special: str) -> str:
    if not special.startswith("<"):
        return {"": "", "  ": " {0,40}", "…": ".{0,300}?"}[special]
    name, _, own = special[1:-1].partition(":")
    pattern = _PATTERNS.get(own, own) or _PATTERNS.get(name) or _PATTERNS[_kind_of(name)]
    return f"(?P<{name}>{pattern})" if name else f"(?:{pattern})"


def _kind_of(name: str) -> str:
    # The kind selects pattern and conversion: "text" if it is nothing countable.
    if name.endswith("_bytes"):
        return "size"
    if name.endswith("_mib"):
        return "mib"
    kinds = {"counts": "count", "numbers": "number", "flags": "flag"}
    return next((kind for key, kind in kinds.items() if name in _VALUES[key]), "text")


def _option(word: str, printed: str, name: str) -> LogRule:
    # `key=value`, `'key': value` and `--key value` after a word
    spelled = re.escape(printed).replace("_", "[_-]").replace(r"\-", "-")
    pattern = rf"(?<![\w.]){spelled}['\"]?(?:[=:] ?| )['\"]?(?P<{name}>[^\s,'\"()}}\]]{{1,200}})"
    return LogRule(word, re.compile(pattern), whole=True)


def is_amount(name: str) -> bool:
    """Return whether a value is an amount, not a setting or a fact."""
    return name in _VALUES["amounts"] or (name.endswith("_bytes") and not is_fact(name))


def is_fact(name: str) -> bool:
    """Return whether a value says what ran and how it ended, not how it was set."""
    return name in _VALUES["facts"]


def size_of(text: str) -> tuple[int, int] | None:
    """Return bytes of a printed size and of its last digit. Engines divide GB by 2^30.

    >>> size_of("1.50 GiB"), size_of("0 B"), size_of("8")
    ((1610612736, 10737418), (0, 1), None)
    """
    match = re.fullmatch(rf"({_NUMBER}) ?([KMGT]?)i?B", text)
    if match is None:
        return None
    unit = _UNITS[match[2] or "B"]
    digits = len(match[1].partition(".")[2])
    return round(float(match[1]) * unit), max(1, round(unit / 10**digits))


def _converted(name: str, text: Scalar | None) -> Iterator[tuple[str, Scalar, int]]:
    # Text that is absent, impossible or private has no reading.
    if text is None or text in _NOTHING:
        return
    if not isinstance(text, str):
        yield name, text, 0
        return
    kind = _kind_of(name)
    if kind == "mib":
        yield f"{name.removesuffix('_mib')}_bytes", int(text) * 2**20, 2**20
    elif kind == "size":
        size = size_of(text)
        if size is not None and (size[0] > 0 or name not in _POSITIVE):
            yield name, *size
    else:
        convert = _CONVERSIONS.get(name) or _CONVERSIONS.get(kind, _text)
        for reading_name, value in convert(name, text):
            yield reading_name, value, 0


_Found = Iterator[tuple[str, Scalar]]


def _count(name: str, text: str) -> _Found:
    digits = text.replace(",", "")
    if digits.isascii() and digits.isdigit() and len(digits) < 16:
        yield name, int(digits)


def _float(name: str, text: str) -> _Found:
    if re.fullmatch(_NUMBER, text):
        yield name, float(text)


def _flag(name: str, text: str) -> _Found:
    value = _FLAG_WORDS.get(text.lower())
    if value is not None:
        yield name, value


def _text(name: str, text: str) -> _Found:
    yield name, clean(text.removeprefix("torch."))


def _model(name: str, text: str) -> _Found:
    # A Hub ID, else the last part of a path: its folders are private.
    repo_id = hub_id_of(text)
    if repo_id is not None:
        yield name, repo_id
    else:
        yield "model_path", clean(file_name(text))


def _gguf_file(name: str, text: str) -> _Found:
    file = file_name(text)
    if file.lower().endswith(".gguf"):  # Ollama's blobs are named by their hash
        yield name, clean(file)
    if hub_id_of(text) is not None and "models--" in text:
        yield "gguf_repo", str(hub_id_of(text))


_CONVERSIONS: Mapping[str, Callable[[str, str], _Found]] = {
    "count": _count,
    "number": _float,
    "flag": _flag,
    **dict.fromkeys(("model", "gguf_repo", "repo"), _model),
    "gguf_file": _gguf_file,
}

# By slug of the engine; Ollama before the llama.cpp inside it.
ENGINE_LOGS: Mapping[str, EngineLog] = {
    engine: _engine_log(table) for engine, table in _TABLES.items()
}
