"""A run as a row of data/measurements, and the issue that offers it: title and row to copy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.hub.model_ref import is_repo_id
from gpusizer.logs.lines import clean
from gpusizer.logs.llama_bench import BenchReport
from gpusizer.logs.log_comparison import LogComparison
from gpusizer.logs.rules import ParsedLog
from gpusizer.logs.run_request import (
    SERVING,
    backend_of,
    build_of,
    gguf_slug,
    gpu_devices,
    memory_of,
    offload_of,
)
from gpusizer.usecases.report import Report

Row = dict[str, object]

_SMALLEST = frozenset({"kv_pool_bytes", "kv_tokens", "kv_blocks", "max_concurrency"})
_BY_DEVICE = {
    "weights_bytes": "weights_by_device",
    "kv_bytes": "kv_by_device",
    "compute_bytes": "compute_by_device",
    "output_bytes": "output_by_device",
}
_SUMS = ("weights_bytes", "kv_bytes", "recurrent_bytes", "context_bytes", "total_used_bytes")
_NOT_IN_ROWS = frozenset({"lora", "overrides"})
_ROUNDED_STEP = 2**20


@dataclass(frozen=True, slots=True)
class Issue:
    """A GitHub issue to paste: its title, and the row that is its body."""

    title: str
    row: Mapping[str, object]

    @property
    def body(self) -> str:
        """The row as one line of JSON."""
        # Everything in a row was written by strangers: it is JSON with everything but ASCII
        # escaped, and backticks too, so that it stays inside any fence that it is pasted into.
        document = json.dumps(self.row, ensure_ascii=True, allow_nan=False)
        return document.replace("`", "\\u0060")


def issue_of(parsed: ParsedLog, comparison: LogComparison) -> Issue:
    """Return the issue that contributes this run."""
    prediction = comparison.prediction
    engine = clean(f"{parsed.engine} {parsed.text('engine_version')}".strip())
    model = clean(prediction.gguf_repo or prediction.repo)
    gpu = clean(comparison.request.gpu) or "GPU not named"
    return Issue(f"Measurement: {engine}, {model}, {gpu}"[:200], row_of(parsed, comparison))


def row_of(parsed: ParsedLog, comparison: LogComparison) -> Row:
    """Return the run in the format of data/measurements/README.md, without what the log lacks."""
    if parsed.engine in SERVING:
        return contributed("serving", _serving_row(parsed, comparison))
    return contributed("llama_cpp", _llama_row(parsed, comparison))


def contributed(kind: str, row: Row, **about: object) -> Row:
    """Return a reader's own run as a row; unknown values are left out, as in `data/measurements`.

    `source_url` is "unpublished" until the run has an address.
    """
    row = {**row, "profile": row["repo"]}
    known = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    digest = hashlib.sha256(json.dumps({"kind": kind, **known}, sort_keys=True).encode())
    name = f"user-{digest.hexdigest()[:12]}"
    source = {"source_group": "users", "source_url": "unpublished"}
    return {"kind": kind, "id": name, "dup_group": name, **source, **about, **known}


def _settings(parsed: ParsedLog) -> Row:
    return {one.name: one.value for one in parsed.settings if one.name not in _NOT_IN_ROWS}


def _serving_row(parsed: ParsedLog, comparison: LogComparison) -> Row:
    request, prediction = comparison.request, comparison.prediction
    tensor, pipeline = request.fields["tensor_parallel"], request.fields["pipeline_parallel"]
    return {
        "engine": parsed.engine,
        **{name: parsed.get(name) for name in ("engine_version", "engine_generation")},
        "repo": prediction.repo,
        "profile_basis": "id",
        "quant": "native" if prediction.native else prediction.quant,
        "gpu": request.gpu,
        "gpu_memory_bytes": memory_of(parsed),
        "gpu_count": tensor * pipeline,
        **_settings(parsed),
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "outcome": parsed.get("outcome") or "failed",
        "flags": [flag for flag in ("lora", "draft_model") if parsed.get(flag)],
        "measured": _serving_measured(parsed),
    }


def _serving_measured(parsed: ParsedLog) -> Row:
    measured: Row = {}
    for name in dict.fromkeys(reading.name for reading in parsed.measured):
        reading = parsed.smallest(name) if name in _SMALLEST else parsed.largest(name)
        if reading is not None:
            measured[name] = reading.value
    pool, tokens = parsed.smallest("kv_pool_bytes"), parsed.smallest("kv_tokens")
    if pool and tokens and tokens.value and float(pool.value) > 0:
        measured["kv_bytes_per_token"] = round(float(pool.value) / float(tokens.value), 1)
        measured["kv_bytes_per_token_rounding"] = round(pool.step / 2 / float(pool.value), 6)
    return measured


def _llama_row(parsed: ParsedLog, comparison: LogComparison) -> Row:
    request, prediction = comparison.request, comparison.prediction
    devices, settings = gpu_devices(parsed), _settings(parsed)
    settings.pop("kv_dtype", None)  # one type for both, which no row has
    return {
        "measure_kind": _measure_kind(parsed),
        "program": parsed.engine,
        "front_end": parsed.engine,
        "build": build_of(parsed) or parsed.text("engine_version"),
        "repo": prediction.repo,
        "profile_basis": _profile_basis(parsed, comparison),
        "gguf_repo": prediction.gguf_repo or request.gguf_repo,
        **{name: parsed.get(name) for name in ("gguf_file", "bits_per_weight", "file_bytes")},
        "quant": gguf_slug(parsed.text("file_type")).removeprefix("gguf-").upper(),
        **settings,
        "backends": [backend_of(devices) if devices else "CPU"],
        "gpus": [request.gpu] if request.gpu else [],
        "gpu_count": len(devices),
        "offload": offload_of(parsed),
        "measured": _llama_measured(parsed),
    }


def _profile_basis(parsed: ParsedLog, comparison: LogComparison) -> str:
    # A file names its base model in its metadata, which may be the one before fine-tuning.
    if comparison.prediction.gguf_repo:
        return "file_name"
    return "inferred" if comparison.request.model == parsed.get("repo") else "id"


def _measure_kind(parsed: ParsedLog) -> str:
    if any(reading.step > _ROUNDED_STEP for reading in parsed.measured):
        return "engine_log"
    return "buffers" if parsed.all_of("kv_bytes") else "breakdown"


def _llama_measured(parsed: ParsedLog) -> Row:
    totals = {name: total.value for name in _SUMS if (total := parsed.total(name))}
    by_device = {
        row_name: {one.device: one.value for one in parsed.all_of(name) if one.device}
        for name, row_name in _BY_DEVICE.items()
    }
    return totals | {name: devices for name, devices in by_device.items() if devices}


def llama_row(bench: BenchReport, report: Report, gpu: str) -> Row:
    """Return the tests as a row: the answer at the least depth, the prompt of an empty cache."""
    answers = sorted((t for t in bench.tests if t.is_answer), key=lambda test: test.depth)
    prompts = [test for test in bench.tests if test.is_prompt and not test.depth]
    settings: Row = {}
    measured: Row = {}
    for answer in answers[:1]:
        settings["context"] = answer.depth + answer.generated_tokens // 2
        settings["generated_tokens"] = answer.generated_tokens
        measured["decode_tokens_per_second"] = round(answer.tokens_per_second, 2)
    for prompt in prompts[:1]:
        settings["prompt_tokens"] = prompt.prompt_tokens
        measured["prefill_tokens_per_second"] = round(prompt.tokens_per_second, 2)
    about: Row = {
        "engine": "llama.cpp",
        "front_end": "llama-bench",
        "engine_version": bench.build,
        "backend": bench.backend.upper(),
        "quantization": bench.label,
        "gguf_file": bench.file,
        "kv_k": bench.kv_dtype.partition("/")[0],
        "kv_v": bench.kv_dtype.rpartition("/")[2],
        "flash_attention": bench.flash_attention,
        "split": bench.split,
    }
    about |= {**_of(report, gpu), **settings, "measured": measured}
    return contributed("throughput", about, confidence="high")


def _of(report: Report, gpu: str) -> Row:
    # Model, quantization and cards. Names of folders are private.
    profile, fit = report.profile, report.ranking[0].fit
    repo = profile.repo_id if is_repo_id(profile.repo_id) else ""
    if profile.format == "gguf" and profile.base_models:
        repo = profile.base_models[0]
    return {
        "repo": repo,
        "profile_basis": "file_name" if profile.format == "gguf" else "id",
        "quant": fit.estimate.quant.slug,
        "gpu": gpu,
        "gpu_slug": fit.gpu.slug,
        "gpu_count": fit.count,
    }
