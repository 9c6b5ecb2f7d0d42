"""ParsedLog: what a start-up log says, every value with the lines it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Scalar = str | int | float | bool

_HOST = ("CPU", "Host", "host")  # llama.cpp's names of buffers in system memory


@dataclass(frozen=True, slots=True)
class LogReading:
    """One value of a log.

    Attributes:
        name: as in data/measurements/README.md; `_bytes` names are integer bytes.
        value: converted; sizes exact only to `step`.
        device: buffer or rank it belongs to, "" where the engine names none.
        step: bytes of the last printed digit, 0 for what is no size.
        lines: where it was read, counted from 1; several when amounts were added up.
        quote: the words it was read from, of the first of them.
    """

    name: str
    value: Scalar
    device: str = ""
    step: int = 0
    lines: tuple[int, ...] = ()
    quote: str = ""


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """One start of one engine.

    Attributes:
        engine: slug: "vllm", "sglang", "llama.cpp" or "ollama".
        facts: version, model, GPU, outcome.
        settings: in the names of data/measurements.
        measured: amounts; of several ranks or devices one each.
        lines_read: lines with any text.
        cut: whether the paste went beyond what is read.
        loads: starts found; the one with the largest weights is described.
    """

    engine: str
    facts: tuple[LogReading, ...]
    settings: tuple[LogReading, ...]
    measured: tuple[LogReading, ...]
    lines_read: int
    cut: bool = False
    loads: int = 1

    @property
    def explained(self) -> int:
        """How much of the text the engine's rules explain."""
        return 10 * len(self.measured) + len(self.settings) + len(self.facts)

    def get(self, name: str) -> Any:
        """Value of a fact or setting, None when the log does not say."""
        for reading in (*self.facts, *self.settings):
            if reading.name == name:
                return reading.value
        return None

    def text(self, name: str) -> str:
        """A fact or setting as text, "" when the log does not say."""
        value = self.get(name)
        return "" if value is None else str(value)

    def all_of(self, name: str) -> tuple[LogReading, ...]:
        """Every reading of an amount, one per device or rank."""
        return tuple(reading for reading in self.measured if reading.name == name)

    def largest(self, name: str) -> LogReading | None:
        """The reading of the fullest rank or device."""
        return max(self.all_of(name), key=_size, default=None)

    def smallest(self, name: str) -> LogReading | None:
        """The reading of the rank with least: a pool is as large as its smallest."""
        return min(self.all_of(name), key=_size, default=None)

    def total(self, name: str, *, gpus_only: bool = False) -> LogReading | None:
        """The sum over devices, or over those that are not the host."""
        parts = [r for r in self.all_of(name) if not (gpus_only and is_host(r.device))]
        if not parts:
            return None
        lines = tuple(sorted({number for part in parts for number in part.lines}))
        value = sum(_size(part) for part in parts)
        step = max(part.step for part in parts)
        return LogReading(name, value, "", step, lines, parts[0].quote)


def is_host(device: str) -> bool:
    """Whether llama.cpp's name of a buffer means system memory."""
    return any(word in device for word in _HOST)


def _size(reading: LogReading) -> float:
    return reading.value if isinstance(reading.value, int | float) else 0
