"""Architecture of a model from config.json or GGUF metadata, and from tensor shapes."""

from __future__ import annotations

from gpusizer.model.architecture.gguf import resolve_gguf
from gpusizer.model.architecture.model import (
    Architecture,
    Confidence,
    LayerRun,
    kinds_between,
)
from gpusizer.model.architecture.resolve import architecture_of_config, resolve_architecture

__all__ = [
    "Architecture",
    "Confidence",
    "LayerRun",
    "architecture_of_config",
    "kinds_between",
    "resolve_architecture",
    "resolve_gguf",
]
