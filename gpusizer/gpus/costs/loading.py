"""How long weights take from a disk and over a network: their bytes over a speed.

Both speeds are fields of the request. The defaults are nominal rates of common parts: sequential
reading of an NVMe disk on four lanes of PCIe 4.0 (7 GB/s: Samsung 980 PRO,
pugetsystems.com/parts/Hard-Drive/Samsung-980-Pro-2TB-Gen4-M-2-SSD-13831), and gigabit Ethernet
(IEEE 802.3ab).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import GB, SECONDS_PER_MINUTE, significant

NVME_GB_PER_S = 7.0
ETHERNET_GBIT_PER_S = 1.0
_BITS = 8


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Minutes until `stored_bytes` of weights are read, at best: nothing else is counted.

    The bytes are those of files in the quantization that runs. An engine that quantizes while it
    loads reads the original files instead.

    Attributes:
        disk_minutes: from a local disk into memory, at each start.
        download_minutes: from the Hub onto the disk, once for each machine.
    """

    stored_bytes: int
    disk_minutes: float
    download_minutes: float


def load_times(stored_bytes: int, disk_gb_per_s: float, network_gbit_per_s: float) -> LoadTimes:
    """Minutes for weights of that size.

    >>> load_times(35 * 10**9, 3.5, 1.0)
    LoadTimes(stored_bytes=35000000000, disk_minutes=0.167, download_minutes=4.67)
    """
    disk_seconds = stored_bytes / (disk_gb_per_s * GB)
    network_seconds = stored_bytes * _BITS / (network_gbit_per_s * GB)
    return LoadTimes(
        stored_bytes,
        significant(disk_seconds / SECONDS_PER_MINUTE),
        significant(network_seconds / SECONDS_PER_MINUTE),
    )
