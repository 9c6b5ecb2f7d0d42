"""What vLLM publishes at `/metrics`, and what it did between two readings.

Source of the names: vllm/v1/metrics/loggers.py, v0.9 to v0.30; Prometheus adds `_total` to
counters, `_sum` and `_count` to histograms. The time between tokens was
`vllm:time_per_output_token_seconds` before `vllm:inter_token_latency_seconds` took its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.answers.logs.lines import clean
from gpusizer.core.validation import fail

MAX_CHARS = 4_000_000
"""Of one reading; a server's is about 100,000."""

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
