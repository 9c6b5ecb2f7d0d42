"""Classifies the use of a GPU by comparing figures of its data sheet with thresholds.

No card is labelled by hand. Training multiplies large matrices, so it needs dense 16-bit
throughput, memory for 16 bytes a parameter, and a fabric between several boards. Generating reads
all weights for every token, so it needs memory and bandwidth. Each threshold lies between cards
that buying guides and users put on either side.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.tables import toml_of
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.gpus import Gpu

_TABLES = toml_of(__file__)

# levels that include the criteria of another
_INCLUDED = {"training.workstation": "training.one_board"}
TRAINING_LEVELS = ("several_boards", "workstation", "one_board", "none")
INFERENCE_LEVELS = ("large", "general", "light", "none")


@dataclass(frozen=True, slots=True)
class Criterion:
    """One figure against its threshold."""

    name: str  # code of the figure; its reason is `note.purpose_<name>` in the texts
    level: str  # level that it decides, as "training.several_boards"
    value: float | None  # in `unit`, None if the data sheet lacks it
    needs: float  # least value that counts
    unit: str

    @property
    def met(self) -> bool | None:
        return None if self.value is None else self.value >= self.needs


@dataclass(frozen=True, slots=True)
class Purpose:
    """Uses of a GPU, and the criteria behind them."""

    # "training", "inference", "light_inference", "neither", or "unknown" if a missing figure
    # decides
    label: str
    # "several_boards" (large models over a fast fabric), "workstation" (small and mid-size models
    # on a bridged pair), "one_board" (fine-tuning on one board) or "none"; None if unknown
    training: str | None
    # "large" (very large models or many users), "general", "light" (small models or one user) or
    # "none"; None if unknown
    inference: str | None
    criteria: tuple[Criterion, ...]

    def notes(self) -> tuple[Note, ...]:
        """Return notes on its uses, then on what it lacks for more."""
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
        # Unmet criteria that keep it from large training, or from any use at all.
        wanted = "inference.light" if self.label == "neither" else "training.several_boards"
        return [
            criterion
            for criterion in self.criteria
            if criterion.level == wanted and not criterion.met
        ]


def purpose_of(gpu: Gpu) -> Purpose:
    """Return the uses of one GPU."""
    criteria = _criteria(gpu)
    training = _highest(criteria, "training", TRAINING_LEVELS)
    inference = _highest(criteria, "inference", INFERENCE_LEVELS)
    return Purpose(_label(training, inference), training, inference, criteria)


def training_flops(gpu: Gpu) -> float | None:
    """Return dense 16-bit matrix operations per second with FP32 accumulation.

    0 without matrix units, None if there may be an unpublished rate.
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
    # An unknown figure that could raise the level makes it None.
    doubt = False
    for level in levels:
        taken = (f"{use}.{level}", _INCLUDED.get(f"{use}.{level}"))
        met = [criterion.met for criterion in criteria if criterion.level in taken]
        if all(met):
            return None if doubt else level
        doubt = doubt or False not in met
    return None


def _criteria(gpu: Gpu) -> tuple[Criterion, ...]:
    figures = _figures(gpu)
    return tuple(
        Criterion(name, level, figures[name], needs, _TABLES["units"].get(name, ""))
        for level, name, needs in _TABLES["criteria"]
    )


def _figures(gpu: Gpu) -> dict[str, float | None]:
    # In the units of the table; None if unpublished. A fabric is 0 for PCIe alone. Fast at 16 bits
    # means matrix units or native BF16: GP102 runs FP16 at 1/64 of FP32.
    rate, bandwidth, link = (
        training_flops(gpu),
        gpu.bandwidth_bytes_per_second,
        gpu.interconnect_bytes_per_second if gpu.interconnect else 0.0,
    )
    figures = {
        "matrix_rate": None if rate is None else rate / TERA,
        "compute_per_byte": None if rate is None or not bandwidth else rate / bandwidth,
        "fabric": None if link is None else link / GB,
        "memory": gpu.device_memory_bytes / GIB,
        "bandwidth": None if bandwidth is None else bandwidth / GB,
        "bf16": float(gpu.bf16_support),
        "attention": {"yes": 1.0, "partial": 1.0, "no": 0.0}.get(gpu.flash_attention_2),
        "fast_16_bit": float(gpu.fp16_tensor_flops is not None or gpu.bf16_support),
        "efficiency": (
            None if rate is None or not gpu.power_watts else rate / TERA / gpu.power_watts
        ),
    }
    return {name: None if value is None else round(value, 2) for name, value in figures.items()}


def _lack(criterion: Criterion) -> Note:
    if criterion.value is None:
        return Note(f"purpose_unknown_{criterion.name}")
    return Note(f"purpose_lacks_{criterion.name}", value=criterion.value, needs=criterion.needs)
