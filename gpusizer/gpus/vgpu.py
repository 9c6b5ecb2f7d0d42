"""NVIDIA's virtual GPUs as cards: "L40S-24Q", and "A100D-4-40C" on an instance of MIG.

A time-sliced virtual GPU has a part of the frame buffer for itself, and takes turns with others on
all multiprocessors. One on MIG is that instance (`gpusizer.gpus.mig`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import MIB
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.mig import mig_instance, part_of, profiles_of

# "A100D-1-10CME" is an instance of MIG with the card's media engines.
_NAMED = re.compile(
    r"(?:(?:nvidia|grid|tesla)[ -]+)*(?P<card>\S.*?)(?:-(?P<slices>[1-7]))?"
    r"-(?P<gb>\d{1,2}|1\d\d)(?P<use>[qc](?:me)?)",
    re.IGNORECASE,
)
_MOST_CHARS = 40
_MIB_IN_GB = 1024
_NEAR_CARDS = 3


@dataclass(frozen=True, slots=True)
class VgpuType:
    """A virtual GPU by its name.

    Attributes:
        name: as NVIDIA writes it, such as "L40S-24Q".
        gpu: slug of the physical card.
        gb: the number in the name.
        slices: those of its MIG instance, None for time slices.
        mib: frame buffer in MiB; None where the table has no such type.
        sizes: numbers of the card's types in the table.
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
    match = _match(text)
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


def named_vgpu_gb(text: str) -> int | None:
    """Return the GB in the name of a virtual GPU of any card, None for other names."""
    match = _match(text)
    return None if match is None else int(match["gb"])


def refuse_unlisted(text: str) -> None:
    """Raise InvalidRequest for the name of a virtual GPU of a card that the table lacks."""
    match = _match(text)
    if match is None or _key(match["card"]) in _types():
        return
    alike = get_close_matches(_key(match["card"]), _types(), _NEAR_CARDS, 0.0)
    near = [f"{row.name} ({_sizes(row.mib_by_gb)})" for row in map(_types().__getitem__, alike)]
    raise InvalidRequest(
        field="gpu",
        value=text.strip(),
        reason="no_vgpu_card",
        gpu=match["card"],
        names=", ".join(near),
    )


def is_type(kind: VgpuType, gpu: Gpu) -> bool:
    """Return whether the table has the type for the physical card."""
    return _profile(kind) in profiles_of(gpu) if kind.slices else kind.mib is not None


def vgpu_card(kind: VgpuType, gpu: Gpu) -> Gpu:
    """Return the virtual GPU of a physical card as a card of its own.

    Raises InvalidRequest for a type that the table does not have.
    """
    slug = kind.name.lower().replace(" ", "-")
    if kind.slices:
        instance = mig_instance(gpu, _profile(kind))
        return replace(instance, slug=slug, name=f"{gpu.name} vGPU {kind.name}")
    if kind.mib is None:
        names = _sizes(kind.sizes)
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


def _match(text: str) -> re.Match[str] | None:
    match = _NAMED.fullmatch(text.strip()) if len(text) <= _MOST_CHARS else None
    has_media_engines = match is not None and match["use"].casefold().endswith("me")
    return None if match is None or (has_media_engines and not match["slices"]) else match


def _profile(kind: VgpuType) -> str:
    return f"{kind.slices}g.{kind.gb}gb"


def _sizes(sizes: Iterable[int]) -> str:
    return ", ".join(map(str, sizes)) + " GB"


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
