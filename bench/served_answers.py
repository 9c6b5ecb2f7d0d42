"""Published runs of servers under load, compared with the public answers to their requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.errors import Comparison
from bench.front_door import Answer, catalogue, size
from bench.measurements import Row
from gpusizer.serving.constants import EACH, FIRST, RATE

ENGINE = "speed"
QUANTITIES = (RATE, EACH, FIRST)

# Days up to which engines used other schedulers, and a release of then: vLLM up to 0.8.0,
# TensorRT-LLM in 2024 (`data/serving_schedulers.csv`).
_GENERATIONS = {
    "vllm": (("2025-03-18", "0.7.3"),),
    "tensorrt-llm": (("2025", "0.15.0"),),
}
_TODAY = "9999"
_STALLED = 3.0


def fields_of(row: Row) -> dict[str, Any]:
    """Return the row's settings as fields of a request about one replica."""
    replicas = row.get("replicas", 1)
    gpu = catalogue().find(row["gpu_slug"])
    users = row.get("concurrency")
    return {
        "model": row["profile"],
        "quant": quant_of(row),
        "engine": row["engine"],
        "engine_version": version_of(row),
        "kv_dtype": row.get("kv_dtype"),
        "gpu": row["gpu_slug"],
        "gpu_count": max(1, row["gpu_count"] // replicas // gpu.devices_per_board),
        "tensor_parallel": row.get("tensor_parallel"),
        "memory_utilization": row.get("utilization"),
        "max_num_seqs": row.get("max_num_seqs"),
        "max_num_batched_tokens": row.get("max_num_batched_tokens"),
        "enforce_eager": row.get("enforce_eager"),
        "context": prompt_of(row) + answer_of(row),
        "prompt_tokens": prompt_of(row),
        "answer_tokens": answer_of(row),
        "concurrency": None if users is None else max(1, round(users / replicas)),
    }


def quant_of(row: Row) -> str:
    """Return the format by its name in a request; checkpoints released in MXFP4 are as stored."""
    slug = str(row["quant"])
    return "native" if slug == "mxfp4" and row["profile"].startswith("openai/") else slug


def version_of(row: Row) -> str | None:
    """Return the engine's release; a date alone gives its generation."""
    stated: str | None = row.get("engine_version")
    if stated is not None and not stated.startswith("NIM"):  # whose numbers are its own
        return stated
    date, days = row.get("date", _TODAY), _GENERATIONS.get(row["engine"], ())
    return next((release for day, release in days if date < day), None)


def prompt_of(row: Row) -> int:
    """Return mean tokens of a prompt; 1 for a run without prompts."""
    return max(1, round(row.get("prompt_tokens", 1)))


def answer_of(row: Row) -> int:
    """Return mean tokens of an answer."""
    return max(1, round(row["answer_tokens"]))


def first_token_of(row: Row) -> float | None:
    """Return the mean time to the first token in seconds, the median if `is_median`.

    None if prompts were cached, or repeated to a server that keeps prefixes: the share that was
    read again is unknown.
    """
    measured = row["measured"]
    value: float | None = measured.get("ttft_p50_seconds" if is_median(row) else "ttft_seconds")
    known = row["arrival"] != "decode_only" and not row.get("prefix_caching")
    return value if known else None


def is_median(row: Row) -> bool:
    """Return whether a run's first tokens are compared by their median.

    True if its source prints no mean, or a mean beyond three medians, which a few stalls of a cold
    engine cause.
    """
    mean, median = (row["measured"].get(name) for name in ("ttft_seconds", "ttft_p50_seconds"))
    return median is not None and (mean is None or mean > _STALLED * median)


def each_token_of(row: Row) -> float | None:
    """Return the mean time of each further token in seconds, the best one printed.

    None if half of the gaps are zero: then a gap is one between pieces of a token's text.
    """
    measured = row["measured"]
    names = ("tpot_seconds", "itl_seconds", "tpot_p50_seconds", "itl_p50_seconds")
    if measured.get("itl_p50_seconds") == 0 and "tpot_seconds" not in measured:
        return None
    return next((float(measured[name]) for name in names if name in measured), None)


def compare(row: Row) -> Iterator[Comparison]:
    """Compare rate, time of each token and first token, if the row and the answer have them."""
    if row.get("flags") or not row.get("concurrency"):
        return
    report = size(fields_of(row))
    if report is None or not report["ranking"]:
        return
    likely = _shown(report["ranking"][0])
    measured = {
        RATE: row["measured"].get("output_tokens_per_second"),
        EACH: each_token_of(row),
        FIRST: first_token_of(row),
    }
    if measured[RATE] is not None:
        measured[RATE] /= row.get("replicas", 1)
    for component, value in measured.items():
        shown = likely.get(component)
        if value and shown is not None:
            yield Comparison.with_error(
                row,
                ENGINE,
                component,
                value,
                shown["likely"],
                variant=row["engine"],
                in_bytes=False,
                band=(shown["low"], shown["high"]),
            )


def _shown(place: Answer) -> Mapping[str, dict[str, float] | None]:
    # Speeds under load of one place of a ranking; one user has the speeds of a user alone.
    served = place.get("served")
    if served is not None:
        return {
            RATE: served["output_tokens_per_second"],
            EACH: served["tpot_seconds"],
            FIRST: served["ttft_seconds"],
        }
    user = place["decode_tokens_per_second_per_user"]
    each = user and {
        "low": 1 / user["high"],
        "likely": 1 / user["likely"],
        "high": 1 / user["low"],
    }
    return {
        RATE: place["decode_tokens_per_second_total"],
        EACH: each,
        FIRST: place["time_to_first_token_seconds"],
    }
