"""Converts readings to rows of `data/measurements`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.measuring.backend import Device, Training
from bench.measuring.protocol import Prefill, Step, growth_per_token

UNPUBLISHED = "unpublished"
"""Placeholder of a source URL until rows are published; tests refuse it in the repository."""

_ENGINE = "transformers"
_NAMES = {"cache": "kv", "context": "non_torch"}
_NO_AMOUNTS = ("tokens", "full")
_DTYPES = {"bf16": "bfloat16", "f32": "float32"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where and when rows were measured."""

    url: str
    group: str
    date: str


def inference_rows(
    repo_id: str, dtype: str, readings: Sequence[Prefill], device: Device, source: Source
) -> Iterator[dict[str, Any]]:
    """Yield one row of kind "serving" per context."""
    growth = growth_per_token(readings)
    for reading in readings:
        name = f"{_slug(device.name)}-{repo_id}-{dtype}-{reading.tokens}"
        yield {
            "kind": "serving",
            **_common(f"measured-{name}", repo_id, device, source),
            "weight_dtype": _DTYPES[dtype],
            "max_model_len": reading.tokens,
            "kv_dtype": "auto",
            "outcome": "out_of_memory" if reading.full else "ran",
            "measured": _measured(reading, kv_bytes_per_token=growth),
        }


def training_row(
    repo_id: str, training: Training, step: Step, device: Device, source: Source
) -> dict[str, Any]:
    """Return one row of kind "training"."""
    settings = {
        "method": training.method,
        "precision": training.precision,
        "optimizer": "adamw",
        "sequence_length": training.sequence_length,
        "micro_batch": training.micro_batch,
        "gradient_checkpointing": training.gradient_checkpointing,
        "lora_rank": training.lora_rank if training.method == "lora" else None,
    }
    name = "-".join(
        str(part)
        for part in (
            _slug(device.name),
            repo_id,
            training.method,
            training.precision,
            training.sequence_length,
            training.micro_batch,
            "checkpointed" if training.gradient_checkpointing else "plain",
        )
    )
    return {
        "kind": "training",
        **_common(f"trained-{name}", repo_id, device, source),
        **_without_unknown(settings),
        "outcome": "out_of_memory" if step.full else "ran",
        "measured": _measured(step),
    }


def _measured(reading: Prefill | Step, **more: float | None) -> dict[str, Any]:
    """The amounts of a reading as rows name them; of a full device the weights alone."""
    if reading.full:
        return {"weights_bytes": reading.weights}
    parts = {name: value for name, value in asdict(reading).items() if name not in _NO_AMOUNTS}
    named = {f"{_NAMES.get(name, name)}_bytes": value for name, value in parts.items()}
    return _without_unknown(named | more)


def _common(name: str, repo_id: str, device: Device, source: Source) -> dict[str, Any]:
    """Return the fields of every row; unknown fields are left out."""
    return _without_unknown(
        {
            "id": name,
            "dup_group": name,
            "source_group": source.group,
            "source_url": source.url,
            "date": source.date,
            "confidence": "high",
            "engine": _ENGINE,
            "engine_version": device.framework_version,
            "software": device.software,
            "repo": repo_id,
            "profile": repo_id,
            "profile_basis": "id",
            "quant": "native",
            "gpu": device.name,
            "gpu_memory_bytes": device.memory_bytes,
            "gpu_count": 1,
            "tensor_parallel": 1,
            "pipeline_parallel": 1,
        }
    )


def _without_unknown(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _slug(name: str) -> str:
    return "-".join(name.lower().split())
