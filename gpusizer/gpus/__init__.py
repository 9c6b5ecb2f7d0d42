"""The GPU catalogue: facts about 300 accelerators and the names people call them."""

from __future__ import annotations

from gpusizer.gpus.catalogue import Catalogue, load_catalogue
from gpusizer.gpus.gpu import (
    Confidence,
    Gpu,
    KernelClass,
    MemoryBasis,
    Price,
    PriceBasis,
    Status,
    Support,
)
from gpusizer.gpus.user_gpus import saved_gpus

__all__ = [
    "Catalogue",
    "Confidence",
    "Gpu",
    "KernelClass",
    "MemoryBasis",
    "Price",
    "PriceBasis",
    "Status",
    "Support",
    "load_catalogue",
    "saved_gpus",
]
