"""NVIDIA's virtual GPUs as cards: "L40S-24Q", and "A100D-4-40C" on an instance of MIG.

A time-sliced virtual GPU has a part of the frame buffer for itself, and takes turns with others on
all multiprocessors. One on MIG is that instance (`gpusizer.gpus.mig`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import MIB
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.mig import mig_instance, part_of

_NAMED = re.compile(
    r"(?:(?:nvidia|grid)[ -]+)*(?P<card>\S.*?)(?:-(?P<slices>[1-7]))?-(?P<gb>\d{1,3})(?P<use>[qc])",
    re.IGNORECASE,
)
_MOST_CHARS = 40
_MIB_IN_GB = 1024


@dataclass(frozen=True, slots=True)
class VgpuType:
    """A virtual GPU by its name.

    Attributes:
        name: as NVIDIA writes it, such as "L40S-24Q".
        gpu: slug of the physical card.
        gb: the number in the name.
        slices: those of its MIG instance, None for time slices.
        mib: frame buffer in MiB; None where the card has no such type.
        sizes: numbers that types of the card have.
    """

    name: str
    gpu: str
    gb: int
    slices: int | None
    mib: int | None
    sizes: tuple[int, ...]


def vgpu_named(text: str) -> VgpuType | None:
    """Return the type that a text names, None for anything else.

    >>> vgpu_named("NVIDIA A16-8Q").mib, vgpu_named("RTX 4090-24Q")
    (8192, None)
    """
    match = _NAMED.fullmatch(text.strip()) if len(text) <= _MOST_CHARS else None
    row = match and _types().get(_key(match["card"]))
    if not match or not row:
        return None
    gb, slices = int(match["gb"]), match["slices"]
    middle = f"-{slices}" if slices else ""
    name = f"{row.name}{middle}-{gb}{match['use'].upper()}"
    sizes = tuple(row.mib_by_gb)
    return VgpuType(
        name, row.gpu, gb, int(slices) if slices else None, row.mib_by_gb.get(gb), sizes
    )


def vgpu_card(kind: VgpuType, gpu: Gpu) -> Gpu:
    """Return the virtual GPU of a physical card as a card of its own.

    Raises InvalidRequest for a type that the card does not have.
    """
    slug = kind.name.lower().replace(" ", "-")
    if kind.slices:
        instance = mig_instance(gpu, f"{kind.slices}g.{kind.gb}gb")
        return replace(instance, slug=slug, name=f"{gpu.name} vGPU {kind.name}")
    if kind.mib is None:
        names = ", ".join(f"{size} GB" for size in kind.sizes)
        raise InvalidRequest(
            field="gpu", value=kind.name, reason="no_vgpu_type", gpu=gpu.name, names=names
        )
    memory = (kind.mib - _reserved_mib(kind.mib, gpu)) * MIB
    about = Note(
        "vgpu_slice",
        gpu=gpu.name,
        profile=kind.name,
        memory_bytes=memory,
        buffer_bytes=kind.mib * MIB,
    )
    return part_of(
        gpu,
        slug=slug,
        name=f"{gpu.name} vGPU {kind.name}",
        memory_bytes=memory,
        marketing_gb=float(kind.gb),
        units=1 / gpu.devices_per_board,
        bandwidth=1 / gpu.devices_per_board,
        about=about,
    )


def _reserved_mib(mib: int, gpu: Gpu) -> int:
    # NVIDIA AI Enterprise's user guide, "vGPUs and Reserved Frame Buffer": a sixteenth of the type
    # and 16 MB, and a sixteenth more for ECC of memory other than HBM; page retirement and
    # compression take some MB on top.
    return mib // 16 + 16 + (0 if gpu.memory_type.startswith("HBM") else mib // 16)


@dataclass(frozen=True, slots=True)
class _Types:
    name: str
    gpu: str
    mib_by_gb: Mapping[int, int]


@cache
def _types() -> Mapping[str, _Types]:
    return {_key(row.name): row for row in read_table(DATA_DIR / "vgpu_types.csv", _row)}


def _row(row: TableRow) -> _Types:
    buffers = [int(mib) for mib in row.text("frame_buffers_mib").split(";")]
    return _Types(row.text("type"), row.text("gpu"), {round(n / _MIB_IN_GB): n for n in buffers})


def _key(card: str) -> str:
    return re.sub(r"[ -]+", "", card).casefold()
