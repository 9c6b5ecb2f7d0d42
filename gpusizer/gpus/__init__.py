"""Catalogue of 300 accelerators: their facts and the names that people use for them."""

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
