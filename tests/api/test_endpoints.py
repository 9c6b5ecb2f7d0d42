"""The public endpoints of a running application, as programs call them."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests
from gradio_client import Client

from gpusizer.text import say_note
from gpusizer.ui.presenters.frame import CURL_EXAMPLE, ORIGIN, PYTHON_EXAMPLE
from tests.api.transports import TIMEOUT, call
from tests.asking import size, training
from tests.hostile import BROKEN_MODEL, VISITORS_MODEL, VISITORS_TOKEN
from tests.running_app import RunningApp
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def code(answer: dict[str, Any]) -> str:
    assert answer["schema_version"] == 1
    assert answer["error"]["message"]
    return str(answer["error"]["code"])


def test_parameters_are_documented_with_real_defaults(app_url: str) -> None:
    info = requests.get(f"{app_url}gradio_api/info", timeout=TIMEOUT).json()
    parameters = info["named_endpoints"]["/size_model"]["parameters"]
    defaults = {p["parameter_name"]: p["parameter_default"] for p in parameters}
    assert defaults == {
        "model": None,
        "context": 8192,
        "concurrency": 1,
        "quant": "all",
        "gpu": "",
        "engine": "",
        "rank_by": "recommended",
        "top": 20,
        "options": None,
    }


def test_sizes_a_model_like_the_core(client: Client) -> None:
    answer = call(client, "/size_model", LLAMA)
    assert answer["model"]["parameters"] == 8_030_261_248
    assert len(answer["ranking"]) == 20
    expected = size(embedded_sizer(), {"model": LLAMA}).to_json(say_note)
    assert answer == json.loads(json.dumps(expected))


def test_every_named_parameter_counts(client: Client) -> None:
    answer = call(
        client,
        "/size_model",
        LLAMA,
        context=4096,
        concurrency=2,
        quant="q4_k_m",
        gpu="4090, 2x3090",
        engine="llama.cpp",
        rank_by="fastest",
        top=1,
        options={"kv_dtype": "q8_0"},
    )
    assert [(r["count"], r["gpu"]) for r in answer["ranking"]] == [
        (1, "rtx-4090-24gb"),
        (2, "rtx-3090-24gb"),
    ]
    assert [row["quant"] for row in answer["estimates"]] == ["q4_k_m"]
    workload = answer["workload"]
    assert (workload["context"], workload["concurrency"]) == (4096, 2)
    assert (workload["engine"], workload["kv_dtype"]) == ("llama.cpp", "q8_0")
    assert (workload["rank_by"], workload["top"]) == ("fastest", 1)


def test_trains_a_model_like_the_core(client: Client) -> None:
    answer = call(
        client,
        "/train_model",
        LLAMA,
        method="qlora",
        sequence_length=4096,
        micro_batch=2,
        gpu="4090",
        gpu_count=1,
        options={"lora_rank": 64},
    )
    fields = {
        "model": LLAMA,
        "method": "qlora",
        "sequence_length": 4096,
        "micro_batch": 2,
        "gpu": "4090",
        "gpu_count": 1,
        "lora_rank": 64,
        "rank_by": "recommended",
        "top": 20,
    }
    sizer = embedded_sizer()
    expected = training(sizer, fields).to_json(say_note)
    assert answer == json.loads(json.dumps(expected))
    assert code(call(client, "/train_model", LLAMA, method="magic")) == "invalid_request"
    assert code(call(client, "/train_model", "nobody/nothing-here")) == "hub_unreachable"


@pytest.mark.parametrize(
    ("expected_code", "arguments"),
    [
        ("invalid_model_id", {"model": "org/name with spaces"}),
        ("invalid_model_id", {"model": "https://huggingface.co/datasets/org/name"}),
        ("invalid_model_id", {"model": ""}),
        ("hub_unreachable", {"model": "nobody/nothing-here"}),
        ("invalid_request", {"model": LLAMA, "context": -1}),
        ("invalid_request", {"model": LLAMA, "context": "many"}),
        ("invalid_request", {"model": 5}),
        ("invalid_request", {"model": LLAMA, "top": 1e9}),
        ("invalid_request", {"model": LLAMA, "rank_by": "nicest"}),
        ("invalid_request", {"model": LLAMA, "options": ["no", "object"]}),
        ("invalid_request", {"model": LLAMA, "options": {"nonsense": 1}}),
        ("invalid_request", {"model": LLAMA, "options": {"revision": "../other"}}),
        ("unknown_gpu", {"model": LLAMA, "gpu": "rtx 9999"}),
        ("unknown_quant", {"model": LLAMA, "quant": "q99"}),
        ("unknown_engine", {"model": LLAMA, "engine": "warp"}),
    ],
)
def test_failures_are_objects_with_a_code(
    client: Client, expected_code: str, arguments: dict[str, Any]
) -> None:
    answer = call(client, "/size_model", **arguments)
    assert code(answer) == expected_code


@pytest.mark.parametrize("name", ["", "model.safetensors", "m.gguf"])
def test_a_path_of_the_machine_is_no_model(client: Client, name: str, tmp_path: Path) -> None:
    """Only the shell reads checkpoints on disk; a request over the network never opens a path."""
    header = json.dumps({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}).encode()
    for file in ("model.safetensors", "m.gguf"):
        (tmp_path / file).write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    path = str(tmp_path / name)
    compared = {"gpus": ["4090"], "model": path}
    assert code(call(client, "/size_model", path)) == "invalid_model_id"
    assert code(call(client, "/train_model", path)) == "invalid_model_id"
    assert code(call(client, "/compare_gpus", **compared)) == "invalid_model_id"
    listed = call(client, "/models_for_gpu", gpu="4090", options={"models": path})
    assert code(listed) == "invalid_model_id"


def test_an_error_names_the_requested_model(client: Client) -> None:
    answer = call(client, "/size_model", "nobody/nothing-here")
    assert answer["error"]["repo_id"] == "nobody/nothing-here"


@pytest.mark.parametrize("endpoint", ["/size_model", "/compare_gpus"])
def test_a_visitors_token_reads_for_that_visitor_alone(
    client: Client, app_url: str, app: RunningApp, endpoint: str
) -> None:
    arguments = {"model": VISITORS_MODEL} | (
        {"gpus": ["4090"]} if endpoint == "/compare_gpus" else {}
    )
    visitors_client = Client(app_url, verbose=False, oauth_token=VISITORS_TOKEN)
    try:
        assert "error" not in call(visitors_client, endpoint, **arguments)
        assert code(call(client, endpoint, **arguments)) == "hub_unreachable"
        assert "error" not in call(visitors_client, endpoint, **arguments)
    finally:
        visitors_client.close()
    assert VISITORS_TOKEN not in app.log.read_text("utf-8")


def test_a_bug_is_logged_and_answered(client: Client, app: RunningApp) -> None:
    answer = call(client, "/size_model", BROKEN_MODEL)
    assert code(answer) == "internal"
    assert "a bug" not in json.dumps(answer)
    assert "RuntimeError: a bug" in app.log.read_text("utf-8")


def test_lists_gpus(client: Client) -> None:
    everything = call(client, "/list_gpus")
    assert everything["count"] == len(everything["gpus"]) == len(embedded_sizer().catalogue.gpus)
    missing = call(client, "/list_gpus", "rtx 4091")
    assert missing["count"] == 0
    assert [note["code"] for note in missing["notes"]] == ["no_gpu_found", "similar_gpus"]
    assert "GeForce RTX 4090 24GB" in missing["notes"][1]["message"]
    few = call(client, "/list_gpus", "4090")
    assert 0 < few["count"] < 10
    assert all("4090" in gpu["slug"] for gpu in few["gpus"])
    assert code(call(client, "/list_gpus", 5)) == "invalid_request"


def test_compares_hardware_alone(client: Client) -> None:
    answer = call(client, "/compare_gpus", ["4090", "2 × RTX 3090", "m3 max 128gb"])
    assert [gpu["slug"] for gpu in answer["gpus"]] == [
        "rtx-4090-24gb",
        "rtx-3090-24gb",
        "apple-m3-max-128gb",
    ]
    assert answer["model"] is None
    assert {gpu["fit"] for gpu in answer["gpus"]} == {None}


def test_compares_with_a_model(client: Client) -> None:
    answer = call(client, "/compare_gpus", ["2x4090", "3070"], LLAMA, "q4_k_m", 4096)
    assert [gpu["fit"]["count"] for gpu in answer["gpus"]] == [2, 1]
    assert answer["model"]["repo_id"] == LLAMA
    assert answer["workload"]["context"] == 4096


@pytest.mark.parametrize(
    ("expected_code", "gpus"),
    [
        ("invalid_request", []),
        ("invalid_request", [5]),
        ("invalid_request", {"4090": 1}),
        ("invalid_request", ["5000x4090"]),
        ("unknown_gpu", ["4090", "not a card"]),
    ],
)
def test_impossible_comparisons(client: Client, expected_code: str, gpus: Any) -> None:
    assert code(call(client, "/compare_gpus", gpus)) == expected_code


def test_models_for_a_gpu(client: Client) -> None:
    answer = call(client, "/models_for_gpu", "4090", "text", top=3)
    assert (answer["schema_version"], answer["gpu"]) == (1, "rtx-4090-24gb")
    assert [row["rank"] for row in answer["models"]] == [1, 2, 3]
    assert {row["task"] for row in answer["models"]} == {"text"}
    assert {row["verdict"] for row in answer["models"]} == {"fits"}
    rig = call(client, "/models_for_gpu", "3090 + 3060 + 64gb ram", top=1)
    assert rig["rig"]["backend"] == "CUDA"


@pytest.mark.parametrize(
    ("expected_code", "gpu", "options"),
    [
        ("invalid_request", "", None),
        ("unknown_gpu", "not a card", None),
        ("invalid_request", "4090", {"rig": "3090 + 3060"}),
        ("invalid_request", "m3 max 128gb + 4090", None),
        ("invalid_request", 5, None),
    ],
)
def test_impossible_questions_about_models(
    client: Client, expected_code: str, gpu: Any, options: Any
) -> None:
    assert code(call(client, "/models_for_gpu", gpu, options=options)) == expected_code


def test_the_python_example_runs(app_url: str) -> None:
    """The code example of the page runs against this application."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(PYTHON_EXAMPLE.replace(ORIGIN, app_url.rstrip("/")), {})
    lines = printed.getvalue().splitlines()
    assert "8190735360" in lines
    assert lines[-2].startswith("1 rtx-4090-24gb fits ")
    assert lines[-1].startswith("2 rtx-3090-24gb fits ")


def test_the_curl_example_runs(app_url: str) -> None:
    script = CURL_EXAMPLE.replace(ORIGIN, app_url.rstrip("/"))
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=TIMEOUT)
    if "not found" in process.stderr:
        pytest.skip("curl is not installed")
    assert "event: complete" in process.stdout
    assert "8190735360" in process.stdout


@pytest.mark.parametrize(
    ("endpoint", "body", "field"),
    [
        ("size_model", {"model": LLAMA, "contxt": 1}, "contxt"),
        ("size_model", {}, "model"),
        ("models_for_gpu", {"top": 3}, "gpu"),
        ("sise_model", {"model": LLAMA}, "endpoint"),
    ],
)
def test_wrong_names_by_http(app_url: str, endpoint: str, body: Any, field: str) -> None:
    address = f"{app_url}gradio_api/call/v2/{endpoint}"
    answer = requests.post(address, json=body, timeout=TIMEOUT)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
