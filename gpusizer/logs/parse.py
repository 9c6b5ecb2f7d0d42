"""Parses a pasted start-up log to a ParsedLog. Pure; the text is not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.logs.lines import Line, read_text
from gpusizer.logs.rules import (
    ENGINE_LOGS,
    EngineLog,
    LogReading,
    LogRule,
    ParsedLog,
    is_amount,
    is_fact,
)

_LATER_WINS = frozenset({"outcome", "engine_version"})
_MAX_SUMMED_LINES = 32  # lines that a sum names; an engine prints fewer
_FINE_STEP = 2**19  # Ollama rounds to 0.1 of a unit; llama.cpp prints 0.01 MiB


@dataclass(slots=True)
class _Load:
    """Readings of one start, while lines are being read."""

    values: dict[str, LogReading] = field(default_factory=dict)
    amounts: dict[tuple[str, str], LogReading] = field(default_factory=dict)
    ranks: set[str] = field(default_factory=set)

    def take(self, reading: LogReading, rule: LogRule) -> None:
        if not is_amount(reading.name):
            first_wins = is_fact(reading.name) and reading.name not in _LATER_WINS
            if reading.name not in self.values or not first_wins:
                self.values[reading.name] = reading
            return
        key = (reading.name, reading.device)
        before = self.amounts.get(key)
        if before is not None and before.step and reading.step > _FINE_STEP >= before.step:
            return
        if rule.add and before is not None and not before.step > _FINE_STEP >= reading.step:
            reading = _sum(before, reading)
        self.amounts[key] = reading

    @property
    def weight(self) -> float:
        """Bytes of weights: of several loads the largest is the model, the others are drafts."""
        sizes = [r.value for (name, _), r in self.amounts.items() if name == "weights_bytes"]
        return sum(size for size in sizes if isinstance(size, int))


def parse_log(text: str) -> ParsedLog:
    """Return the facts, settings and amounts of a log of vLLM, SGLang, llama.cpp or Ollama.

    Raise InvalidRequest (`no_start_up_log`) when no line of theirs is recognised.
    """
    read = read_text(text)
    candidates = []
    for engine, log in ENGINE_LOGS.items():
        if any(word in text for word in log.signatures):
            candidates.append(_parse(engine, log, read.lines))
    best = max(candidates, key=lambda parsed: parsed.explained, default=None)
    if best is None or not (best.measured or best.settings):
        raise InvalidRequest(field="log", value="", reason="no_start_up_log")
    return replace(best, lines_read=len(read.lines), cut=read.cut)


def _parse(engine: str, log: EngineLog, lines: Sequence[Line]) -> ParsedLog:
    preamble = _Load()
    loads = [preamble]
    for line in lines:
        if any(word in line.text for word in log.begins):
            if loads[-1] is preamble or line.rank in loads[-1].ranks:
                loads.append(_Load())
            loads[-1].ranks.add(line.rank)
        for rule in log.rules:
            if rule.word in line.text:  # most lines contain no word of any rule
                for reading in rule.read(line):
                    loads[-1].take(reading, rule)
    starts = loads[1:] or [preamble]
    chosen = max(reversed(starts), key=lambda load: load.weight)
    values = {**preamble.values, **chosen.values}
    amounts = {**preamble.amounts, **chosen.amounts}
    return ParsedLog(
        engine=engine,
        facts=tuple(reading for name, reading in values.items() if is_fact(name)),
        settings=tuple(reading for name, reading in values.items() if not is_fact(name)),
        measured=_FINISH.get(engine, tuple)(amounts.values()),
        lines_read=0,
        loads=len(starts),
    )


def _sum(first: LogReading, second: LogReading) -> LogReading:
    assert not isinstance(first.value, str) and not isinstance(second.value, str)
    return replace(
        first,
        value=first.value + second.value,
        step=max(first.step, second.step),
        lines=tuple(dict.fromkeys((*first.lines, *second.lines)))[:_MAX_SUMMED_LINES],
    )


def _vllm_amounts(amounts: Iterable[LogReading]) -> tuple[LogReading, ...]:
    # vLLM 0.6.4 prints PyTorch's peak, which includes the weights.
    readings = list(amounts)
    weights = {r.device: r for r in readings if r.name == "weights_bytes"}
    named = {(r.name, r.device) for r in readings}
    for peak in [r for r in readings if r.name == "peak_torch_bytes"]:
        inside = weights.get(peak.device)
        if inside is not None and ("activations_bytes", peak.device) not in named:
            value = int(peak.value) - int(inside.value)
            lines = (*inside.lines, *peak.lines)
            readings.append(replace(peak, name="activations_bytes", value=value, lines=lines))
    return tuple(r for r in readings if r.name != "peak_torch_bytes")


_POOLS = {
    "k_bytes": "kv_pool_bytes",
    "v_bytes": "kv_pool_bytes",
    "kv_bytes": "kv_pool_bytes",
    "conv_bytes": "recurrent_bytes",
    "ssm_bytes": "recurrent_bytes",
}


def _sglang_amounts(amounts: Iterable[LogReading]) -> tuple[LogReading, ...]:
    # Keys and values are printed apart, and again in a sum if windows have their own pool.
    readings: dict[tuple[str, str], LogReading] = {}
    parts = []
    for reading in amounts:
        if reading.name in _POOLS:
            parts.append(replace(reading, name=_POOLS[reading.name]))
        else:
            readings[reading.name, reading.device] = reading
    summed: dict[tuple[str, str], LogReading] = {}
    for part in parts:
        key = (part.name, part.device)
        summed[key] = _sum(summed[key], part) if key in summed else part
    return tuple({**summed, **readings}.values())


def _ollama_amounts(amounts: Iterable[LogReading]) -> tuple[LogReading, ...]:
    # Buffers by device rather than their total, and exact sizes rather than rounded ones.
    readings = list(amounts)
    by_device = {r.name for r in readings if r.device}
    fine = {r.name for r in readings if 0 < r.step < _FINE_STEP}
    placed = [r for r in readings if r.device or r.name not in by_device]
    return tuple(r for r in placed if r.name not in fine or r.step < _FINE_STEP)


_FINISH: dict[str, Callable[[Iterable[LogReading]], tuple[LogReading, ...]]] = {
    "vllm": _vllm_amounts,
    "sglang": _sglang_amounts,
    "ollama": _ollama_amounts,
}
