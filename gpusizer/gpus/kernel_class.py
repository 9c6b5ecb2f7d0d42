"""KernelClass: what kernels ask of a GPU."""

from __future__ import annotations

from typing import NamedTuple


class KernelClass(NamedTuple):
    """GPUs of one class run the same engines and quantizations."""

    software: str
    vendor: str
    compute_capability: str
    fp8_support: bool
    fp4_support: bool
    int8_support: bool
    flash_attention_2: str

    @property
    def cuda(self) -> float | None:
        """CUDA compute capability, None for other vendors."""
        if self.vendor != "NVIDIA":
            return None
        try:
            return float(self.compute_capability)
        except ValueError:
            return None
