"""Classifies what a GPU is good for by comparing figures of its data sheet with thresholds.

No card is labelled by hand. Training multiplies large matrices, so it needs dense 16-bit
throughput, memory for 16 bytes a parameter, and a fabric once it takes several boards.
Generating reads all weights for every token, so it needs memory and bandwidth. The thresholds are
set between cards that buying guides and users put on either side.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.gpus import Gpu

_INCLUDED = {"training.workstation": "training.one_board"}
"""Levels that take all of another as well."""
TRAINING_LEVELS = ("several_boards", "workstation", "one_board", "none")
INFERENCE_LEVELS = ("large", "general", "light", "none")


@dataclass(frozen=True, slots=True)
class Criterion:
    """One figure against its threshold.

    Attributes:
        name: code of the figure; its reason is `note.purpose_<name>` in the texts.
        level: which level it decides, as "training.several_boards".
        value: in `unit`, None when the data sheet does not say.
        needs: the least that counts.
        met: None when the figure is unknown.
    """

    name: str
    level: str
    value: float | None
    needs: float
    unit: str

    @property
    def met(self) -> bool | None:
        return None if self.value is None else self.value >= self.needs


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a GPU is good for, and the criteria that say so.

    Attributes:
        label: "training", "inference", "light_inference", "neither", or "unknown" where a
            missing figure decides.
        training: "several_boards" (large models over a fast fabric), "workstation" (small and
            mid-size models on a bridged pair), "one_board" (fine-tuning on one board) or "none";
            None when unknown.
        inference: "large" (very large models or many users), "general", "light" (small models
            or one user) or "none"; None when unknown.
    """

    label: str
    training: str | None
    inference: str | None
    criteria: tuple[Criterion, ...]

    def notes(self) -> tuple[Note, ...]:
        """What it is good for, then what it lacks for more, as notes with sentences."""
        notes = [Note(f"purpose_{self.label}")]
        if self.label != "training" and self.training not in (None, "none"):
            notes.append(Note(f"purpose_also_{self.training}"))
        if self.label == "training" and self.inference == "large":
            notes.append(Note("purpose_also_large_inference"))
        notes += [
            Note("purpose_efficient", value=criterion.value)
            for criterion in self.criteria
            if criterion.level == "efficiency" and criterion.value is not None and criterion.met
        ]
        return (*notes, *(_lack(criterion) for criterion in self._missing()))

    def _missing(self) -> list[Criterion]:
        """Criteria not met that keep it from large training, or from any use at all."""
        wanted = "inference.light" if self.label == "neither" else "training.several_boards"
        return [
            criterion
            for criterion in self.criteria
            if criterion.level == wanted and not criterion.met
        ]


def purpose_of(gpu: Gpu) -> Purpose:
    """Classify one GPU."""
    criteria = _criteria(gpu)
    training = _highest(criteria, "training", TRAINING_LEVELS)
    inference = _highest(criteria, "inference", INFERENCE_LEVELS)
    return Purpose(_label(training, inference), training, inference, criteria)


def training_flops(gpu: Gpu) -> float | None:
    """Dense 16-bit matrix operations per second with FP32 accumulation; 0 without matrix units.

    None when there may be a rate that nobody published.
    """
    rate = max((r for r in (gpu.fp16_tensor_flops, gpu.bf16_flops) if r is not None), default=None)
    if rate is not None:
        return rate
    return None if gpu.bf16_support else 0.0


def _label(training: str | None, inference: str | None) -> str:
    if training == "several_boards":
        return "training"
    if inference is None:
        return "unknown"
    return {"none": "neither", "light": "light_inference"}.get(inference, "inference")


def _highest(criteria: tuple[Criterion, ...], use: str, levels: tuple[str, ...]) -> str | None:
    """The first level whose criteria are all met; None if an unknown figure could raise it."""
    doubt = False
    for level in levels:
        taken = (f"{use}.{level}", _INCLUDED.get(f"{use}.{level}"))
        met = [criterion.met for criterion in criteria if criterion.level in taken]
        if all(met):
            return None if doubt else level
        doubt = doubt or False not in met
    return None


def _criteria(gpu: Gpu) -> tuple[Criterion, ...]:
    matrix = _tera(training_flops(gpu))
    memory = gpu.device_memory_bytes / GIB
    bandwidth, link = _giga(gpu.bandwidth_bytes_per_second), _link(gpu)
    bf16 = float(gpu.bf16_support)
    attention = {"yes": 1.0, "partial": 1.0, "no": 0.0}.get(gpu.flash_attention_2)
    table: tuple[tuple[str, str, float | None, float, str], ...] = (
        # V100 (125 TFLOPS, 300 GB/s, 16 GB) is the least that guides still train on; bridges of
        # two boards carry 112 GB/s. H20 reads fast and computes little: 37 operations a byte.
        ("training.several_boards", "matrix_rate", matrix, 100, "TFLOPS"),
        ("training.several_boards", "compute_per_byte", _intensity(gpu), 100, "FLOP/byte"),
        ("training.several_boards", "fabric", link, 200, "GB/s"),
        ("training.several_boards", "memory", memory, 15, "GiB"),
        # RTX A6000, RTX 3090: what training on one board takes, and a bridge to a second.
        ("training.workstation", "fabric", link, 100, "GB/s"),
        # LoRA and small full fine-tunes: "at least 24 GB for transformers" (T. Dettmers).
        ("training.one_board", "matrix_rate", matrix, 60, "TFLOPS"),
        ("training.one_board", "bf16", bf16, 1, ""),
        ("training.one_board", "attention", attention, 1, ""),
        ("training.one_board", "memory", memory, 22, "GiB"),
        ("training.one_board", "bandwidth", bandwidth, 500, "GB/s"),
        # A 70B in 8 bits, or the cache of many users.
        ("inference.large", "matrix_rate", matrix, 100, "TFLOPS"),
        ("inference.large", "memory", memory, 75, "GiB"),
        ("inference.large", "bandwidth", bandwidth, 1500, "GB/s"),
        # A 30B in 4 bits, faster than one reads: 20 GB at 500 GB/s are 15 to 20 tokens/s.
        ("inference.general", "fast_16_bit", _fast_16_bit(gpu), 1, ""),
        ("inference.general", "memory", memory, 22, "GiB"),
        ("inference.general", "bandwidth", bandwidth, 500, "GB/s"),
        # An 8B in 4 bits: 5 GB of weights and 1 of cache.
        ("inference.light", "fast_16_bit", _fast_16_bit(gpu), 1, ""),
        ("inference.light", "memory", memory, 7, "GiB"),
        ("inference.light", "bandwidth", bandwidth, 60, "GB/s"),
        # L4, L40S and H100 stand above it; RTX A4000 (0.5) and RTX 4090 (0.4) below.
        ("efficiency", "efficiency", _efficiency(gpu), 1, "TFLOPS/W"),
    )
    return tuple(
        Criterion(name, level, None if value is None else round(value, 2), needs, unit)
        for level, name, value, needs, unit in table
    )


def _link(gpu: Gpu) -> float | None:
    """GB/s to other boards over a fabric of their own, both directions; 0 for PCIe alone."""
    if gpu.interconnect and gpu.interconnect_bytes_per_second is None:
        return None
    return (gpu.interconnect_bytes_per_second or 0.0) / GB


def _intensity(gpu: Gpu) -> float | None:
    """Matrix operations for each byte read: what training needs and decoding does not."""
    rate, bandwidth = training_flops(gpu), gpu.bandwidth_bytes_per_second
    return None if rate is None or not bandwidth else rate / bandwidth


def _efficiency(gpu: Gpu) -> float | None:
    """Dense 16-bit TFLOPS for each watt of rated power."""
    rate = training_flops(gpu)
    return None if rate is None or not gpu.power_watts else rate / TERA / gpu.power_watts


def _fast_16_bit(gpu: Gpu) -> float:
    """Matrix units for 16-bit numbers, or native BF16: GP102 runs FP16 at 1/64 of FP32."""
    return float(gpu.fp16_tensor_flops is not None or gpu.bf16_support)


def _lack(criterion: Criterion) -> Note:
    if criterion.value is None:
        return Note(f"purpose_unknown_{criterion.name}")
    return Note(f"purpose_lacks_{criterion.name}", value=criterion.value, needs=criterion.needs)


def _tera(value: float | None) -> float | None:
    return None if value is None else value / TERA


def _giga(value: float | None) -> float | None:
    return None if value is None else value / GB
