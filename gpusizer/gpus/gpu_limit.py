"""Limits to which a system can raise the GPU's part of shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.loose_values import StoredObject
from gpusizer.core.tables import toml_of
from gpusizer.core.units import GB, GIB
from gpusizer.gpus.gpu import Gpu

_BY_STACK: Mapping[str, StoredObject] = toml_of(__file__)
_TENTHS = 10


@dataclass(frozen=True, slots=True)
class GpuLimit:
    """A limit larger than the system's default."""

    gigabytes: float  # in 10^9 bytes, as requests state them
    # system that has the setting: "linux" (`ttm.pages_limit`) or "macos" (`iogpu.wired_limit_mb`)
    setting: str

    @property
    def limit_bytes(self) -> int:
        """The limit in bytes."""
        return round(self.gigabytes * GB)


def larger_limit(gpu: Gpu) -> GpuLimit | None:
    """Return the limit to which guides raise a GPU's shared memory, or None.

    None if the GPU has its own memory, if no setting of the system is known, and if the limit is
    already as large or was stated.
    """
    rule = _BY_STACK.get(gpu.software)
    if rule is None or not gpu.is_integrated or gpu.free_bytes is not None:
        return None
    memory = gpu.memory_marketing_gb * GIB
    most = min(memory * rule["share"], memory - rule["system_gib"] * GIB)
    limit = GpuLimit(int(most / GB * _TENTHS) / _TENTHS, rule["setting"])
    return limit if limit.limit_bytes > gpu.device_memory_bytes else None
