"""Free memory that a user states for a card: "4090 (20.5 GB free)".

Amounts are of one device, as `nvidia-smi` lists them; GB are 10^9 bytes, GiB 2^30, MiB 2^20.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, MIB, significant
from gpusizer.gpus.gpu import Gpu

_PAGE_BYTES = 4096
UNITS = {"gb": GB, "gib": GIB, "mib": MIB, "mb": 10**6}
AMOUNT = r"(\d{1,7}(?:\.\d{1,3})?) ?(GB|GiB|MiB|MB)"

_FREE = r"free|usable|livres?|可用"
_USED = r"used|usad[oa]s?|已用"
_STATED = re.compile(rf"(.*\S) ?\( ?{AMOUNT} ?({_FREE}|{_USED}) ?\) ?", re.IGNORECASE | re.DOTALL)
_ABOUT_MEMORY = re.compile(rf"\([^()]*(?:{_FREE}|{_USED})[^()]*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """Free or used memory that a user states, in bytes of one device. The other is None."""

    free_bytes: int | None = None
    used_bytes: int | None = None

    @property
    def is_stated(self) -> bool:
        """Whether an amount is stated; `used_bytes` of 0 is the catalogue's own assumption."""
        return self.free_bytes is not None or bool(self.used_bytes)


NOTHING_STATED = FreeMemory()


def split_memory(text: str) -> tuple[str, FreeMemory]:
    """Return a name without the memory in parentheses after it, and that memory.

    >>> split_memory("4090 (20.5 GB free)")
    ('4090', FreeMemory(free_bytes=20500000000, used_bytes=None))

    Raises InvalidRequest for parentheses that speak of free or used memory in another form.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    match = _STATED.fullmatch(plain)
    if match is None:
        if _ABOUT_MEMORY.search(plain):
            raise InvalidRequest(field="gpu", value=text[:80], reason="free_memory_form")
        return text, NOTHING_STATED
    amount = round(float(match[2]) * UNITS[match[3].lower()])
    if re.fullmatch(_FREE, match[4], re.IGNORECASE):
        return match[1], FreeMemory(free_bytes=amount)
    return match[1], FreeMemory(used_bytes=amount)


def with_memory(gpu: Gpu, memory: FreeMemory) -> Gpu:
    """Return the card with that much of each device free, stated in its name and notes.

    A larger amount for a Mac, an APU or a module raises its GPU limit, a setting of the system
    (macOS: `iogpu.wired_limit_mb`; Linux: `ttm.pages_limit`). Raises InvalidRequest for more than a
    device has.
    """
    if not memory.is_stated:
        return gpu
    free = memory.free_bytes
    if free is None:
        free = gpu.device_torch_memory_bytes - (memory.used_bytes or 0)
    before, most = gpu.device_memory_bytes, _most_bytes(gpu)
    if not 0 < free <= most:
        amount = memory.used_bytes if memory.free_bytes is None else free
        raise InvalidRequest(
            field="gpu",
            value=f"{gpu.slug}: {(amount or 0) / GB:g} GB",
            reason="free_memory_beyond",
            high=significant(most / GB),
        )
    name = f"{gpu.name} ({significant(free / GB):g} GB free)"
    if gpu.is_integrated and memory.free_bytes is not None and free > before:
        limit = Note(
            "card_limit_moved",
            gpu=gpu.name,
            limit_bytes=free,
            default_bytes=before,
            mib=free // MIB,
            pages=free // _PAGE_BYTES,
        )
        return replace(
            gpu,
            name=name,
            memory_bytes=free,
            torch_memory_bytes=None if gpu.torch_memory_bytes is None else free,
            memory_basis="stated",
            free_bytes=free,
            statements=(*gpu.statements, limit),
        )
    free = min(free, before)
    stated = Note(
        "card_memory_free",
        gpu=gpu.name,
        gb=significant(free / GB),
        free_bytes=free,
        total_bytes=before,
    )
    return replace(gpu, name=name, free_bytes=free, statements=(*gpu.statements, stated))


def _most_bytes(gpu: Gpu) -> int:
    # At least the label read in binary, so that "24 GB free" of a 24 GB card is no error.
    label = round(gpu.memory_marketing_gb * GIB / gpu.devices_per_board)
    return max(gpu.device_memory_bytes, label)
