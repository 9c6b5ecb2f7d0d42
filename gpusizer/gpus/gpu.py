"""Gpu: what is known about one board, module or system-on-chip. Unknown is None, never zero."""

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
    """GPUs of one class run the same engines and quantizations."""

    software: str
    vendor: str
    compute_capability: str
    fp8_support: bool
    fp4_support: bool
    int8_support: bool
    flash_attention_2: str

    @property
    def cuda(self) -> float | None:
        """CUDA compute capability, None for other vendors."""
        if self.vendor != "NVIDIA":
            return None
        try:
            return float(self.compute_capability)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars (per hour when `basis` is "rent"), with where and when they were seen.

    Attributes:
        basis: "street" (of today's market, new or used), "launch" (vendor's first price),
            "rent", "similar" (nobody's price of this board: the median of similar ones), "own" (the
            reader's).
        date: ISO date, month or bare year, as precise as the source; None for launch prices,
            which belong to `Gpu.release_year`, and for the reader's own.
        condition: "used" includes refurbished boards; "system" is a whole computer, new.
        low_usd, high_usd: least and highest of the figures that `usd` stands on.
        providers: whose figures these are; slugs of the similar boards where `basis` says so.
        addresses: where the figures are published.
    """

    usd: float
    basis: PriceBasis
    source: str
    date: str | None
    condition: Condition | None = None
    low_usd: float | None = None
    high_usd: float | None = None
    providers: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gpu:
    """One row of `data/gpus.csv`. Amounts and rates are totals of the board.

    Every rate is dense (no 2:4 sparsity) and, for floating point, accumulates in FP32; the
    FP16-accumulate rate of GeForce cards is apart. Sources are named in `sources` and
    explained in `data/SOURCES.md`.

    Attributes:
        memory_bytes: what the driver reports, or an estimate of it; see `memory_basis`.
        memory_marketing_gb: the number on the box, in whichever unit the vendor meant.
        memory_basis: "observed" on this product, derived by a "rule" from observed relatives,
            "nominal": a deliberately low reading of the label, or "stated" by whoever asks.
        memory_note: the evidence or the rule, in words.
        torch_memory_bytes: what `torch.cuda.mem_get_info()` calls the total, which lacks what the
            driver keeps for itself; None where it is `memory_bytes`. Its basis and note likewise.
        int8_ops: 8-bit integer operations per second; on Pascal the dp4a rate.
        pcie_bytes_per_second: nominal, both directions together.
        interconnect: name of the fabric between boards other than PCIe, "" for none.
        interconnect_bytes_per_second: everything one board can exchange, both directions.
        interconnect_domain: most boards that one fabric joins; None when there is none or
            its size is not known.
        devices_per_board: devices the software sees; they do not share memory.
        unified_memory: the CPU uses the same memory (or, on superchips, reaches it coherently).
        street: today's price, None where none is known.
        price_is_doubted: all figures behind `street` are contradicted or doubted. Orders by cost
            put it last, and no recommendation goes by it.
        similar: what similar boards cost where nothing is known of this one. It is shown, but
            no order, sum or limit goes by it.
        free_bytes: what other programs leave of one device, in bytes, as whoever asks states it;
            None where nobody did.
        statements: what was stated about this card, and what is assumed or unknown for it.
    """

    slug: str
    name: str
    vendor: str
    segment: str
    architecture: str
    compute_capability: str
    release_year: int
    memory_bytes: int
    memory_marketing_gb: float
    memory_basis: MemoryBasis
    memory_note: str
    torch_memory_bytes: int | None
    torch_memory_basis: MemoryBasis | None
    torch_memory_note: str
    memory_type: str
    bandwidth_bytes_per_second: float | None
    bus_width_bits: int | None
    ecc: str
    unified_memory: bool
    devices_per_board: int
    fp32_flops: float | None
    fp16_vector_flops: float | None
    fp16_tensor_flops: float | None
    fp16_tensor_fp16acc_flops: float | None
    bf16_flops: float | None
    tf32_flops: float | None
    int8_ops: float | None
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
    pcie_bytes_per_second: float | None
    nvlink: bool
    nvlink_generation: int | None
    nvlink_bytes_per_second: float | None
    interconnect: str
    interconnect_bytes_per_second: float | None
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
    street: Price | None = None
    price_is_doubted: bool = False
    similar: Price | None = None
    free_bytes: int | None = None
    statements: tuple[Note, ...] = ()

    def __hash__(self) -> int:
        """By the slug alone: what is remembered of cards is asked for thousands of times."""
        return hash(self.slug)

    @property
    def is_for_servers(self) -> bool:
        """Whether it is sold for data centers, where boards are rented by the number."""
        return self.segment == "datacenter"

    @property
    def is_integrated(self) -> bool:
        """Whether it is part of a system on a chip, whose memory is the system's."""
        return self.segment in _INTEGRATED

    @cached_property
    def kernel_class(self) -> KernelClass:
        """Its class by what kernels ask of it, which is NVIDIA's compute capability alone."""
        return KernelClass(
            self.software,
            self.vendor,
            self.compute_capability if self.vendor == "NVIDIA" else "",
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
        """Memory of one device in bytes that a model may use: all of it unless somebody said how
        much is free."""
        total = self.device_memory_bytes
        return total if self.free_bytes is None else min(total, self.free_bytes)

    @property
    def device_torch_memory_bytes(self) -> int:
        """Memory of one device in bytes as PyTorch counts it."""
        return (self.torch_memory_bytes or self.memory_bytes) // self.devices_per_board

    @cached_property
    def fp16_flops(self) -> float | None:
        """Fastest dense 16-bit matrix rate with FP32 accumulation; None when none is known.

        Parts without matrix units, and those whose matrix rate is unpublished, run at the
        better of their vector FP16 and FP32 rates (GP102 does FP16 at 1/64 of FP32).
        """
        matrix = [rate for rate in (self.fp16_tensor_flops, self.bf16_flops) if rate is not None]
        vector = [rate for rate in (self.fp16_vector_flops, self.fp32_flops) if rate is not None]
        return max(matrix or vector, default=None)

    @property
    def buy(self) -> Price | None:
        """The street price where one is known, else the launch price; `basis` says which."""
        return self.street or self.launch

    @property
    def buy_usd(self) -> float | None:
        return None if self.buy is None else self.buy.usd

    def fabric_joins(self, boards: int) -> bool:
        """Whether `boards` boards are all joined by NVLink or a similar fabric."""
        return bool(self.interconnect) and boards <= (self.interconnect_domain or boards)
