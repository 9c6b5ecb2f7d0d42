"""Limits of GPUs that share the system's memory, and what the answer says of moving them."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.units import GIB
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.gpu_limit import larger_limit
from gpusizer.gpus.own_memory import FreeMemory, with_memory
from tests.asking import size
from tests.documents import written
from tests.sizers import embedded_sizer


@pytest.mark.parametrize(
    "gpu, gib, setting",
    [
        ("ryzen-ai-max-395-128gb", 112, "linux"),  # guides: 105, 115 and 124
        ("apple-m3-ultra-96gb", 84, "macos"),
        ("apple-m4-pro-24gb", 20, "macos"),  # 4 GiB stay with the system
        ("rtx-4090-24gb", None, ""),
        ("jetson-agx-orin-64gb", None, ""),
        ("apple-m3-ultra-512gb", None, ""),  # lends more than that by itself
    ],
)
def test_the_limit_that_a_system_can_be_set_to(gpu: str, gib: int | None, setting: str) -> None:
    limit = larger_limit(load_catalogue().find(gpu))
    if gib is None:
        assert limit is None
        return
    assert limit is not None
    assert gib - 0.1 < limit.limit_bytes / GIB <= gib
    assert limit.setting == setting


def test_a_limit_that_was_stated_is_not_moved() -> None:
    gpu = with_memory(load_catalogue().find("m3 ultra 96gb"), FreeMemory(free_bytes=60 * GIB))
    assert larger_limit(gpu) is None


def test_an_answer_names_the_setting_and_what_it_says_holds() -> None:
    asked: dict[str, Any] = {
        "model": "deepseek-ai/DeepSeek-V4-Flash",
        "gpu": "1x Strix Halo 128GB",
        "engine": "llama.cpp",
        "quant": "ud-iq3_xxs",
        "context": 32_768,
    }
    report = written(size(embedded_sizer(), asked))
    (change,) = (
        advice for advice in report["ranking"][0]["advice"] if "usable_gb" in advice["change"]
    )
    assert "ttm.pages_limit=293" in change["message"]
    assert change["message"] in [said["message"] for said in report["answer"]["weighed"]]
    assert change["verdict"] == "fits"
    again = written(size(embedded_sizer(), {**asked, **change["change"]}))
    assert again["ranking"][0]["verdict"] == "fits"
    assert again["ranking"][0]["headroom_bytes"] == change["headroom_bytes"]
