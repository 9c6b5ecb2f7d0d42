"""Predictions for published training runs, by the code that answers users."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.measurements import Row
from bench.models import load_profile
from gpusizer.errors import UnknownGpu
from gpusizer.gpus import Catalogue, Gpu, load_catalogue
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.request import PLAN_FIELDS, plan_of
from gpusizer.units import GIB

METHODS = frozenset({"full", "lora", "qlora", "dora", "galore"})
"""Methods that a request can state; rows of others (prefix tuning, LISA, …) are left out."""

STATED = ("sequence_length", "micro_batch", "gpu_count", "precision")
"""Settings without which a run does not say what was measured."""

CONTRACT = frozenset(
    {
        "method", "optimizer", "precision", "sequence_length", "micro_batch",
        "gradient_checkpointing", "lora_rank", "lora_targets", "sharding", "offload",
        "fused_loss", "flash_attention", "gpu_count", "tensor_parallel", "pipeline_parallel",
    }
)  # fmt: skip
"""Fields of the public contract, without those that name a framework and its habits."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A run and what we say about it. Bytes of one GPU."""

    row: Row
    plan: TrainingPlan
    memory: TrainingMemory

    @property
    def measured(self) -> int:
        """The printed peak; 0 for runs that printed none."""
        value: int = self.row.get("measured", {}).get("peak_bytes", 0)
        return value

    @property
    def predicted(self) -> int:
        """What the run's own tool would show: tensors, the allocator's pool, or the device.

        Where a card is full, its cache has been given back.
        """
        likely, card = self._shown.likely, self.card_bytes
        if self.row["metric"] == "allocated" or card is None:
            return likely
        return max(likely - self.memory.reclaimable, min(likely, card))

    @property
    def inside(self) -> bool:
        """Whether the measured peak lies in the band."""
        low = self._shown.low
        if self.row["metric"] != "allocated":
            low -= self.memory.reclaimable
        return low <= self.measured <= self._shown.high

    @property
    def _shown(self) -> Any:
        of = {"allocated": self.memory.allocated, "reserved": self.memory.reserved}
        return of.get(self.row["metric"], self.memory.total)

    @property
    def relative(self) -> float:
        """Error as a share of the measured peak."""
        return self.predicted / self.measured - 1

    @property
    def card_bytes(self) -> int | None:
        """What one device of the card can hold; None where the row has no size."""
        label = self.row.get("gpu_class_gb")
        return None if label is None else device_bytes(self.row.get("gpu", ""), label)

    @property
    def fits(self) -> bool | None:
        """Our verdict by the likely side; None where the card is not known."""
        return None if self.card_bytes is None else self.memory.needed.likely <= self.card_bytes

    @property
    def group(self) -> str:
        return "single GPU" if self.row["gpu_count"] == 1 else "several GPUs"


@cache
def device_bytes(name: str, label: int) -> int | None:
    """Bytes of a device as drivers report them, by the catalogue: of the card with this name.

    Of names that it does not know ("24GB-class x2"), or knows with another size on the label, the
    median of NVIDIA's devices with that label; None where there are none.
    """
    catalogue = _catalogue()
    with suppress(UnknownGpu):
        gpu = catalogue.find(name)
        if _label_of(gpu) == label:
            return gpu.device_memory_bytes
    same = [g for g in catalogue.gpus if g.vendor == "NVIDIA" and _label_of(g) == label]
    return statistics.median_low(gpu.device_memory_bytes for gpu in same) if same else None


def _label_of(gpu: Gpu) -> float:
    return gpu.memory_marketing_gb / gpu.devices_per_board


@cache
def _catalogue() -> Catalogue:
    return load_catalogue()


@dataclass(frozen=True, slots=True)
class Errors:
    """Statistics of some runs; shares of the measured peak. `inside`: share in the band."""

    n: int
    mean: float
    median: float
    p90: float
    bias: float
    inside: float


@cache
def estimator(repo_id: str) -> TrainingEstimator:
    """The estimator of a measured model."""
    return TrainingEstimator(load_profile(repo_id))


def complete(row: Row) -> bool:
    """Whether a row states all that decides its memory, and is not of low confidence."""
    if row["method"] not in METHODS or row["confidence"] == "low":
        return False
    if row["method"] in ("lora", "qlora", "dora") and not row.get("lora_rank"):
        return False
    return all(row.get(name) is not None for name in STATED)


def fields_of(row: Row, *, contract_only: bool = False) -> dict[str, Any]:
    """The row as a request."""
    names = CONTRACT if contract_only else {*PLAN_FIELDS, "gpu_count"}
    fields = {name: value for name, value in row.items() if name in names}
    if not contract_only:
        fields["framework"] = row["stack"]
    return fields


def predict(row: Row, *, contract_only: bool = False) -> Prediction:
    """What we say about a run."""
    plan = plan_of(fields_of(row, contract_only=contract_only))
    return Prediction(row, plan, estimator(row["profile"]).estimate(plan))


def predictions(rows: Iterable[Row], *, contract_only: bool = False) -> list[Prediction]:
    """One per measurement among complete runs that printed a peak."""
    found: dict[str, Prediction] = {}
    for row in rows:
        if row["outcome"] == "ran" and complete(row) and row["dup_group"] not in found:
            found[row["dup_group"]] = predict(row, contract_only=contract_only)
    return list(found.values())


def errors_of(made: Iterable[Prediction]) -> Errors:
    """Statistics of at least one prediction."""
    listed = list(made)
    signed = [one.relative for one in listed]
    sizes = sorted(map(abs, signed))
    return Errors(
        n=len(listed),
        mean=statistics.fmean(sizes),
        median=statistics.median(sizes),
        p90=sizes[-(-90 * len(sizes) // 100) - 1],
        bias=statistics.fmean(signed),
        inside=statistics.fmean(one.inside for one in listed),
    )


def sections(made: Iterable[Prediction]) -> dict[str, Errors]:
    """Errors of one GPU and of several, then by framework and method."""
    groups: dict[str, list[Prediction]] = {}
    for one in made:
        row = one.row
        for name in (one.group, f"{one.group}, {row['stack']} {row['method']}"):
            groups.setdefault(name, []).append(one)
    return {name: errors_of(groups[name]) for name in sorted(groups)}


def verdicts(rows: Iterable[Row]) -> tuple[list[Prediction], list[Prediction]]:
    """Runs on known cards: (those that ran out of memory, those that ran)."""
    out, ran = [], []
    for row in rows:
        if row["method"] not in METHODS or row["confidence"] == "low":
            continue
        if not {"sequence_length", "micro_batch"} <= set(row):
            continue
        one = predict(row)
        if one.card_bytes is not None and row["gpu_count"] is not None:
            (out if row["outcome"] == "out_of_memory" else ran).append(one)
    return out, ran


def report_lines(rows: Iterable[Row], worst: int) -> Iterator[str]:
    """Errors, verdicts, and the worst runs with their sources."""
    listed = list(rows)
    made = predictions(listed)
    yield f"training: {len(listed)} rows, {len(made)} complete measurements with a prediction"
    yield f"{'':44}{'n':>4}{'mean':>8}{'median':>8}{'p90':>8}{'bias':>8}{'in band':>9}"
    for name, errors in sections(made).items():
        yield _line(name, errors)
    yield ""
    yield "by fields of the contract alone, without the framework and its habits"
    plain = predictions(listed, contract_only=True)
    for name, errors in sections(plain).items():
        if "," not in name:
            yield _line(name, errors)
    out, ran = verdicts(listed)
    yield ""
    yield f"ran out of memory: {len(out)}, said to fit: {_names(one for one in out if one.fits)}"
    yield f"ran: {len(ran)}, said not to fit: {_names(one for one in ran if not one.fits)}"
    for group in ("single GPU", "several GPUs"):
        yield ""
        yield f"worst: {group}"
        members = sorted((p for p in made if p.group == group), key=lambda p: -abs(p.relative))
        for one in members[:worst]:
            yield (
                f"  {one.relative:>+7.1%}  measured {one.measured / GIB:.1f} GiB, predicted"
                f" {one.predicted / GIB:.1f}  {one.row['id']}  {one.row['source_url']}"
            )


def _line(name: str, errors: Errors) -> str:
    shares = (errors.mean, errors.median, errors.p90, errors.bias)
    return (
        f"{name:44}{errors.n:>4}"
        + "".join(f"{share:>8.1%}" for share in shares)
        + f"{errors.inside:>9.0%}"
    )


def _names(made: Iterable[Prediction]) -> str:
    names = [one.row["id"] for one in made]
    return " ".join([str(len(names)), *names])
