"""What llama-bench prints with `-o json`, as typed tests.

Source of the fields: `test::get_fields` and `json_printer` of tools/llama-bench/llama-bench.cpp of
ggml-org/llama.cpp; builds before August 2025 print `flash_attn` as true or false, later ones as 1,
0 or -1 (auto). The program may print lines of its backends before the list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.answers.logs.redaction import clean, file_name
from gpusizer.answers.logs.run_request import BACKENDS, gguf_slug
from gpusizer.core.validation import fail

MAX_CHARS = 4_000_000
"""Of the program's output; a test takes about 2,000."""

_MAX_TESTS = 200
_ALL_LAYERS = (-1, 99)
_MODEL_TYPE = re.compile(r"\S+ \S+ (?:mostly )?(.{1,40})")


@dataclass(frozen=True, slots=True)
class BenchTest:
    """One line of llama-bench: a prompt, or an answer behind `depth` tokens of context."""

    prompt_tokens: int
    generated_tokens: int
    depth: int
    tokens_per_second: float

    @property
    def is_prompt(self) -> bool:
        """Whether a prompt alone was read."""
        return self.prompt_tokens > 0 and self.generated_tokens == 0

    @property
    def is_answer(self) -> bool:
        """Whether an answer alone was generated."""
        return self.generated_tokens > 0 and self.prompt_tokens == 0

    @property
    def name(self) -> str:
        """The test as llama-bench calls it: "pp512", "tg128 @ d4096"."""
        kind = f"pp{self.prompt_tokens}" if self.is_prompt else f"tg{self.generated_tokens}"
        return f"{kind} @ d{self.depth}" if self.depth else kind


@dataclass(frozen=True, slots=True)
class BenchReport:
    """All tests of one run of llama-bench, and the settings that they share.

    Attributes:
        build: "b1234".
        gpus: names of the devices that computed, as the backend calls them.
        backend: of a request: "cuda", "rocm", …
        label, quant: the file's type as printed, and the slug that it means, "" when unknown.
        gpu_layers: None for all.
        cpu_moe_layers: whose experts stayed in system memory.
    """

    build: str
    gpus: tuple[str, ...]
    backend: str
    file: str
    label: str
    quant: str
    kv_dtype: str
    flash_attention: bool
    gpu_layers: int | None
    cpu_moe_layers: int
    split: str
    batch_size: int
    ubatch_size: int
    tests: tuple[BenchTest, ...]


def parse_llama_bench(output: str) -> BenchReport:
    """Read the program's output. Raises InvalidRequest for anything but a list of such tests."""
    rows = _rows(output)
    first = rows[0]
    names = tuple(clean(name.strip()) for name in _text(first, "gpu_info").split(",") if name)
    split = _text(first, "split_mode")
    label = _MODEL_TYPE.match(_text(first, "model_type"))
    layers = _integer(first, "n_gpu_layers")
    return BenchReport(
        build=f"b{_integer(first, 'build_number')}",
        gpus=names[:1] if split == "none" else names,
        backend=_backend(_text(first, "backends")),
        file=clean(file_name(_text(first, "model_filename"))),
        label=clean(label[1]) if label else "",
        quant=gguf_slug(label[1]) if label else "",
        kv_dtype=_cache(first),
        flash_attention=first.get("flash_attn") not in (0, False),
        gpu_layers=None if layers in _ALL_LAYERS or layers > 1000 else layers,
        cpu_moe_layers=_integer(first, "n_cpu_moe") if "n_cpu_moe" in first else 0,
        split=split if len(names) > 1 and split != "none" else "",
        batch_size=_integer(first, "n_batch"),
        ubatch_size=_integer(first, "n_ubatch"),
        tests=tuple(map(_test, rows)),
    )


def _rows(output: str) -> list[Mapping[str, Any]]:
    start, end = output.find("["), output.rfind("]")
    try:
        rows = json.loads(output[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not 0 < len(rows) <= _MAX_TESTS:
        raise fail("llama-bench", output.strip()[:60], "not_llama_bench")
    if not all(isinstance(row, dict) for row in rows):
        raise fail("llama-bench", output.strip()[:60], "not_llama_bench")
    return rows


def _test(row: Mapping[str, Any]) -> BenchTest:
    rate = row.get("avg_ts")
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < 1e9:
        raise fail("llama-bench", f"avg_ts = {rate}", "not_llama_bench")
    prompt, answer = _integer(row, "n_prompt"), _integer(row, "n_gen")
    depth = _integer(row, "n_depth") if "n_depth" in row else 0
    return BenchTest(prompt, answer, depth, float(rate))


def _integer(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < 10**9:
        raise fail("llama-bench", f"{name} = {value}", "not_llama_bench")
    return value


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise fail("llama-bench", f"{name} = {value}", "not_llama_bench")
    return value


def _cache(row: Mapping[str, Any]) -> str:
    keys, values = _text(row, "type_k"), _text(row, "type_v")
    return keys if keys == values else f"{keys}/{values}"


def _backend(names: str) -> str:
    """The first backend of a list that is a GPU's. Raises InvalidRequest where none is."""
    known = (BACKENDS.get(name.strip()) for name in names.split(","))
    backend = next(filter(None, known), None)
    if backend is None:
        raise fail("llama-bench", names, "no_gpu_used")
    return backend.lower()
