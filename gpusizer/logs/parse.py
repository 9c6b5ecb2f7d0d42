"""A pasted start-up log -> ParsedLog. Pure; nothing is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

from gpusizer.errors import InvalidRequest
from gpusizer.logs import llama_cpp, ollama, sglang, vllm
from gpusizer.logs.lines import Line, read_text
from gpusizer.logs.parsed import ParsedLog, Reading
from gpusizer.logs.rules import FACTS, MEASURED, Rule

ENGINES: Mapping[str, ModuleType] = {
    "vllm": vllm, "sglang": sglang, "ollama": ollama, "llama.cpp": llama_cpp,
}  # fmt: skip
"""Engine -> module with SIGNATURES, BEGINS and RULES. Ollama before the llama.cpp inside it."""

_LATER_WINS = frozenset({"outcome", "engine_version"})
_MAX_SUMMED_LINES = 32  # that a sum names; an engine prints a handful
_FINE_STEP = 2**19  # Ollama rounds to 0.1 of a unit; llama.cpp prints 0.01 MiB


@dataclass(slots=True)
class _Load:
    """Readings of one start, while lines are being read."""

    values: dict[str, Reading] = field(default_factory=dict)
    amounts: dict[tuple[str, str], Reading] = field(default_factory=dict)
    ranks: set[str] = field(default_factory=set)

    def take(self, reading: Reading, rule: Rule) -> None:
        if reading.name not in MEASURED:
            # A fact is what is said first, a setting what is resolved last.
            if reading.name not in self.values or not _is_first(reading.name):
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
        """Bytes of weights, to tell a model from its draft."""
        sizes = [r.value for (name, _), r in self.amounts.items() if name == "weights_bytes"]
        return sum(size for size in sizes if isinstance(size, int))


def parse_log(text: str) -> ParsedLog:
    """What a start-up log of vLLM, SGLang, llama.cpp or Ollama says.

    Raises InvalidRequest (`no_start_up_log`) when no line of theirs is recognised.
    """
    read = read_text(text)
    candidates = []
    for place, (engine, module) in enumerate(ENGINES.items()):
        if any(word in text for word in module.SIGNATURES):
            parsed = _parse(engine, module, read.lines)
            score = 10 * len(parsed.measured) + len(parsed.settings) + len(parsed.facts)
            candidates.append((score, -place, parsed))
    best = max(candidates, key=lambda one: one[:2], default=None)
    if best is None or not (best[2].measured or best[2].settings):
        raise InvalidRequest(field="log", value="", reason="no_start_up_log")
    return replace(best[2], lines_read=len(read.lines), cut=read.cut)


def _parse(engine: str, module: ModuleType, lines: Sequence[Line]) -> ParsedLog:
    rules: tuple[Rule, ...] = module.RULES
    begins: tuple[str, ...] = module.BEGINS
    preamble = _Load()
    loads = [preamble]
    for line in lines:
        if any(word in line.text for word in begins):
            if loads[-1] is preamble or line.rank in loads[-1].ranks:
                loads.append(_Load())
            loads[-1].ranks.add(line.rank)
        for rule in rules:
            if rule.word in line.text:  # most lines have none of them
                for reading in rule.read(line):
                    loads[-1].take(reading, rule)
    starts = loads[1:] or [preamble]
    chosen = max(reversed(starts), key=lambda load: load.weight)
    values = {**preamble.values, **chosen.values}
    amounts = {**preamble.amounts, **chosen.amounts}
    return _finished(engine, values, amounts.values(), len(starts))


def _finished(
    engine: str, values: Mapping[str, Reading], amounts: Iterable[Reading], loads: int
) -> ParsedLog:
    measured = _FINISH.get(engine, tuple)(amounts)
    facts = tuple(r for name, r in values.items() if name in FACTS)
    settings = tuple(r for name, r in values.items() if name not in FACTS)
    return ParsedLog(engine, facts, settings, measured, 0, loads=loads)


def _is_first(name: str) -> bool:
    return name in FACTS and name not in _LATER_WINS


def _sum(one: Reading, other: Reading) -> Reading:
    assert not isinstance(one.value, str) and not isinstance(other.value, str)
    return replace(
        one,
        value=one.value + other.value,
        step=max(one.step, other.step),
        lines=tuple(dict.fromkeys((*one.lines, *other.lines)))[:_MAX_SUMMED_LINES],
    )


def _vllm_amounts(amounts: Iterable[Reading]) -> tuple[Reading, ...]:
    """0.6.4 prints PyTorch's peak with the weights in it: activations are the difference."""
    made = list(amounts)
    weights = {r.device: r for r in made if r.name == "weights_bytes"}
    named = {(r.name, r.device) for r in made}
    for peak in [r for r in made if r.name == "peak_torch_bytes"]:
        inside = weights.get(peak.device)
        if inside is not None and ("activations_bytes", peak.device) not in named:
            value = int(peak.value) - int(inside.value)
            lines = (*inside.lines, *peak.lines)
            made.append(replace(peak, name="activations_bytes", value=value, lines=lines))
    return tuple(r for r in made if r.name != "peak_torch_bytes")


_POOLS = {"k_bytes": "kv_pool_bytes", "v_bytes": "kv_pool_bytes", "kv_bytes": "kv_pool_bytes",
          "conv_bytes": "recurrent_bytes", "ssm_bytes": "recurrent_bytes"}  # fmt: skip


def _sglang_amounts(amounts: Iterable[Reading]) -> tuple[Reading, ...]:
    """Keys and values are printed apart, and again in a sum where windows have their own pool."""
    made: dict[tuple[str, str], Reading] = {}
    parts = []
    for reading in amounts:
        if reading.name in _POOLS:
            parts.append(replace(reading, name=_POOLS[reading.name]))
        else:
            made[reading.name, reading.device] = reading
    summed: dict[tuple[str, str], Reading] = {}
    for part in parts:
        key = (part.name, part.device)
        summed[key] = _sum(summed[key], part) if key in summed else part
    return tuple({**summed, **made}.values())


def _ollama_amounts(amounts: Iterable[Reading]) -> tuple[Reading, ...]:
    """Of a total and buffers by device, or rounded and exact sizes, the better told."""
    made = list(amounts)
    by_device = {r.name for r in made if r.device}
    fine = {r.name for r in made if 0 < r.step < _FINE_STEP}
    kept = [r for r in made if r.device or r.name not in by_device]
    return tuple(r for r in kept if r.name not in fine or r.step < _FINE_STEP)


_FINISH: dict[str, Callable[[Iterable[Reading]], tuple[Reading, ...]]] = {
    "vllm": _vllm_amounts, "sglang": _sglang_amounts, "ollama": _ollama_amounts,
}  # fmt: skip
