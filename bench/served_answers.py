"""Published runs of servers under load beside the public answers to the requests they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.errors import Comparison
from bench.front_door import Answer, catalogue, size
from bench.measurements import Row
from gpusizer.fit.serving.constants import EACH, FIRST, RATE

ENGINE = "speed"
QUANTITIES = (RATE, EACH, FIRST)


def fields_of(row: Row) -> dict[str, Any]:
    """The row's settings as fields of a request about one replica."""
    replicas = row.get("replicas", 1)
    gpu = catalogue().find(row["gpu_slug"])
    users = row.get("concurrency")
    return {
        "model": row["profile"],
        "quant": quant_of(row),
        "engine": row["engine"],
        "engine_version": row.get("engine_version"),
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
    """The format by its name in a request; checkpoints released in MXFP4 are as stored."""
    slug = str(row["quant"])
    return "native" if slug == "mxfp4" and row["profile"].startswith("openai/") else slug


def prompt_of(row: Row) -> int:
    """Tokens of a prompt, on average; 1 where a run had none to speak of."""
    return max(1, round(row.get("prompt_tokens", 1)))


def answer_of(row: Row) -> int:
    """Tokens of an answer, on average."""
    return max(1, round(row["answer_tokens"]))


def first_token_of(row: Row) -> float | None:
    """Mean seconds to the first token; the median where a source prints no mean.

    None where prompts were cached, or repeated to a server that keeps prefixes: how much of them
    was read again nobody says.
    """
    measured = row["measured"]
    value: float | None = measured.get("ttft_seconds", measured.get("ttft_p50_seconds"))
    known = row["arrival"] != "decode_only" and not row.get("prefix_caching")
    return value if known else None


def each_token_of(row: Row) -> float | None:
    """Mean seconds of each further token, the likest that the source prints."""
    measured = row["measured"]
    names = ("tpot_seconds", "itl_seconds", "tpot_p50_seconds", "itl_p50_seconds")
    return next((float(measured[name]) for name in names if name in measured), None)


def compare(row: Row) -> Iterator[Comparison]:
    """Rate, time of each token and first token, where the row and the answer have them."""
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
            yield Comparison(
                ENGINE,
                component,
                row["engine"],
                row["id"],
                row["dup_group"],
                row["source_group"],
                row["source_url"],
                value,
                shown["likely"],
                None,
                in_bytes=False,
                low=shown["low"],
                high=shown["high"],
            )


def _shown(place: Answer) -> Mapping[str, dict[str, float] | None]:
    """The speeds under load of one place of a ranking; one user's are those of a user alone."""
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
