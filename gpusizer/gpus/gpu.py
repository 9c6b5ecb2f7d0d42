"""Facts about one board, module or system-on-chip. Unknown values are None, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from gpusizer.core.messages import Note

MemoryBasis = Literal["observed", "rule", "nominal", "stated"]
PriceBasis = Literal["street", "launch", "rent", "similar", "own"]
Condition = Literal["new", "used", "system"]
Support = Literal["yes", "partial", "no", "unknown"]
Status = Literal["current", "eol", "export-only", "modified", "announced"]
Confidence = Literal["high", "medium", "low"]

_INTEGRATED = frozenset({"apple", "soc", "embedded"})


class KernelClass(NamedTuple):
    """Properties that decide which engines and quantizations a GPU runs."""

    software: str
    vendor: str
    compute_capability: str
    fp8_support: bool
    fp4_support: bool
    int8_support: bool
    flash_attention_2: str

    @property
    def cuda(self) -> float | None:
        """CUDA compute capability, or None for other vendors."""
        if self.vendor != "NVIDIA":
            return None
        try:
            return float(self.compute_capability)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Price:
    """Price in US dollars (per hour if `basis` is "rent"), with source and date.

    `basis` "similar" is the median of similar boards, as this one has none. `date` is as precise as
    the source. `low_usd` and `high_usd` are the ends of the figures behind `usd`, `providers` their
    sources and `addresses` their publications.
    """

    usd: float
    # "street" (today's market, new or used), "launch" (the vendor's first price), "rent", "similar"
    # (median of similar boards, as this one has no price), "own" (the user's)
    basis: PriceBasis
    source: str
    # ISO date, month or year, as precise as the source; None for the user's price, and for launch
    # prices, which have `Gpu.release_year`
    date: str | None
    # "used" includes refurbished boards; "system" is a whole computer, new
    condition: Condition | None = None
    low_usd: float | None = None
    high_usd: float | None = None
    providers: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gpu:
    """One row of `data/gpus.csv`. Amounts and rates are totals of the board.

    Rates are dense (no 2:4 sparsity) and, for floating point, accumulate in FP32; the
    FP16-accumulate rate of GeForce cards is a field of its own. `sources` names entries of
    `data/SOURCES.md`.
    """

    slug: str
    name: str
    vendor: str
    segment: str
    architecture: str
    compute_capability: str
    release_year: int
    memory_bytes: int  # reported by the driver, or an estimate of it; see `memory_basis`
    memory_marketing_gb: float  # number on the box, in the unit that the vendor meant
    # "observed" on this product, by a "rule" from observed relatives, "nominal" (a deliberately low
    # reading of the label), or "stated" by the user
    memory_basis: MemoryBasis
    memory_note: str  # evidence or rule, in words
    # Total of `torch.cuda.mem_get_info()`, which lacks the driver's own part; None if equal to
    # `memory_bytes`. Basis and note as above.
    torch_memory_bytes: int | None
    torch_memory_basis: MemoryBasis | None
    torch_memory_note: str
    memory_type: str
    bandwidth_bytes_per_second: float | None
    bus_width_bits: int | None
    ecc: str
    unified_memory: bool  # the CPU uses the same memory (or, on superchips, reaches it coherently)
    devices_per_board: int  # devices that software sees; they do not share memory
    fp32_flops: float | None
    fp16_vector_flops: float | None
    fp16_tensor_flops: float | None
    fp16_tensor_fp16acc_flops: float | None
    bf16_flops: float | None
    tf32_flops: float | None
    int8_ops: float | None  # 8-bit integer operations per second; on Pascal the dp4a rate
    fp8_flops: float | None
    fp4_flops: float | None
    shader_cores: int | None
    tensor_cores: int | None
    compute_units: int | None
    boost_mhz: float | None
    power_watts: float | None
    form_factor: str
    slots: float | None
    pcie_generation: int | None
    pcie_lanes: int | None
    pcie_bytes_per_second: float | None  # nominal, both directions together
    nvlink: bool
    nvlink_generation: int | None
    nvlink_bytes_per_second: float | None
    interconnect: str  # name of the fabric between boards other than PCIe, or ""
    interconnect_bytes_per_second: float | None  # all that one board can exchange, both directions
    # most boards that one fabric joins; None without a fabric or if unknown
    interconnect_domain: int | None
    multi_gpu_note: str
    bf16_support: bool
    fp8_support: bool
    fp4_support: bool
    int8_support: bool
    flash_attention_2: Support
    software: str
    status: Status
    confidence: Confidence
    launch: Price | None
    launch_note: str
    rent: Price | None
    sources: str
    notes: str
    aliases: tuple[str, ...] = ()
    street: Price | None = None  # today's price, or None if unknown
    # All figures behind `street` are contradicted or doubted. Rankings by cost put it last, and no
    # recommendation uses it.
    price_is_doubted: bool = False
    # Price of similar boards, if this one has none. It is shown; no ranking, sum or limit uses it.
    similar: Price | None = None
    # bytes of one device that other programs leave, if the user stated them
    free_bytes: int | None = None
    # statements about this card, and what is assumed or unknown for it
    statements: tuple[Note, ...] = ()

    def __hash__(self) -> int:
        """Hash the slug alone: caches look up cards thousands of times."""
        return hash(self.slug)

    @property
    def is_for_servers(self) -> bool:
        """Whether it is sold for data centers, where boards are rented by number."""
        return self.segment == "datacenter"

    @property
    def is_integrated(self) -> bool:
        """Whether it is part of a system on a chip and uses the system's memory."""
        return self.segment in _INTEGRATED

    @cached_property
    def kernel_class(self) -> KernelClass:
        """Properties that kernels depend on; compute capabilities of NVIDIA, targets of AMD."""
        return KernelClass(
            self.software,
            self.vendor,
            self.compute_capability if self.vendor in ("NVIDIA", "AMD") else "",
            self.fp8_support,
            self.fp4_support,
            self.int8_support,
            self.flash_attention_2,
        )

    @cached_property
    def device_memory_bytes(self) -> int:
        """Memory of one device in bytes. Two dies on one board do not share theirs."""
        return self.memory_bytes // self.devices_per_board

    @property
    def device_free_bytes(self) -> int:
        """Usable memory of one device in bytes: all of it unless `free_bytes` is set."""
        total = self.device_memory_bytes
        return total if self.free_bytes is None else min(total, self.free_bytes)

    @property
    def device_torch_memory_bytes(self) -> int:
        """Memory of one device in bytes as PyTorch counts it."""
        return (self.torch_memory_bytes or self.memory_bytes) // self.devices_per_board

    @cached_property
    def fp16_flops(self) -> float | None:
        """Fastest dense 16-bit matrix rate with FP32 accumulation, or None if unknown.

        Parts without matrix units, or without a published matrix rate, run at the better of their
        vector FP16 and FP32 rates (GP102 does FP16 at 1/64 of FP32).
        """
        matrix = [rate for rate in (self.fp16_tensor_flops, self.bf16_flops) if rate is not None]
        vector = [rate for rate in (self.fp16_vector_flops, self.fp32_flops) if rate is not None]
        return max(matrix or vector, default=None)

    @property
    def buy(self) -> Price | None:
        """Street price, or the launch price without one; `basis` tells which."""
        return self.street or self.launch

    @property
    def buy_usd(self) -> float | None:
        return None if self.buy is None else self.buy.usd

    def fabric_joins(self, boards: int) -> bool:
        """Return whether NVLink or a similar fabric joins all of `boards` boards."""
        return bool(self.interconnect) and boards <= (self.interconnect_domain or boards)
