"""TrainingRequest: a question about training, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpusizer.fields import Parser, fail, flag, integer, number, one_of, text, texts
from gpusizer.profile import ModelProfile
from gpusizer.training.optimizers import find_optimizer
from gpusizer.training.plan import (
    BASES,
    CHECKPOINTING,
    DEFAULT_SEQUENCE,
    METHODS,
    OFFLOADS,
    PRECISIONS,
    SHARDINGS,
    TrainingPlan,
)
from gpusizer.training.stacks import find_stack

RANKINGS = ("smallest", "cheapest", "fastest")
DEFAULT_TOP = 20
DEFAULT_DATASET_TOKENS = 10_000_000
DEFAULT_USD_PER_KWH = 0.15

_SPLITS = integer(1, 1024)
_METHOD_WORDS = {"galore": "full", "full-finetuning": "full", "sft": "full", "finetune": "full"}
_PRECISION_WORDS = {
    "bfloat16": "bf16", "bf16-true": "bf16", "pure-bf16": "bf16", "fp16": "bf16",
    "bf16-mixed": "mixed", "fp16-mixed": "mixed", "amp": "mixed", "fp32-master": "master",
    "float32": "fp32", "32": "fp32",
}  # fmt: skip
_CHECKPOINTING_WORDS = {
    "true": "full", "on": "full", "yes": "full", "false": "none", "off": "none", "no": "none",
}  # fmt: skip
_SHARDING_WORDS = {
    "fsdp2": "fsdp", "full_shard": "fsdp", "zero-1": "zero1", "zero-2": "zero2",
    "zero-3": "zero3", "deepspeed": "zero3", "single": "none",
}  # fmt: skip
_OFFLOAD_WORDS = {"cpu": "all", "true": "all", "false": "none", "params": "parameters"}


def _precision(field: str, value: Any) -> str:
    """A precision, or a sentence about one: "bf16 compute, fp32 params"."""
    word = text(field, value).lower()
    for signs, precision in (
        (("deepspeed",), "master"),
        (("fp32 param", "amp", "mixed", "autocast"), "mixed"),
        (("master",), "master"),
    ):
        if any(sign in word for sign in signs) and word not in PRECISIONS:
            return precision
    first = word.partition(" ")[0]
    known: str = one_of(PRECISIONS, _PRECISION_WORDS)(field, first)
    return known


PLAN_FIELDS: dict[str, Parser] = {
    "method": one_of(METHODS, _METHOD_WORDS),
    "optimizer": text,
    "precision": _precision,
    "sequence_length": integer(1, 10_000_000),
    "micro_batch": integer(1, 100_000),
    "gradient_checkpointing": one_of(CHECKPOINTING, _CHECKPOINTING_WORDS),
    "gradient_accumulation": integer(1, 100_000),
    "lora_rank": integer(1, 65_536),
    "lora_targets": texts,
    "base": one_of(BASES),
    "train_embeddings": flag,
    "sharding": one_of(SHARDINGS, _SHARDING_WORDS),
    "tensor_parallel": _SPLITS,
    "pipeline_parallel": _SPLITS,
    "context_parallel": _SPLITS,
    "offload": one_of(OFFLOADS, _OFFLOAD_WORDS),
    "fused_loss": flag,
    "flash_attention": flag,
    "compiled": flag,
    "packed": flag,
    "optimizer_in_backward": flag,
    "ema": flag,
    "low_rank": integer(1, 65_536),
    "framework": text,
}
"""Fields of a plan."""

OTHER_FIELDS: dict[str, Parser] = {
    "model": text,
    "revision": text,
    "file": text,
    "gpu": texts,
    "gpu_count": integer(1, 1024),
    "rank_by": one_of(RANKINGS),
    "top": integer(0, 1000),
    "dataset_tokens": integer(1, 10**15),
    "epochs": number(0.001, 10_000),
    "usd_per_kwh": number(0, 100),
}
TRAINING_FIELDS = (*OTHER_FIELDS, *PLAN_FIELDS)
"""Every field a training request may have."""


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A checked request.

    Attributes:
        plan: the settings that were given, with defaults for the others.
        given: names of plan fields that were given: what was not is free to be chosen.
        gpus, gpu_count: looked at by name, and how many of each; None to find how many.
        dataset_tokens, epochs: work whose time and price is asked for.
        usd_per_kwh: price of electricity.
    """

    model: str
    revision: str | None
    file: str | None
    plan: TrainingPlan
    given: tuple[str, ...]
    gpus: tuple[str, ...]
    gpu_count: int | None
    rank_by: str
    top: int
    dataset_tokens: int
    epochs: float
    usd_per_kwh: float

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        data = asdict(self)
        data["plan"] = self.plan.to_json()
        data["given"], data["gpus"] = list(self.given), list(self.gpus)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainingRequest:
        """Inverse of `to_json`."""
        values = dict(data)
        values["plan"] = TrainingPlan.from_json(data["plan"])
        values["given"], values["gpus"] = tuple(data["given"]), tuple(data["gpus"])
        return cls(**values)


def parse_training_request(fields: Mapping[str, Any]) -> TrainingRequest:
    """A checked request. Absent, null and empty fields take their defaults.

    Raises InvalidRequest naming the field, its value and what is wrong with it.
    """
    values = _parse(fields)
    planned = {name: value for name, value in values.items() if name in PLAN_FIELDS}
    return TrainingRequest(
        model=values.get("model", ""),
        revision=values.get("revision"),
        file=values.get("file"),
        plan=_plan(planned, str(fields.get("method", "")), values.get("gpu_count") or 1),
        given=tuple(planned),
        gpus=values.get("gpu", ()),
        gpu_count=values.get("gpu_count"),
        rank_by=values.get("rank_by", RANKINGS[0]),
        top=values.get("top", DEFAULT_TOP),
        dataset_tokens=values.get("dataset_tokens", DEFAULT_DATASET_TOKENS),
        epochs=values.get("epochs", 1.0),
        usd_per_kwh=values.get("usd_per_kwh", DEFAULT_USD_PER_KWH),
    )


def plan_of(fields: Mapping[str, Any]) -> TrainingPlan:
    """The plan of fields that name a number of GPUs too. Raises InvalidRequest."""
    return sharded(parse_training_request(fields))


def sharded(request: TrainingRequest) -> TrainingPlan:
    """The request's plan with the precision that its sharding usually brings."""
    plan = alone(request.plan)
    return with_precision(plan, given="precision" in request.given)


def alone(plan: TrainingPlan) -> TrainingPlan:
    """One GPU has nothing to divide; DeepSpeed keeps its buffers all the same."""
    single = plan.gpus == 1 and plan.sharding in ("ddp", "fsdp")
    return plan.changed(sharding="none") if single else plan


def with_precision(plan: TrainingPlan, *, given: bool) -> TrainingPlan:
    """The precision that method and sharding bring, whatever another plan had; a given one stays.

    DeepSpeed keeps FP32 copies of what is trained in full, FSDP in trainers FP32 weights
    (accelerate raises trained weights to FP32 under FSDP with mixed precision since 0.34).
    """
    if given:
        return plan
    derived = "bf16"
    if not plan.adapted and plan.sharding.startswith("zero"):
        derived = "master"
    elif not plan.adapted and plan.sharding == "fsdp":
        derived = "mixed"
    return plan.changed(precision=derived)


def within(plan: TrainingPlan, profile: ModelProfile, given: tuple[str, ...]) -> TrainingPlan:
    """The default sequence is no longer than what the model was made for."""
    longest = profile.max_context
    if "sequence_length" in given or longest is None:
        return plan
    return plan.changed(sequence_length=min(DEFAULT_SEQUENCE, longest))


def _plan(values: dict[str, Any], method: str, gpus: int) -> TrainingPlan:
    if method.strip().lower() == "galore":
        values.setdefault("optimizer", "galore_adamw")
    plan = TrainingPlan(**values, gpus=gpus)
    if gpus % plan.split:
        if gpus != 1:
            raise fail("gpu_count", gpus, "cannot_be_split")
        plan = plan.changed(gpus=plan.split)
    return plan.changed(
        optimizer=find_optimizer(plan.optimizer).slug, framework=find_stack(plan.framework).slug
    )


def _parse(fields: Mapping[str, Any]) -> dict[str, Any]:
    parsers = {**OTHER_FIELDS, **PLAN_FIELDS}
    values: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in parsers:
            raise fail(str(field)[:40], value, "unknown_field")
        if value is None or (isinstance(value, str | list | tuple) and not value):
            continue
        values[field] = parsers[field](field, value)
    return values
