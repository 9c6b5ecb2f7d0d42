"""A run as a row of data/measurements, and the GitHub issue that offers it.

Everything in an issue was written by strangers: the row stands in a fence longer than any run of
backticks in it, with everything but ASCII escaped, and every other value passes `redaction.clean`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpusizer.answers.logs.log_comparison import ComparedAmount, LogComparison
from gpusizer.answers.logs.parsed import LogReading, ParsedLog
from gpusizer.answers.logs.redaction import clean
from gpusizer.answers.logs.run_request import (
    SERVING,
    backend_of,
    gguf_slug,
    gpu_devices,
    memory_of,
    offload_of,
)
from gpusizer.core.units import GIB

MeasurementRow = dict[str, Any]

_SERVING_SETTINGS = (
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
    "utilization",
    "kv_dtype",
    "block_size",
    "enforce_eager",
    "prefix_caching",
    "draft_tokens",
)
_LLAMA_SETTINGS = (
    "bits_per_weight",
    "file_bytes",
    "context",
    "batch",
    "ubatch",
    "sequences",
    "kv_k",
    "kv_v",
    "flash_attention",
)
_SMALLEST = frozenset({"kv_pool_bytes", "kv_tokens", "kv_blocks", "max_concurrency"})
_BY_DEVICE = {
    "weights_bytes": "weights_by_device",
    "kv_bytes": "kv_by_device",
    "compute_bytes": "compute_by_device",
    "output_bytes": "output_by_device",
}
_SUMS = ("weights_bytes", "kv_bytes", "recurrent_bytes", "context_bytes", "total_used_bytes")
_COUNTS = frozenset({"max_concurrency", "kv_tokens", "kv_blocks"})
_ROUNDED_STEP = 2**20


@dataclass(frozen=True, slots=True)
class Issue:
    """A GitHub issue to paste: title and Markdown body, and the row inside it."""

    title: str
    body: str
    row: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """JSON object."""
        return {**asdict(self), "row": dict(self.row)}


def row_of(parsed: ParsedLog, comparison: LogComparison) -> MeasurementRow:
    """The run in the format of data/measurements/README.md; what the log lacks is left out.

    `source_url` is "unpublished" until the issue has an address.
    """
    row = (_serving_row if parsed.engine in SERVING else _llama_row)(parsed, comparison)
    row = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:12]
    named = {"id": f"user-{digest}", "dup_group": f"user-{digest}"}
    return {
        "kind": row.pop("kind"),
        **named,
        "source_group": "users",
        "source_url": "unpublished",
        **row,
    }


def issue_of(parsed: ParsedLog, comparison: LogComparison) -> Issue:
    """The issue that contributes this run."""
    row = row_of(parsed, comparison)
    document = json.dumps(row, ensure_ascii=True, allow_nan=False).replace("`", "\\u0060")
    engine = clean(f"{parsed.engine} {parsed.text('engine_version')}".strip())
    model = clean(comparison.prediction.gguf_repo or comparison.prediction.repo)
    gpu = clean(comparison.request.gpu) or "GPU not named"
    lines = [
        f"A start-up log of {_code(engine)} with {_code(model)} on {_code(gpu)}.",
        "",
        "| amount | measured | predicted | error |",
        "|---|---:|---:|---:|",
        *map(_table_row, comparison.rows),
        "",
        "The row, in the format of `data/measurements/README.md`:",
        "",
        _fenced(document, "json"),
        "",
        "Lines it was read from:",
        "",
        _fenced("\n".join(_quotes(parsed)), "text"),
        "",
    ]
    return Issue(f"Measurement: {engine}, {model}, {gpu}"[:200], "\n".join(lines), row)


def _table_row(row: ComparedAmount) -> str:
    measured, predicted = (shown_amount(row.name, n) for n in (row.measured, row.predicted))
    return f"| {row.name} | {measured} | {predicted} | {row.error:+.1%} |"


def _serving_row(parsed: ParsedLog, comparison: LogComparison) -> MeasurementRow:
    request, prediction = comparison.request, comparison.prediction
    tensor, pipeline = request.fields["tensor_parallel"], request.fields["pipeline_parallel"]
    flags = [flag for flag in ("lora", "draft_model") if parsed.get(flag)]
    return {
        "kind": "serving",
        "engine": parsed.engine,
        "engine_version": parsed.get("engine_version"),
        "engine_generation": parsed.get("engine_generation"),
        "repo": prediction.repo,
        "profile": prediction.repo,
        "profile_basis": "id",
        "quant": "native" if prediction.native else prediction.quant,
        "quantization": parsed.get("quantization"),
        "weight_dtype": parsed.get("weight_dtype"),
        "gpu": request.gpu,
        "gpu_memory_bytes": memory_of(parsed),
        "gpu_count": tensor * pipeline,
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "data_parallel": parsed.get("data_parallel"),
        "expert_parallel": parsed.get("expert_parallel"),
        **{name: parsed.get(name) for name in _SERVING_SETTINGS},
        "outcome": parsed.get("outcome") or "failed",
        "flags": flags,
        "measured": _serving_measured(parsed),
    }


def _serving_measured(parsed: ParsedLog) -> MeasurementRow:
    names = dict.fromkeys(reading.name for reading in parsed.measured)
    measured: MeasurementRow = {}
    for name in names:
        pick = parsed.smallest if name in _SMALLEST else parsed.largest
        reading = pick(name)
        if reading is not None:
            measured[name] = reading.value
    pool, tokens = parsed.smallest("kv_pool_bytes"), parsed.smallest("kv_tokens")
    if pool and tokens and tokens.value and float(pool.value) > 0:
        measured["kv_bytes_per_token"] = round(float(pool.value) / float(tokens.value), 1)
        measured["kv_bytes_per_token_rounding"] = round(pool.step / 2 / float(pool.value), 6)
    return measured


def _llama_row(parsed: ParsedLog, comparison: LogComparison) -> MeasurementRow:
    request, prediction = comparison.request, comparison.prediction
    devices = gpu_devices(parsed)
    build = parsed.text("engine_version")
    return {
        "kind": "llama_cpp",
        "measure_kind": _measure_kind(parsed),
        "program": parsed.engine,
        "front_end": parsed.engine,
        "build": f"b{build}" if build and parsed.engine == "llama.cpp" else build,
        "repo": prediction.repo,
        "profile": prediction.repo,
        "profile_basis": _profile_basis(parsed, comparison),
        "gguf_repo": prediction.gguf_repo or request.gguf_repo,
        "gguf_file": parsed.get("gguf_file"),
        "quant": gguf_slug(parsed.text("file_type")).removeprefix("gguf-").upper(),
        **{name: parsed.get(name) for name in _LLAMA_SETTINGS},
        "backends": [backend_of(devices) if devices else "CPU"],
        "gpus": [request.gpu] if request.gpu else [],
        "gpu_count": len(devices),
        "offload": offload_of(parsed),
        "gpu_layers": parsed.get("gpu_layers"),
        "layers_offered": parsed.get("layers_offered"),
        "measured": _llama_measured(parsed),
    }


def _profile_basis(parsed: ParsedLog, comparison: LogComparison) -> str:
    """A file names its base model in its metadata, which may be the one before fine-tuning."""
    if comparison.prediction.gguf_repo:
        return "file_name"
    return "inferred" if comparison.request.model == parsed.get("repo") else "id"


def _measure_kind(parsed: ParsedLog) -> str:
    if any(reading.step > _ROUNDED_STEP for reading in parsed.measured):
        return "engine_log"
    return "buffers" if parsed.all_of("kv_bytes") else "breakdown"


def _llama_measured(parsed: ParsedLog) -> MeasurementRow:
    measured: MeasurementRow = {}
    for name in _SUMS:
        total = parsed.total(name)
        if total is not None:
            measured[name] = total.value
    for name, by_device in _BY_DEVICE.items():
        devices = {r.device: r.value for r in parsed.all_of(name) if r.device}
        if devices:
            measured[by_device] = devices
    return measured


def _quotes(parsed: ParsedLog) -> list[str]:
    readings: tuple[LogReading, ...] = (*parsed.facts, *parsed.settings, *parsed.measured)
    shown = [
        r for r in readings if r.lines and r.name != "model_path"
    ]  # a path names folders of its user
    quotes = {(reading.lines, reading.quote) for reading in shown}
    return [f"{lines[0]}: {quote}" for lines, quote in sorted(quotes)]


def shown_amount(name: str, value: float) -> str:
    """An amount as text: bytes in GiB, small numbers of bytes and counts as they are."""
    if name in _COUNTS:
        return f"{value:,.2f}" if value % 1 else f"{value:,.0f}"
    return f"{value:,.0f} B" if abs(value) < GIB / 1000 else f"{value / GIB:,.3f} GiB"


def _code(text: str) -> str:
    """Text as inline code of Markdown; backticks, bars and line breaks are removed."""
    return f"`{re.sub(r'[`|]', '?', text)}`"


def _fenced(text: str, language: str) -> str:
    """A fence longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
