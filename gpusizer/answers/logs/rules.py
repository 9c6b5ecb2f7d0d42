"""Rules that read values from lines: a word to look for, and a pattern for the values around it.

A named group of a pattern is the name of a reading, so that an engine is a table of rules.
Every repetition in a pattern is bounded, and a pattern sees a window around the word, because
lines are untrusted; rules of keys see the line after the word and test one literal at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gpusizer.answers.logs.lines import Line
from gpusizer.answers.logs.parsed import LogReading, Scalar
from gpusizer.answers.logs.redaction import clean, file_name, hub_id_of

NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
SIZE = rf"{NUMBER} ?[KMGT]?i?B"
COUNT = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,12}"
_BEFORE, _AFTER = 160, 1000
_QUOTE_CHARS = 160

MEASURED = frozenset(
    {
        "weights_bytes",
        "weights_and_non_torch_bytes",
        "kv_pool_bytes",
        "kv_tokens",
        "kv_blocks",
        "max_concurrency",
        "activations_bytes",
        "non_torch_bytes",
        "graphs_bytes",
        "graphs_estimated_bytes",
        "free_at_start_bytes",
        "peak_torch_bytes",
        "kv_bytes",
        "recurrent_bytes",
        "compute_bytes",
        "output_bytes",
        "context_bytes",
        "total_used_bytes",
        "k_bytes",
        "v_bytes",
        "conv_bytes",
        "ssm_bytes",
    }
)
"""Amounts; every other name is a setting or a fact."""

FACTS = frozenset(
    {
        "engine_version",
        "engine_generation",
        "model",
        "model_path",
        "gpu",
        "gpu_memory_bytes",
        "outcome",
        "gguf_file",
        "gguf_repo",
        "repo",
        "file_type",
        "file_bytes",
        "bits_per_weight",
        "architecture",
        "draft_model",
        "budget_bytes",
    }
)
_POSITIVE = frozenset({"gpu_memory_bytes", "budget_bytes"})
_INTEGERS = frozenset(
    {
        "kv_tokens",
        "kv_blocks",
        "max_model_len",
        "max_num_seqs",
        "max_num_batched_tokens",
        "draft_tokens",
        "tensor_parallel",
        "pipeline_parallel",
        "data_parallel",
        "block_size",
        "context",
        "sequences",
        "batch",
        "ubatch",
        "gpu_layers",
        "layers_offered",
    }
)
_FLOATS = frozenset({"utilization", "max_concurrency", "bits_per_weight"})
_FLAGS = frozenset(
    {"enforce_eager", "prefix_caching", "flash_attention", "expert_parallel", "lora"}
)
_FLAG_WORDS = {
    "true": True,
    "1": True,
    "enabled": True,
    "on": True,
    "false": False,
    "0": False,
    "disabled": False,
    "off": False,
}
_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NOTHING = frozenset({"", "None", "none", "null", "nil", "-1"})


@dataclass(frozen=True, slots=True)
class LogRule:
    """Readings of one wording.

    Attributes:
        word: a word that the line must contain.
        pattern: named groups are readings, all but `device`; `_mib` groups are whole MiB.
        add: amounts of the same name and device are summed, not replaced.
        whole: the pattern may look at the line up to its end, from the word on.
        fixed: readings that follow from the wording, without a group.
    """

    word: str
    pattern: re.Pattern[str]
    add: bool = False
    whole: bool = False
    fixed: tuple[tuple[str, Scalar], ...] = ()

    def read(self, line: Line) -> Iterator[LogReading]:
        """The readings that this rule finds in a line."""
        position = line.text.find(self.word)
        if position < 0:
            return
        start, end = (
            (position, len(line.text))
            if self.whole
            else (max(0, position - _BEFORE), position + _AFTER)
        )
        match = self.pattern.search(line.text, start, end)
        if match is None:
            return
        groups = match.groupdict()
        device = clean(groups.pop("device", None) or line.rank)[:40]
        quote = clean(match[0][:_QUOTE_CHARS])
        for name, text in (*groups.items(), *self.fixed):
            for reading_name, value, step in _converted(name, text):
                yield LogReading(reading_name, value, device, step, (line.number,), quote)


def rule(word: str, pattern: str, *, add: bool = False, **fixed: Scalar) -> LogRule:
    """A rule with a pattern around its word."""
    return LogRule(word, re.compile(pattern), add=add, fixed=tuple(fixed.items()))


def keys(word: str, names: Mapping[str, str]) -> tuple[LogRule, ...]:
    """Rules for `key=value`, `'key': value` and `--key value` after a word: printed key -> name."""
    rules = []
    for printed, name in names.items():
        spelled = re.escape(printed).replace("_", "[_-]").replace(r"\-", "-")
        pattern = (
            rf"(?<![\w.]){spelled}['\"]?(?:[=:] ?| )['\"]?(?P<{name}>[^\s,'\"()}}\]]{{1,200}})"
        )
        rules.append(LogRule(word, re.compile(pattern), whole=True))
    return tuple(rules)


def size_of(text: str) -> tuple[int, int] | None:
    """Bytes of a printed size and of its last digit. Engines divide by 2^30 what they call GB.

    >>> size_of("1.50 GiB"), size_of("0 B"), size_of("8")
    ((1610612736, 10737418), (0, 1), None)
    """
    match = re.fullmatch(rf"({NUMBER}) ?([KMGT]?)i?B", text)
    if match is None:
        return None
    unit = _UNITS[match[2] or "B"]
    digits = len(match[1].partition(".")[2])
    return round(float(match[1]) * unit), max(1, round(unit / 10**digits))


def _converted(name: str, text: Scalar | None) -> Iterator[tuple[str, Scalar, int]]:
    """Name, value and step of a reading; none for text that is absent, impossible or private."""
    if not isinstance(text, str):
        if text is not None:
            yield name, text, 0
        return
    if text in _NOTHING:
        return
    if name.endswith("_mib"):
        yield f"{name.removesuffix('_mib')}_bytes", int(text) * 2**20, 2**20
        return
    if name.endswith("_bytes"):
        size = size_of(text)
        if size is not None and (size[0] > 0 or name not in _POSITIVE):
            yield name, size[0], size[1]
        return
    convert = _CONVERSIONS.get(name, _text)
    for reading_name, value in convert(name, text):
        yield reading_name, value, 0


_Found = Iterator[tuple[str, Scalar]]


def _integer(name: str, text: str) -> _Found:
    digits = text.replace(",", "")
    if digits.isascii() and digits.isdigit() and len(digits) < 16:
        yield name, int(digits)


def _float(name: str, text: str) -> _Found:
    if re.fullmatch(NUMBER, text):
        yield name, float(text)


def _flag(name: str, text: str) -> _Found:
    value = _FLAG_WORDS.get(text.lower())
    if value is not None:
        yield name, value


def _text(name: str, text: str) -> _Found:
    yield name, clean(text)


def _model(name: str, text: str) -> _Found:
    """A Hub ID, else the last part of a path: its folders are private."""
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


def _dtype(name: str, text: str) -> _Found:
    yield name, clean(text.removeprefix("torch."))


_CONVERSIONS: dict[str, Callable[[str, str], _Found]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    **dict.fromkeys(_FLOATS, _float),
    **dict.fromkeys(_FLAGS, _flag),
    "model": _model,
    "gguf_repo": _model,
    "repo": _model,
    "gguf_file": _gguf_file,
    "weight_dtype": _dtype,
    "kv_dtype": _dtype,
}
