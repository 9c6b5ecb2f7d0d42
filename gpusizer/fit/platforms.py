"""Machines that GPUs are sold in (`data/platforms.csv`) and the links between their boards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GB
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.power import is_whole_computer

# Connection of boards: none, a fabric of their own (NVLink, xGMI, …), the PCIe bus, a network.
LinkKind = Literal["none", "fabric", "pcie", "network"]

# Boards of one server unless a platform of the table has another number: only racks and the DGX-2
# of 2018 take more.
SERVER_BOARDS = 8

_KINDS = ("server", "workstation", "desktop", "baseboard", "rack", "cloud")
_CONFIDENCE = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Platform:
    """One row of `data/platforms.csv`."""

    name: str
    kind: str
    gpu: str  # slug of the GPU it is built with
    boards: int | None  # boards in one node, None if unknown
    interconnect: str
    # of the interconnect, per board, both directions; None when unknown
    bytes_per_second: int | None
    domain: int | None  # boards that the interconnect joins; a rack joins more than one node
    notes: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class BoardLink:
    """Link between the boards of a setup; `bytes_per_second` is per board, both directions."""

    kind: LinkKind
    name: str
    bytes_per_second: int | None


@dataclass(frozen=True, slots=True)
class Setup:
    """Machines that hold some number of boards of one kind."""

    platform: str | None  # name of the machine, None for any with enough slots
    nodes: int  # number of machines
    per_node: int  # boards in each; the last one may hold fewer
    link: BoardLink  # the slowest link that all boards share


@cache
def platforms() -> tuple[Platform, ...]:
    """Return every row of the table."""
    return read_table(DATA_DIR / "platforms.csv", _platform)


def _platform(row: TableRow) -> Platform:
    gigabytes_per_second = row.optional("gbs_per_gpu", float)
    return row.record(
        Platform,
        kind=row.one_of("kind", _KINDS),
        gpu=row.text("gpu_id"),
        boards=row.optional("gpus_per_node", int),
        bytes_per_second=None if gigabytes_per_second is None else round(gigabytes_per_second * GB),
        domain=row.optional("gpus_in_fast_domain", int),
        confidence=row.one_of("confidence", _CONFIDENCE),
    )


@lru_cache(maxsize=1024)
def _of(slug: str, form_factor: str) -> tuple[Platform, ...]:
    # Machines of a GPU with a known number of boards, in order of kind and confidence. Cloud
    # machines count only if no other is known; never for PCIe boards, which fit any machine with
    # free slots.
    candidates = [platform for platform in platforms() if platform.gpu == slug and platform.boards]
    owned = [platform for platform in candidates if platform.kind != "cloud"]
    chosen = owned or ([] if form_factor.startswith("PCIe") else candidates)
    return tuple(
        sorted(chosen, key=lambda p: (_KINDS.index(p.kind), _CONFIDENCE.index(p.confidence)))
    )


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def setup_of(gpu: Gpu, boards: int) -> Setup:
    """Return the smallest known machine that holds `boards`, else several of the largest."""
    if boards == 1:
        return Setup(None, 1, 1, BoardLink("none", "", None))
    machines = _of(gpu.slug, gpu.form_factor)
    roomy = [platform for platform in machines if (platform.boards or 0) >= boards]
    if roomy:
        return _housed(gpu, boards, min(roomy, key=lambda platform: platform.boards or 0))
    racks = [platform for platform in machines if (platform.domain or 0) >= boards]
    if racks:
        return _housed(gpu, boards, racks[0])
    if machines:
        largest = max(machines, key=lambda platform: (platform.boards or 0, platform.domain or 0))
        return _housed(gpu, boards, largest)
    per_node = _slots(gpu, boards)
    nodes = -(-boards // per_node)
    if nodes > 1:
        return Setup(None, nodes, per_node, _NETWORK)
    link = _pcie(gpu)
    if gpu.fabric_joins(boards):  # an NVLink bridge and the like need no special machine
        link = BoardLink("fabric", gpu.interconnect, _whole(gpu.interconnect_bytes_per_second))
    return Setup(None, nodes, per_node, link)


_NETWORK = BoardLink("network", "", None)


def _housed(gpu: Gpu, boards: int, platform: Platform) -> Setup:
    per_node = min(boards, platform.boards or 1)
    nodes = -(-boards // per_node)
    fast = platform.domain or 1
    fabric = BoardLink("fabric", platform.interconnect, platform.bytes_per_second)
    if platform.interconnect.startswith("PCIe") or platform.interconnect == "none":
        fabric, fast = _pcie(gpu), 1
    inside = fabric if per_node <= fast or fabric.kind == "pcie" else _pcie(gpu)
    across = fabric if boards <= fast else _NETWORK
    link = inside if nodes == 1 else across
    return Setup(platform.name, nodes, per_node, link)


def _pcie(gpu: Gpu) -> BoardLink:
    name = "PCIe" if gpu.pcie_generation is None else f"PCIe {gpu.pcie_generation}.0"
    return BoardLink("pcie", name, _whole(gpu.pcie_bytes_per_second))


def _slots(gpu: Gpu, boards: int) -> int:
    # An assumption, as no row of the table describes such a machine.
    if is_whole_computer(gpu):
        return 1
    return min(boards, SERVER_BOARDS)


def _whole(rate: float | None) -> int | None:
    return None if rate is None else int(rate)
