"""Quantization levels: what each takes, tensor by tensor."""

from gpusizer.quants.layouts import Layout, ModelShape
from gpusizer.quants.table import Quant, all_quants, find_quant

__all__ = ["Layout", "ModelShape", "Quant", "all_quants", "find_quant"]
