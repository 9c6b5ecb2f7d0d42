"""Training requests: spellings, refusals, and the plans that follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.answers.training_request import TrainingRequest, plan_of
from gpusizer.core.errors import InvalidRequest
from gpusizer.training.plan import TrainingPlan, with_precision
from tests.each import each


def test_defaults_are_visible() -> None:
    request = TrainingRequest.from_fields({"model": "org/model", "gpu": "", "lora_rank": None})
    assert (request.given, request.gpus, request.gpu_count) == ((), (), None)
    assert request.plan.method == "lora"
    assert (request.plan.sequence_length, request.plan.micro_batch) == (2048, 1)
    assert request.plan == TrainingPlan()


@each(
    "field, value, parsed",
    [
        ("method", "QLoRA", "qlora"),
        ("gradient_checkpointing", True, "full"),
        ("gradient_checkpointing", "off", "none"),
        ("precision", "bf16-true", "bf16"),
        ("precision", "bf16 compute, fp32 params", "mixed"),
        ("optimizer", "AdamW", "adamw"),
        ("lora_targets", "q_proj, v_proj", ("q_proj", "v_proj")),
        ("fused_loss", "true", True),
        ("sequence_length", "8,192", 8192),
        ("offload", "cpu", "model"),
        ("micro_batch", 2.0, 2),
        ("framework", "LitGPT", "litgpt"),
        ("framework_version", "v4.46.2", "v4.46.2"),
    ],
)
def test_spellings(field: str, value: Any, parsed: Any) -> None:
    assert getattr(TrainingRequest.from_fields({field: value}).plan, field) == parsed


@each(
    "field, value, reason",
    [
        ("method", "magic", "not_one_of"),
        ("sequence_length", 0, "out_of_range"),
        ("sequence_length", "long", "not_an_integer"),
        ("fused_loss", "perhaps", "not_a_boolean"),
        ("precision", "fp3", "not_one_of"),
        ("optimizer", 5, "not_text"),
        ("framework_version", "latest", "not_a_version"),
        ("framework_version", 4.46, "not_text"),
        ("lora_targets", {"q": 1}, "not_a_list"),
        ("epochs", "many", "not_a_number"),
        ("epochs", 0, "out_of_range"),
        ("nonsense", 1, "unknown_field"),
        ("model", "x" * 301, "too_long"),
        ("sharding", "zero9", "not_one_of"),
        ("lora_targets", ["a"] * 65, "out_of_range"),
        ("micro_batch", True, "not_an_integer"),
    ],
)
def test_refusals_name_the_field(field: str, value: Any, reason: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        TrainingRequest.from_fields({field: value})
    assert (caught.value.fields["field"], caught.value.fields["reason"]) == (field, reason)


def test_galore_is_full_training_with_its_optimizer() -> None:
    plan = plan_of({"method": "galore"})
    assert (plan.method, plan.optimizer) == ("full", "galore_adamw")
    assert plan_of({"method": "galore", "optimizer": "galore_adamw_8bit"}).optimizer == (
        "galore_adamw_8bit"
    )


def test_the_request_knows_which_fields_were_given() -> None:
    request = TrainingRequest.from_fields({"method": "galore", "sharding": "", "gpu_count": 2})
    assert set(request.given) == {"method", "optimizer"}


@pytest.mark.parametrize(("field", "value"), [("optimizer", "nosuch"), ("framework", "notone")])
def test_names_of_trainers_are_checked_with_the_request(field: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match="not_one_of") as caught:
        TrainingRequest.from_fields({field: value})
    assert caught.value.fields["field"] == field


def test_a_split_brings_its_gpus() -> None:
    assert plan_of({"tensor_parallel": 4}).gpus == 4
    plan = plan_of({"gpu_count": 8, "tensor_parallel": 2, "context_parallel": 2})
    assert (plan.data_parallel, plan.shards, plan.tokens) == (2, 4, 1024)
    with pytest.raises(InvalidRequest, match="cannot_be_split"):
        plan_of({"gpu_count": 6, "tensor_parallel": 4})


def test_precision_follows_the_sharding_unless_given() -> None:
    full = {"method": "full", "gpu_count": 8}
    assert plan_of({**full, "sharding": "zero3"}).precision == "master"
    assert plan_of({**full, "sharding": "fsdp"}).precision == "mixed"
    assert plan_of({**full, "sharding": "fsdp", "precision": "bf16"}).precision == "bf16"
    assert plan_of({"sharding": "zero3", "gpu_count": 8}).precision == "bf16"  # adapters
    assert plan_of({"sharding": "fsdp"}).sharding == "none"  # nothing to divide over


def test_a_derived_precision_is_derived_anew() -> None:
    zero = plan_of({"method": "full", "gpu_count": 8, "sharding": "zero3"})
    changes = {"lora": {"method": "lora"}, "fsdp": {"sharding": "fsdp"}, "ddp": {"sharding": "ddp"}}
    plans = {name: zero.changed(**values) for name, values in changes.items()}
    derived = {name: with_precision(p, given=False).precision for name, p in plans.items()}
    assert derived == {"lora": "bf16", "fsdp": "mixed", "ddp": "bf16"}
    assert {with_precision(p, given=True).precision for p in plans.values()} == {"master"}


def test_a_library_with_versions_of_its_own_needs_a_date() -> None:
    """TRL 0.12 is no version of transformers; 4.46 and 2024-11 are understood."""
    for version in ("4.46", "2024-11"):
        fields = {"framework": "trl", "framework_version": version}
        assert TrainingRequest.from_fields(fields).plan.framework == "transformers-4.48"
    with pytest.raises(InvalidRequest) as caught:
        TrainingRequest.from_fields({"framework": "trl", "framework_version": "0.12"})
    assert caught.value.fields["reason"] == "date_needed"
    assert caught.value.fields["framework"] == "transformers"
