"""The reader's own machine over HTTP and by gradio_client: memory, described cards, the disk."""

from __future__ import annotations

from typing import Any

import pytest
from gradio_client import Client

from tests.api.plain_http import ask
from tests.api.transports import call

QUESTION = {"model": "Qwen/Qwen3-8B", "quant": "q4_k_m", "card": "false", "gpu_count": "1"}


def test_a_described_card_with_free_memory_is_answered(client: Client, app_url: str) -> None:
    fields = {**QUESTION, "gpu": "custom:24GB@1000GB/s (20 GB free)"}
    row: dict[str, Any] = ask(app_url, "size", fields).json()["ranking"][0]
    assert (row["gpu"], row["usable_bytes"]) == ("custom:24GB@1000GB/s", 20 * 10**9)
    assert row["prefill_tokens_per_second"] is None and row["decode_tokens_per_second"]
    codes = [reason["code"] for reason in row["reasons"]]
    assert {"custom_card", "custom_card_stack", "custom_card_flops", "card_memory_free"} <= {*codes}
    compared = call(client, "/compare_gpus", gpus=f"4090,{fields['gpu']}")
    listed = [gpu["device_memory_free_bytes"] for gpu in compared["gpus"]]
    assert listed == [None, 20 * 10**9]
    assert compared["gpus"][1]["statements"][0]["code"] == "custom_card"


def test_pages_from_disk_over_http(app_url: str) -> None:
    fields = {"model": "Qwen/Qwen3-235B-A22B", "quant": "q4_k_m", "card": "false", "top": "1"}
    rig = ask(app_url, "size", {**fields, "rig": "3090 + 64gb ram", "disk_gb_per_s": "3.5"}).json()
    assert rig["rig"]["verdict"] == "from_disk"
    disk = rig["rig"]["disk"]
    bound = disk["bytes_per_second"] / disk["bytes_per_token"]
    assert disk["bytes_per_second"] == 3.5e9
    assert disk["most_tokens_per_second"] == pytest.approx(bound, rel=0.005)


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [("custom:24GB@fast", "custom_card_form"), ("4090 (20 free)", "free_memory_form")],
)
def test_what_cannot_be_read_is_refused(app_url: str, gpu: str, reason: str) -> None:
    answer = ask(app_url, "size", {**QUESTION, "gpu": gpu})
    assert answer.status_code == 400
    assert answer.json()["error"]["reason"] == reason
