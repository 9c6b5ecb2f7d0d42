"""config.json or GGUF metadata, and tensor shapes, in; one Architecture out."""

from gpusizer.architecture.gguf import resolve_gguf
from gpusizer.architecture.model import GROWING, Architecture, Attention, LayerSpec
from gpusizer.architecture.resolve import architecture_of_config, resolve_architecture

__all__ = [
    "GROWING",
    "Architecture",
    "Attention",
    "LayerSpec",
    "architecture_of_config",
    "resolve_architecture",
    "resolve_gguf",
]
