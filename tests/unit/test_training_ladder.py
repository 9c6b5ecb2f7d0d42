"""The ladder of a training: what each change to its plan saves."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.cli.details import details_text
from gpusizer.core.units import format_gib
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.training import training_html
from tests.training_reports import answer, as_json


def test_the_ladder_adds_up() -> None:
    report = answer(
        gpu="4090",
        gpu_count=1,
        method="full",
        gradient_checkpointing="none",
        sequence_length=16384,
    )
    codes = [mitigation.note.code for mitigation in report.ladder]
    # Checkpointed, the update is the peak: the loss waits until 8-bit moments lower that.
    assert codes == [
        "train_checkpointing",
        "train_8bit_optimizer",
        "train_fused_loss",
        "train_lora",
        "train_qlora",
        "train_shard",
        "train_offload_all",
    ]
    # Two moments of 2 bytes become 1 and an FP32 scale for 256: 2 x (2 - 1 - 4 / 256).
    assert report.ladder[1].alone_bytes == 1.96875 * 8_030_261_248
    saved = sum(mitigation.saving_bytes for mitigation in report.ladder)
    start = report.ladder[0].total_bytes + report.ladder[0].saving_bytes
    assert start - saved == report.ladder[-1].total_bytes
    assert report.ladder[0].fits is False and report.ladder[-1].fits is True


LADDERS: tuple[dict[str, Any], ...] = (
    {},
    {"packed": False},
    {"gpu": "4090", "packed": False, "sequence_length": 8192},
    {"method": "full", "sharding": "zero3", "tensor_parallel": 2, "gpu_count": 1},
)


@pytest.mark.parametrize("fields", LADDERS)
def test_the_ladder_starts_at_the_needed_bytes(fields: dict[str, Any]) -> None:
    """The need of each GPU minus a step's saving is what that step leaves, in every answer."""
    report = answer(**fields)
    data = as_json(report)
    need = data["estimates"][0]["per_gpu"]
    assert need["needed_bytes"] == need["total_bytes"] - need["reclaimable_bytes"]
    remaining = need["needed_bytes"]
    for mitigation in data["ladder"]:
        remaining -= mitigation["saving_bytes"]
        assert remaining == mitigation["total_bytes"]
    assert data["ladder"]
    shown = training_html(report, Words("en"))
    amount = format_gib(need["needed_bytes"])
    says = "takes" if report.ranking else "which takes"
    assert f"{says} {amount}" in shown
    assert f"{need['needed_bytes'] / 2**30:.2f}" in details_text(data).split("estimates")[1]


def test_the_ladder_leaves_out_changes_that_save_nothing() -> None:
    for method, gpus in (("full", "4090"), ("lora", "4090"), ("qlora", "2x3090")):
        report = answer(gpu=gpus, method=method)
        assert all(mitigation.saving_bytes > 0 for mitigation in report.ladder)
    codes = [
        mitigation.note.code for mitigation in answer(gpu="4090", gpu_count=1, method="full").ladder
    ]
    assert codes.index("train_shard") == len(codes) - 2
