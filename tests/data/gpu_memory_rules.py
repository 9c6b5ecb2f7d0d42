"""The rules for memory sizes that are not published, recomputed from the label.

The wording of each rule is the text after the basis in `memory_usable_basis`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpusizer.core.units import GB, MIB
from gpusizer.gpus import Gpu

RELATIVE = re.compile(r"(same (memory|capacity) as|as the observed|twice the|one die of) ")


def label_mib(gpu: Gpu) -> float:
    return gpu.memory_marketing_gb * 1024


def low_reading_mib(gpu: Gpu) -> int:
    return int(gpu.memory_marketing_gb * GB) // MIB


def channels(gpu: Gpu) -> int:
    return (gpu.bus_width_bits or 0) // 32


# Words of `memory_usable_basis` -> MiB of the whole board.
MEMORY_RULES: Mapping[str, Callable[[Gpu], float]] = {
    "all of the label, in GiB (driver R510 or later)": label_mib,
    "label in GiB less bus_width/32 MiB": lambda gpu: label_mib(gpu) - channels(gpu),
    "label in GiB less bus_width/32 MiB, times 15/16 for inline ECC": lambda gpu: (
        (label_mib(gpu) - channels(gpu)) * 15 / 16
    ),
    "label in GiB less 4 MiB per GiB and 2 x bus_width/32 + 1 MiB": lambda gpu: (
        label_mib(gpu) - 4 * gpu.memory_marketing_gb - 2 * channels(gpu) - 1
    ),
    "label in GiB less 144 MiB, the largest reserve seen on an AMD card": lambda gpu: (
        label_mib(gpu) - 144
    ),
    "label read as 10^9 bytes per GB, the low reading": low_reading_mib,
    "label as 10^9 bytes less 2 GiB for the system that shares it": lambda gpu: (
        low_reading_mib(gpu) - 2048
    ),
    "3/4 of RAM, the most AMD Variable Graphics Memory dedicates; Linux can map more": lambda gpu: (
        label_mib(gpu) * 3 / 4
    ),
    "1/2 of RAM, what Windows and Linux lend to a GPU unless told otherwise": lambda gpu: (
        label_mib(gpu) / 2
    ),
    "macOS default GPU limit, 2/3 of RAM; not observed at this size, newer macOS allows more": (
        lambda gpu: label_mib(gpu) * 2 / 3
    ),
    "macOS default GPU limit, 3/4 of RAM; not observed at this size, newer macOS allows more": (
        lambda gpu: label_mib(gpu) * 3 / 4
    ),
}


# words of `memory_torch_basis` for an unpublished total
TORCH_RULE = "what the driver reports, less 150 MiB and 10 MiB per GiB, at most 600"


def follows_torch_rule(gpu: Gpu) -> bool:
    device_mib = gpu.device_memory_bytes // MIB
    kept_mib = min(600, round(150 + 10 * device_mib / 1024))
    return gpu.device_torch_memory_bytes == (device_mib - kept_mib) * MIB


def follows_rule(gpu: Gpu) -> bool:
    return abs(gpu.memory_bytes / MIB - MEMORY_RULES[gpu.memory_note](gpu)) < 1
