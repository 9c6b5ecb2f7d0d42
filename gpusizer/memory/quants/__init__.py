"""Quantizations, and the bytes that each takes for every tensor."""

from __future__ import annotations

from gpusizer.memory.quants.layouts import Layout, ModelShape
from gpusizer.memory.quants.table import Quant, all_quants, find_quant

__all__ = ["Layout", "ModelShape", "Quant", "all_quants", "find_quant"]
