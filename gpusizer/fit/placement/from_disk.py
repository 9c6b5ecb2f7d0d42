"""Reading from disk: weights beyond GPUs and system memory that llama.cpp reads for each token.

llama.cpp maps its file into memory (`--mmap`, the default; tools/server/README.md), so that the
system drops its pages and reads them again instead of running out of memory. Cache and buffers are
not part of the file and have to stay. Ollama counts the weights too and refuses to load ("model
requires more system memory", llm/server.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpusizer.core.byte_ranges import Amount, Provenance, total
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, significant
from gpusizer.fit.placement.device_shares import Arrangement, DeviceShare, Load


@dataclass(frozen=True, slots=True)
class DiskReading:
    """Least reading from the disk per token."""

    provenance: ClassVar[Provenance] = Provenance.DERIVED

    resident_bytes: int  # system memory left for pages of the file
    missing_bytes: int  # weights in no memory
    token_bytes: int  # bytes read again for one token of one user
    bytes_per_second: float  # of the disk

    @property
    def most_tokens_per_second(self) -> float | None:
        """Upper bound of tokens/s from the disk alone; None if no token needs missing weights."""
        return significant(self.bytes_per_second / self.token_bytes) if self.token_bytes else None


def unmapped_amount(host: DeviceShare) -> Amount:
    """Return bytes that system memory has to hold apart from pages of the file."""
    return total((host.kv_cache, host.activations, host.overhead))


def disk_reading(load: Load, how: Arrangement, host: DeviceShare) -> DiskReading | None:
    """Return the reading per token; None if the size of system memory is unknown."""
    free = load.machine.free_ram_bytes
    if free is None:
        return None
    # Pages that every token needs are taken for resident first, and tokens for choosing evenly
    # among the routed experts: k of E per token. A token reads one row of the input embeddings.
    resident = max(0, free - unmapped_amount(host).likely)
    always, experts = _read_on_host(load, how, host)
    missing_share = 0.0
    if experts:
        missing_share = max(0, experts - max(0, resident - always)) / experts
    token = max(0, always - resident) + experts * missing_share * _experts_share(load)
    return DiskReading(
        resident_bytes=min(resident, host.weights.likely),
        missing_bytes=max(0, host.weights.likely - resident),
        token_bytes=round(token),
        bytes_per_second=load.machine.disk_bytes_per_second,
    )


def disk_notes(reading: DiskReading | None) -> tuple[Note, ...]:
    """Return notes on what reading from the disk means for the speed."""
    if reading is None:
        return ()
    missing = Note("rig_from_disk", missing_bytes=reading.missing_bytes)
    most = reading.most_tokens_per_second
    if most is None:
        return (missing,)
    speed = Note(
        "disk_speed",
        token_bytes=reading.token_bytes,
        gb=significant(reading.bytes_per_second / GB),
        tokens=most,
    )
    return (missing, speed)


def _read_on_host(load: Load, how: Arrangement, host: DeviceShare) -> tuple[int, int]:
    # Bytes in system memory that every token reads, and those of routed experts there.
    parts, below = load.parts, host.layers
    experts = parts.experts[max(below, min(how.cpu_experts, load.layers))]
    always = parts.layers[below] - parts.experts[below] + parts.output * host.output
    return always, experts


def _experts_share(load: Load) -> float:
    arch = load.profile.architecture
    if arch is None or not arch.experts or not arch.experts_per_token:
        return 1.0
    return arch.experts_per_token / arch.experts
