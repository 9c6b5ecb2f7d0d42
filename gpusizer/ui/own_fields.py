"""Names of the fields about the visitor's own machine and prices, which several tabs have."""

from __future__ import annotations

from collections.abc import Mapping

_MEMORY = ("used_gb", "usable_gb")
_MACHINE = (*_MEMORY, "ram_gb", "ram_gb_per_s", "disk_gb_per_s")
_PRICES = ("gpu_usd", "gpu_usd_per_hour")

OWN_FIELDS = (*_MACHINE, *_PRICES, "usd_per_kwh")
"""All of them, in the order of the page."""

OF_NAMED_GPUS = (*_MEMORY, "ram_gb", "ram_gb_per_s", *_PRICES)
"""Those that count for GPUs which a request names."""

OWN_FIELDS_OF: Mapping[str, tuple[str, ...]] = {
    "size": OWN_FIELDS,
    "compare": OWN_FIELDS,
    "train": (*_MEMORY, "usd_per_kwh"),
    "reverse": _MACHINE,
}
"""By tab: those that its request takes and its answer shows."""
