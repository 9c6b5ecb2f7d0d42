"""GPUs as answers list them: facts, what they are good for, and what they rent for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpusizer.costs import rental_quote
from gpusizer.gpus import Gpu
from gpusizer.notes import Say
from gpusizer.purpose import purpose_of
from gpusizer.report import SCHEMA_VERSION


def gpus_json(gpus: Sequence[Gpu], say: Say) -> dict[str, Any]:
    """The catalogue, or a part of it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "count": len(gpus),
        "gpus": [gpu_json(gpu, say) for gpu in gpus],
    }


def gpu_json(gpu: Gpu, say: Say) -> dict[str, Any]:
    """One GPU: its facts, what it is good for and why, and what providers ask for it."""
    purpose, quote = purpose_of(gpu), rental_quote(gpu)
    sentences = " ".join(say(note) for note in purpose.notes())
    return {
        **gpu.to_json(),
        "purpose": {**purpose.to_json(), "message": sentences},
        "rental": None if quote is None else quote.to_json(),
    }
