"""What measurements print: llama-bench with `-o json`, and vLLM at `/metrics` between two readings.

Source of llama-bench's fields: `test::get_fields` and `json_printer` of
tools/llama-bench/llama-bench.cpp of ggml-org/llama.cpp; builds before August 2025 print
`flash_attn` as true or false, later ones as 1, 0 or -1 (auto). The program may print lines of its
backends before the list.

Source of vLLM's names: vllm/v1/metrics/loggers.py, v0.9 to v0.30; Prometheus adds `_total` to
counters, `_sum` and `_count` to histograms. The time between tokens was
`vllm:time_per_output_token_seconds` before `vllm:inter_token_latency_seconds` took its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, StrictStr, TypeAdapter, ValidationError

from gpusizer.answers.logs.lines import clean, file_name
from gpusizer.answers.logs.run_request import BACKENDS, gguf_slug
from gpusizer.core.validation import fail

MAX_CHARS = 4_000_000
"""Of a program's output, where a test takes about 2,000, and of a reading, about 100,000."""

_MAX_TESTS = 200
_ALL_LAYERS = (-1, 99)
_Integer = Annotated[int, Field(strict=True, ge=-1, lt=10**9)]
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


class _Row(BaseModel):
    """What is read of one line."""

    build_number: _Integer
    n_gpu_layers: _Integer
    n_batch: _Integer
    n_ubatch: _Integer
    n_prompt: _Integer
    n_gen: _Integer
    n_depth: _Integer = 0
    n_cpu_moe: _Integer = 0
    avg_ts: Annotated[float, Field(strict=True, gt=0, lt=1e9)]
    gpu_info: StrictStr
    backends: StrictStr
    split_mode: StrictStr
    model_type: StrictStr
    model_filename: StrictStr
    type_k: StrictStr
    type_v: StrictStr
    flash_attn: object = None


_ROWS: TypeAdapter[list[_Row]] = TypeAdapter(
    Annotated[list[_Row], Field(min_length=1, max_length=_MAX_TESTS)]
)


def parse_llama_bench(output: str) -> BenchReport:
    """Read the program's output. Raises InvalidRequest for anything but a list of such tests."""
    start, end = output.find("["), output.rfind("]")
    try:
        rows = _ROWS.validate_json(output[start : end + 1] if 0 <= start < end else "")
    except ValidationError:
        raise fail("llama-bench", output.strip()[:60], "not_llama_bench") from None
    first = rows[0]
    names = tuple(clean(name.strip()) for name in first.gpu_info.split(",") if name)
    split, label, layers = first.split_mode, _MODEL_TYPE.match(first.model_type), first.n_gpu_layers
    keys, values = first.type_k, first.type_v
    return BenchReport(
        build=f"b{first.build_number}",
        gpus=names[:1] if split == "none" else names,
        backend=_backend(first.backends),
        file=clean(file_name(first.model_filename)),
        label=clean(label[1]) if label else "",
        quant=gguf_slug(label[1]) if label else "",
        kv_dtype=keys if keys == values else f"{keys}/{values}",
        flash_attention=first.flash_attn not in (0, False),
        gpu_layers=None if layers in _ALL_LAYERS or layers > 1000 else layers,
        cpu_moe_layers=first.n_cpu_moe,
        split=split if len(names) > 1 and split != "none" else "",
        batch_size=first.n_batch,
        ubatch_size=first.n_ubatch,
        tests=tuple(BenchTest(row.n_prompt, row.n_gen, row.n_depth, row.avg_ts) for row in rows),
    )


def _backend(names: str) -> str:
    """The first backend of a list that is a GPU's. Raises InvalidRequest where none is."""
    known = (BACKENDS.get(name.strip()) for name in names.split(","))
    backend = next(filter(None, known), None)
    if backend is None:
        raise fail("llama-bench", names, "no_gpu_used")
    return backend.lower()


_GENERATED = "vllm:generation_tokens_total"
_BETWEEN_TOKENS = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
_PROMPT_LENGTH = "vllm:request_prompt_tokens"
_ANSWER_LENGTH = "vllm:request_generation_tokens"
_CACHE = "vllm:cache_config_info"
_SAMPLE = re.compile(r"(vllm:\w{1,80})(?:\{(.{0,4000})\})? (\S{1,30})(?: \d{1,20})?")
_LABEL = re.compile(r'(\w{1,60})="([^"\\]{0,300})"')


@dataclass(frozen=True, slots=True)
class MetricsReading:
    """One reading: sums over all engines of the server, and the labels of its cache.

    Attributes:
        sums: by the name of the sample, as printed.
        cache: settings of the cache as text: `block_size`, `num_gpu_blocks`, `cache_dtype`, …
    """

    model: str
    sums: Mapping[str, float]
    cache: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServedLoad:
    """What a server did in a while.

    Attributes:
        total_tokens_per_second: generated for all users.
        user_tokens_per_second: of each, from the mean time between two tokens.
        users: who were being answered on average.
        prompt_tokens, answer_tokens: means of the requests that ended; None where none did.
        cache_tokens: that the cache holds, None where the server does not say.
        utilization, kv_dtype: as the server was told.
    """

    model: str
    seconds: float
    total_tokens_per_second: float
    user_tokens_per_second: float
    users: float
    prompt_tokens: int | None
    answer_tokens: int | None
    cache_tokens: int | None
    utilization: float | None
    kv_dtype: str


def parse_metrics(text: str) -> MetricsReading:
    """Read a page of metrics. Raises InvalidRequest for one that is not vLLM's."""
    sums: dict[str, float] = {}
    cache: dict[str, str] = {}
    model = ""
    for line in text[:MAX_CHARS].splitlines():
        sample = _SAMPLE.fullmatch(line.strip())
        value = _number(sample[3]) if sample else None
        if sample is None or value is None:
            continue
        sums[sample[1]] = sums.get(sample[1], 0.0) + value
        labels = dict(_LABEL.findall(sample[2] or ""))
        model = model or labels.get("model_name", "")
        if sample[1] == _CACHE:
            cache = cache or labels
    if _GENERATED not in sums:
        raise fail("vllm", text.strip()[:60], "not_vllm")
    return MetricsReading(clean(model), sums, cache)


def served_between(before: MetricsReading, after: MetricsReading, seconds: float) -> ServedLoad:
    """What a server did between two readings.

    Raises InvalidRequest where it generated nothing, or was started anew.
    """

    def grown(name: str) -> float:
        return after.sums.get(name, 0.0) - before.sums.get(name, 0.0)

    between = next((n for n in _BETWEEN_TOKENS if grown(f"{n}_count") > 0), "")
    waited, count = grown(f"{between}_sum"), grown(f"{between}_count")
    generated = grown(_GENERATED)
    if not between or waited <= 0 or generated <= 0 or seconds <= 0:
        raise fail("vllm", after.model, "no_traffic")
    return ServedLoad(
        model=after.model,
        seconds=seconds,
        total_tokens_per_second=generated / seconds,
        user_tokens_per_second=count / waited,
        users=waited / seconds,
        prompt_tokens=_mean(grown(f"{_PROMPT_LENGTH}_sum"), grown(f"{_PROMPT_LENGTH}_count")),
        answer_tokens=_mean(grown(f"{_ANSWER_LENGTH}_sum"), grown(f"{_ANSWER_LENGTH}_count")),
        cache_tokens=_cache_tokens(after.cache),
        utilization=_number(after.cache.get("gpu_memory_utilization", "")),
        kv_dtype=after.cache.get("cache_dtype", "auto"),
    )


def _mean(total: float, count: float) -> int | None:
    return max(1, round(total / count)) if count > 0 and total >= 0 else None


def _cache_tokens(cache: Mapping[str, str]) -> int | None:
    blocks, size = (_number(cache.get(name, "")) for name in ("num_gpu_blocks", "block_size"))
    return round(blocks * size) if blocks and size and 0 < blocks * size < 10**12 else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
