"""What a system can be set to lend a GPU of the memory that both share."""

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
    """A larger limit than the system has by default.

    Attributes:
        gigabytes: of 10^9 bytes, as a request states them.
        setting: which system it is set on: "linux" (`ttm.pages_limit`) or "macos"
            (`iogpu.wired_limit_mb`).
    """

    gigabytes: float
    setting: str

    @property
    def limit_bytes(self) -> int:
        """The same in bytes."""
        return round(self.gigabytes * GB)


def larger_limit(gpu: Gpu) -> GpuLimit | None:
    """The limit that guides raise a GPU's to; None where its memory is its own, where no setting of
    the system is known, and where the limit is as large already or was stated."""
    rule = _BY_STACK.get(gpu.software)
    if rule is None or not gpu.is_integrated or gpu.free_bytes is not None:
        return None
    memory = gpu.memory_marketing_gb * GIB
    most = min(memory * rule["share"], memory - rule["system_gib"] * GIB)
    limit = GpuLimit(int(most / GB * _TENTHS) / _TENTHS, rule["setting"])
    return limit if limit.limit_bytes > gpu.device_memory_bytes else None
