"""The model card in the answers that programs get."""

from __future__ import annotations

from gradio_client import Client

from tests.carded import CARDED_MODEL


def test_statements_with_verdicts(client: Client) -> None:
    report = client.predict(CARDED_MODEL, api_name="/size_model")
    card = report["model_card"]
    assert card["url"] == f"https://huggingface.co/{CARDED_MODEL}/blob/main/README.md"
    read = [(item["kind"], item["line"], item["verdict"]) for item in card["statements"]]
    assert read == [
        ("context", 6, "agrees"),
        ("gpus", 7, "agrees"),
        ("min_vram", 9, "needs_less"),
        ("command", 14, "not_comparable"),
    ]
    assert all(item["reason"]["message"] for item in card["statements"])


def test_the_authors_settings_are_taken_over(client: Client) -> None:
    report = client.predict(CARDED_MODEL, options={"as_card": True}, api_name="/size_model")
    workload = report["workload"]
    assert (workload["engine"], workload["tensor_parallel"]) == ("vllm", 2)
    assert (workload["context"], workload["quant"]) == (32768, ["native"])


def test_a_card_is_left_out_on_request(client: Client) -> None:
    report = client.predict(CARDED_MODEL, options={"card": False}, api_name="/size_model")
    assert "model_card" not in report
