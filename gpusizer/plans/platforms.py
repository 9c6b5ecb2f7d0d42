"""Machines that GPUs come in: `data/platforms.csv`, and what they say about several boards."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from gpusizer.gpus import Gpu
from gpusizer.paths import DATA_DIR
from gpusizer.units import GB

LinkKind = Literal["none", "fabric", "pcie", "network"]
"""What joins boards: nothing, a fabric of their own (NVLink, xGMI, …), the PCIe bus, a network."""

SERVER_BOARDS = 8
"""Boards that one server holds where no platform of the table says otherwise."""

_KINDS = ("server", "workstation", "desktop", "baseboard", "rack", "cloud")
_CONFIDENCE = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Platform:
    """One row of `data/platforms.csv`.

    Attributes:
        gpu: slug of the GPU it is built with.
        boards: boards in one node, None where the source does not say.
        bytes_per_second: of the interconnect, per board, both directions; None when unknown.
        domain: boards that the interconnect joins, which in a rack are more than a node's.
    """

    name: str
    kind: str
    gpu: str
    boards: int | None
    interconnect: str
    bytes_per_second: int | None
    domain: int | None
    notes: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Link:
    """What the boards of a setup talk over; `bytes_per_second` per board, both directions."""

    kind: LinkKind
    name: str
    bytes_per_second: int | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Setup:
    """Where so many boards of one kind are.

    Attributes:
        platform: name of the machine, None for any that has the slots.
        nodes: how many of it.
        per_node: boards in each, the last one perhaps fewer.
        link: the slowest that all of them share.
    """

    platform: str | None
    nodes: int
    per_node: int
    link: Link


@cache
def platforms() -> tuple[Platform, ...]:
    """Every row of the table."""
    with (DATA_DIR / "platforms.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_platform(row) for row in csv.DictReader(file))


def _platform(row: dict[str, str]) -> Platform:
    if row["kind"] not in _KINDS or row["confidence"] not in _CONFIDENCE:
        raise ValueError(f"platforms.csv: {row['name']}: kind or confidence is not known")
    return Platform(
        name=row["name"],
        kind=row["kind"],
        gpu=row["gpu_id"],
        boards=int(row["gpus_per_node"]) if row["gpus_per_node"] else None,
        interconnect=row["interconnect"],
        bytes_per_second=round(float(row["gbs_per_gpu"]) * GB) if row["gbs_per_gpu"] else None,
        domain=int(row["gpus_in_fast_domain"]) if row["gpus_in_fast_domain"] else None,
        notes=row["notes"],
        source=row["source"],
        confidence=row["confidence"],
    )


@cache
def _of(slug: str, form_factor: str) -> tuple[Platform, ...]:
    """Machines of a GPU with a known size, best known first. Boards for PCIe slots go into any
    machine that has them, so that rented ones do not stand for it."""
    known = [one for one in platforms() if one.gpu == slug and one.boards]
    owned = [one for one in known if one.kind != "cloud"]
    chosen = owned or ([] if form_factor.startswith("PCIe") else known)
    return tuple(
        sorted(chosen, key=lambda p: (_KINDS.index(p.kind), _CONFIDENCE.index(p.confidence)))
    )


@cache
def setup_of(gpu: Gpu, boards: int) -> Setup:
    """The smallest known machine that holds so many boards, else several of the largest."""
    if boards == 1:
        return Setup(None, 1, 1, Link("none", "", None))
    known = _of(gpu.slug, gpu.form_factor)
    roomy = [one for one in known if (one.boards or 0) >= boards]
    if roomy:
        return _housed(gpu, boards, min(roomy, key=lambda one: one.boards or 0))
    racks = [one for one in known if (one.domain or 0) >= boards]
    if racks:
        return _housed(gpu, boards, racks[0])
    if known:
        largest = max(known, key=lambda one: (one.boards or 0, one.domain or 0))
        return _housed(gpu, boards, largest)
    per_node = _slots(gpu, boards)
    nodes = -(-boards // per_node)
    if nodes > 1:
        return Setup(None, nodes, per_node, _NETWORK)
    link = _own_fabric(gpu) if gpu.fabric_joins(boards) else _pcie(gpu)
    return Setup(None, nodes, per_node, link)


_NETWORK = Link("network", "", None)


def _housed(gpu: Gpu, boards: int, platform: Platform) -> Setup:
    per_node = min(boards, platform.boards or 1)
    nodes = -(-boards // per_node)
    fast = platform.domain or 1
    fabric = Link("fabric", platform.interconnect, platform.bytes_per_second)
    if platform.interconnect.startswith("PCIe") or platform.interconnect == "none":
        fabric, fast = _pcie(gpu), 1
    inside = fabric if per_node <= fast or fabric.kind == "pcie" else _pcie(gpu)
    across = fabric if boards <= fast else _NETWORK
    link = inside if nodes == 1 else across
    return Setup(platform.name, nodes, per_node, link)


def _own_fabric(gpu: Gpu) -> Link:
    """The fabric that the boards bring along, such as an NVLink bridge."""
    return Link("fabric", gpu.interconnect, _whole(gpu.interconnect_bytes_per_second))


def _pcie(gpu: Gpu) -> Link:
    name = "PCIe" if gpu.pcie_generation is None else f"PCIe {gpu.pcie_generation}.0"
    return Link("pcie", name, _whole(gpu.pcie_bytes_per_second))


def _slots(gpu: Gpu, boards: int) -> int:
    """Boards of one machine that no row of the table describes."""
    if gpu.segment in ("apple", "soc", "embedded") or gpu.form_factor == "laptop":
        return 1
    return min(boards, SERVER_BOARDS)


def _whole(rate: float | None) -> int | None:
    return None if rate is None else int(rate)
