"""The shell prints one JSON document on stdout and messages on stderr, and sets exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import pytest

from gpusizer.__main__ import main
from gpusizer.cli.arguments import USUAL
from gpusizer.core.request_model import RequestModel
from gpusizer.gpus import load_catalogue
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.requests.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.requests.training_request import TrainingRequest
from tests import engine_logs
from tests.hub_emulator import llama_repo

ROOT = Path(__file__).resolve().parents[2]
# No server listens on this port: an accidental request fails at once and stays on this machine.
NO_HUB = "http://127.0.0.1:9"
POSITIONAL = {
    "size": "model",
    "train": "model",
    "gpus": "query",
    "compare": "gpus",
    "models-for": "gpu",
    "desk": "models",
}
REQUESTS: dict[str, type[RequestModel]] = {
    "size": SizeRequest,
    "train": TrainingRequest,
    "gpus": ListingRequest,
    "compare": CompareRequest,
    "models-for": ModelsRequest,
    "desk": DeskRequest,
}


ENVIRONMENT = {
    "HF_ENDPOINT": NO_HUB,
    "HF_HUB_OFFLINE": "",
    "GPUSIZER_CACHE_DIR": "off",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
}


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in this process, which saves the time to import gpusizer again."""
    stdout, stderr = StringIO(), StringIO()
    with (
        patch.dict(os.environ, ENVIRONMENT | environment),
        patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()), "utf-8")),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            code: int | str | None = main(list(arguments))
        except SystemExit as stop:  # argparse exits after `--help`
            code = stop.code
    return subprocess.CompletedProcess(
        arguments, int(code or 0), stdout.getvalue(), stderr.getvalue()
    )


def run_process(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpusizer", *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_deepseek_r1_offline() -> None:
    result = run_process("size", "deepseek-ai/DeepSeek-R1", "--offline", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    model = json.loads(result.stdout)["model"]
    assert model["parameters"] == 684_489_845_504
    assert sum(model["stored_parameters_by_dtype"].values()) == 684_531_386_000
    assert model["weight_bytes"] == 688_574_839_360
    assert (model["file_count"], model["tensor_count"]) == (163, 91_991)
    assert model["source"] == "snapshot"


def checkpoint(folder: Path) -> str:
    """Return a small Llama on disk."""
    for path, file in llama_repo().files.items():
        (folder / path).write_bytes(file.read(0, file.size))
    return str(folder)


def test_a_checkpoint_on_disk(tmp_path: Path) -> None:
    result = run("size", checkpoint(tmp_path), "--json")
    assert (result.returncode, result.stderr) == (0, "")
    sized = json.loads(result.stdout)["model"]
    assert (sized["source"], sized["repo_id"]) == ("local", str(tmp_path))
    assert sized["architecture"]["layers"] == 2
    requests = [
        {"model": f"{tmp_path}/model.safetensors"},
        {"model": str(tmp_path), "task": "train"},
    ]
    result = run("batch", stdin="\n".join(map(json.dumps, requests)))
    answers = [json.loads(line)["model"] for line in result.stdout.splitlines()]
    assert [answer["parameters"] for answer in answers] == [sized["parameters"]] * 2
    assert str(tmp_path) in run("size", str(tmp_path), "--details").stdout
    result = run("size", f"{tmp_path}/nothing", "--json")
    assert (result.returncode, json.loads(result.stdout)["error"]["code"]) == (
        2,
        "invalid_model_id",
    )
    assert "no such file or folder" in result.stderr


@pytest.mark.parametrize(
    "arguments, exit_code, code",
    [
        (("size", "a model with spaces"), 2, "invalid_model_id"),
        (("size", "https://huggingface.co/datasets/org/data"), 2, "invalid_model_id"),
        (("size", "gpt2", "--offline", "--context", "-5"), 2, "invalid_request"),
        (("size", "gpt2", "--offline", "--gpu", "rtx 9999"), 2, "unknown_gpu"),
        (("size", "gpt2", "--offline", "--quant", "q99"), 2, "unknown_quant"),
        (("size", "gpt2", "--offline", "--engine", "none"), 2, "unknown_engine"),
        (("size",), 2, "invalid_request"),
        (("frobnicate",), 2, "invalid_request"),
        (("train", "gpt2", "--offline", "--method", "magic"), 2, "invalid_request"),
        (("train", "gpt2", "--offline", "--gpu", "rtx 9999"), 2, "unknown_gpu"),
        (("train", "org/unknown", "--offline"), 3, "hub_unreachable"),
        (("compare", "nothing-like-it"), 2, "unknown_gpu"),
        (("size", "org/unknown", "--offline"), 3, "hub_unreachable"),
        (("size", "org/unknown"), 3, "hub_unreachable"),
    ],
)
def test_failures_have_their_code(arguments: tuple[str, ...], exit_code: int, code: str) -> None:
    result = run(*arguments, "--json")
    assert result.returncode == exit_code
    answer = json.loads(result.stdout)
    assert answer["error"]["code"] == code
    assert answer["error"]["message"] in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("run_command", [run, run_process])
def test_without_json_errors_leave_stdout_empty(
    run_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    result = run_command("size", "not a model")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("gpusizer: ")


def test_a_process_reads_its_pipe() -> None:
    result = run_process("batch", "-", "--offline", stdin='{"model": "gpt2", "top": 1}\n')
    assert result.returncode == 0
    assert json.loads(result.stdout)["model"]["repo_id"] == "openai-community/gpt2"


def test_batch_answers_every_line_in_order() -> None:
    lines = [
        {"model": "openai-community/gpt2", "quant": "bf16", "top": 1},
        {"model": "no such model"},
        {"task": "compare", "gpus": ["4090", "2x3090"]},
        {"task": "dance"},
        ["not an object"],
        {"model": "Qwen/Qwen3-0.6B", "task": "size", "top": 1},
        {"model": "Qwen/Qwen3-0.6B", "task": "train", "method": "full", "top": 1},
        {"model": "Qwen/Qwen3-0.6B", "task": "train", "context": 5},
    ]
    stdin = "\n".join(json.dumps(line) for line in lines) + "\n{broken\n\n"
    result = run("batch", "-", "--offline", stdin=stdin)
    assert result.returncode == 0
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [
        None,
        "invalid_model_id",
        None,
        "invalid_request",
        "invalid_request",
        None,
        None,
        "invalid_request",
        "invalid_request",
    ]
    assert answers[0]["model"]["parameters"] == 124_439_808
    assert answers[5]["model"]["parameters"] == 596_049_920
    assert answers[6]["estimates"][0]["trainable_parameters"] == 596_049_920


def test_batch_reads_a_file(tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"model": "gpt2", "top": 1}\n', encoding="utf-8")
    result = run("batch", str(requests), "--offline")
    assert json.loads(result.stdout)["model"]["repo_id"] == "openai-community/gpt2"
    missing = run("batch", str(tmp_path / "absent.jsonl"))
    assert missing.returncode == 2
    assert json.loads(missing.stdout)["error"]["code"] == "invalid_request"


def test_the_catalogue() -> None:
    result = run("gpus", "rtx", "4090", "--json")
    slugs = [gpu["slug"] for gpu in json.loads(result.stdout)["gpus"]]
    assert "rtx-4090-24gb" in slugs and len(slugs) < 10
    assert len(json.loads(run("gpus", "--json").stdout)["gpus"]) == len(load_catalogue().gpus)
    assert "RTX 4090" in run("gpus", "4090").stdout
    assert run("gpus", "L4").stdout.splitlines()[1].startswith("l4-24gb")
    assert "apple-m3-max-128gb" in run("gpus", "MacBook", "Pro", "M3", "Max", "128GB").stdout


def test_a_named_gpu_shows_its_costs() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--gpu", "4090")
    brief = run(*asked).stdout
    assert "2,634 (2,362-4,100 used 2026-09)" in brief and "0.51 (0.34-0.74 2026-08-22)" in brief
    text = " ".join(run(*asked, "--details").stdout.split())
    costs = ("buy usd 2634.25", "buy basis street", "buy as of 2026-09", "hours per day 8")
    rents = ("rent providers RunPod, YottaLabs.ai", "break even months 25.8", "cheaper own")
    watts = ("running watts 600", "power supply watts 850")
    stands_on = ("buy condition used", "buy low usd 2362", "buy high usd 4100")
    model = ("8,190,735,360", "snapshot of")
    for told in (*costs, *rents, *watts, *stands_on, *model):
        assert told in text, told


def test_models_for_a_card_and_a_machine() -> None:
    """A name of several words needs no quotes; `batch` gives the same answer."""
    result = run("models-for", "rtx", "4090", "--top", "2", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    answer = json.loads(result.stdout)
    assert (answer["gpu"], len(answer["models"])) == ("rtx-4090-24gb", 2)
    line = json.dumps({"task": "models-for", "gpu": "rtx 4090", "top": 2})
    assert json.loads(run("batch", stdin=line).stdout) == answer
    machine = ("models-for", "3090 + 3060 + 64gb ram", "--model-task", "vision", "--top", "2")
    assert "rtx-3090-24gb, rtx-3060-12gb" in run(*machine, "--details").stdout
    assert run("models-for", "--json").returncode == 2
    assert json.loads(run("models-for", "9999", "--json").stdout)["error"]["code"] == "unknown_gpu"


def test_a_log_against_predictions(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    path.write_text(engine_logs.VLLM_V1, encoding="utf-8")
    result = run("log", str(path), "--offline", "--gpu", "H100 80GB")
    assert (result.returncode, result.stderr) == (0, "")
    assert "weights          15.250 GiB  15.268 GiB  +0.1%" in result.stdout
    assert "Measurement: vllm 0.11.0, Qwen/Qwen3-8B, H100 80GB" in result.stdout


def test_a_log_from_a_pipe_needs_a_model() -> None:
    result = run("log", "-", "--offline", "--json", stdin=engine_logs.LLAMA_CPP)
    answer = json.loads(result.stdout)
    assert (result.returncode, answer["comparison"]) == (0, None)
    assert answer["notes"][0]["code"] == "log_model_unknown"
    result = run("log", "-", "--offline", "--model", "Qwen/Qwen3-8B", stdin=engine_logs.LLAMA_CPP)
    assert "kv_cache" in result.stdout and "1.125 GiB" in result.stdout


def test_text_that_is_no_log_is_an_error() -> None:
    result = run("log", "-", "--offline", "--json", stdin="hello\n")
    assert result.returncode == 2
    assert json.loads(result.stdout)["error"]["reason"] == "no_start_up_log"
    assert run("log", "/no/such/file", "--offline").returncode == 2


def test_training_offline() -> None:
    arguments = ("train", "Qwen/Qwen3-8B", "--offline", "--method", "qlora", "--gpu", "4090")
    result = run(*arguments, "--sequence-length", "4096", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    answer = json.loads(result.stdout)
    assert answer["workload"]["sequence_length"] == 4096
    assert answer["ranking"][0]["gpu"] == "rtx-4090-24gb"
    text = run(*arguments)
    assert text.returncode == 0
    assert "QLoRA" in text.stdout or "qlora*" in text.stdout
    assert "note." not in text.stdout and "Traceback" not in text.stderr
    ranked = run("train", "Qwen/Qwen3-8B", "--offline", "--top", "3", "--details").stdout
    methods = re.findall(r"  (full|lora|qlora|dora)  ", ranked.split("\ncheapest\n")[1])
    assert methods[:4] == ["full", "lora", "qlora", "dora"]


@pytest.mark.parametrize("command", ["size", "train", "gpus", "compare", "models-for"])
def test_help_names_every_field_with_its_default(command: str) -> None:
    text = run(command, "--help-all" if command in USUAL else "--help").stdout
    request = REQUESTS[command]
    for field in described_fields(request).values():
        if field.name != POSITIONAL[command]:
            assert f"--{field.name.replace('_', '-')} " in text
    assert text.startswith(f"usage: gpusizer {command} ")


def test_the_shell_takes_no_option_of_another_command() -> None:
    for arguments in (("compare", "4090", "--rank-by", "fastest"), ("gpus", "--context", "5")):
        result = run(*arguments, "--json")
        assert result.returncode == 2
        assert "unrecognized arguments" in json.loads(result.stdout)["error"]["message"]
