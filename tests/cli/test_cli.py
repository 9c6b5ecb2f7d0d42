"""The shell as a process: one JSON document on stdout, words on stderr, meaningful exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import engine_logs

ROOT = Path(__file__).resolve().parents[2]
# A port nobody listens on: an accidental request fails at once instead of leaving the machine.
NO_HUB = "http://127.0.0.1:9"


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpusizer", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "HF_ENDPOINT": NO_HUB,
            "HF_HUB_OFFLINE": "",
            "GPUSIZER_CACHE_DIR": "off",
        },
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_deepseek_r1_offline() -> None:
    done = run("size", "deepseek-ai/DeepSeek-R1", "--offline", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    model = json.loads(done.stdout)["model"]
    assert model["parameters"] == 684_489_845_504
    assert sum(model["stored_parameters_by_dtype"].values()) == 684_531_386_000
    assert model["weight_bytes"] == 688_574_839_360
    assert (model["file_count"], model["tensor_count"]) == (163, 91_991)
    assert model["source"] == "snapshot"


def test_a_table_for_people() -> None:
    done = run("size", "Qwen/Qwen3-8B", "--offline", "--context", "4096", "--gpu", "4090")
    assert done.returncode == 0
    assert "8,190,735,360" in done.stdout
    assert "GeForce RTX 4090 24GB" in done.stdout
    assert "snapshot of" in done.stdout
    assert "note." not in done.stdout and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
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
    done = run(*arguments, "--json")
    assert done.returncode == exit_code
    answer = json.loads(done.stdout)
    assert answer["error"]["code"] == code
    assert answer["error"]["message"] in done.stderr
    assert "Traceback" not in done.stderr


def test_without_json_errors_leave_stdout_empty() -> None:
    done = run("size", "not a model")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpusizer: ")


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
    done = run("batch", "-", "--offline", stdin=stdin)
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [
        None, "invalid_model_id", None, "invalid_request", "invalid_request", None,
        None, "invalid_request", "invalid_request",
    ]  # fmt: skip
    assert answers[0]["model"]["parameters"] == 124_439_808
    assert answers[5]["model"]["parameters"] == 596_049_920
    assert answers[6]["estimates"][0]["trainable_parameters"] == 596_049_920


def test_batch_reads_a_file(tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"model": "gpt2", "top": 1}\n', encoding="utf-8")
    done = run("batch", str(requests), "--offline")
    assert json.loads(done.stdout)["model"]["repo_id"] == "openai-community/gpt2"
    missing = run("batch", str(tmp_path / "absent.jsonl"))
    assert missing.returncode == 2
    assert json.loads(missing.stdout)["error"]["code"] == "invalid_request"


def test_the_catalogue() -> None:
    done = run("gpus", "rtx", "4090", "--json")
    slugs = [gpu["slug"] for gpu in json.loads(done.stdout)["gpus"]]
    assert "rtx-4090-24gb" in slugs and len(slugs) < 10
    assert len(json.loads(run("gpus", "--json").stdout)["gpus"]) == 301
    assert "RTX 4090" in run("gpus", "4090").stdout


def test_compare_side_by_side() -> None:
    done = run("compare", "4090", "2x3090", "--model", "Qwen/Qwen3-32B", "--offline", "--json")
    data = json.loads(done.stdout)
    assert [gpu["fit"]["count"] for gpu in data["gpus"]] == [1, 2]
    text = run("compare", "4090", "a6000").stdout
    assert "RTX A6000" in text and "768" in text


def test_a_narrowed_ranking_says_why_and_what_it_costs() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--vendor", "amd", "--max-usd", "1500")
    done = run(*asked, "--rank-by", "cheapest-to-run", "--hours-per-day", "12", "--json")
    answer = json.loads(done.stdout)
    first = answer["ranking"][0]
    assert "for a million tokens" in first["why"] and "GB to spare" in first["why"]
    assert first["price"]["buy_usd"] <= 1500
    assert first["price"]["assumptions"]["hours_per_day"] == 12
    assert {note["code"] for note in answer["notes"]} == {"unknown_figures_left_out"}
    text = run(*asked, "--rank-by", "headroom").stdout
    assert "free in all" in text and "Left out:" in text
    nothing = run("size", "Qwen/Qwen3-8B", "--offline", "--vendor", "amd", "--software", "cuda")
    assert "No GPU of the catalogue passes these filters." in nothing.stdout


def test_a_named_gpu_shows_its_costs() -> None:
    text = run("size", "Qwen/Qwen3-8B", "--offline", "--gpu", "4090").stdout
    assert "buy: $2,200 (street price, 2026)" in text
    assert "rent: $0.51/h, $0.34 to $0.74 (RunPod, YottaLabs.ai; 2026-08-22)" in text
    assert "own: buying pays off after 21.5 months (at 8 h/day, written off in 3 years)" in text
    assert "up to 600 W with its computer; a supply of 850 W" in text


def test_purposes_are_shown_with_their_criteria() -> None:
    listed = json.loads(run("gpus", "p6000", "--json").stdout)["gpus"][0]
    assert (listed["purpose"]["label"], listed["rental"]) == ("neither", None)
    assert "no matrix units" in listed["purpose"]["message"]
    light = json.loads(run("gpus", "--max-watts", "75", "--segment", "datacenter", "--json").stdout)
    assert {"l4-24gb", "tesla-t4-16gb"} <= {gpu["slug"] for gpu in light["gpus"]}
    text = run("compare", "a100", "l40s").stdout
    assert "A100 SXM4 80GB: Made for training." in text
    assert "training.several_boards: fabric" in text


def test_models_for_a_card_and_a_machine() -> None:
    """The words of a name need no quotes; the same question in a batch gives the same answer."""
    done = run("models-for", "rtx", "4090", "--top", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert (answer["gpu"], len(answer["models"])) == ("rtx-4090-24gb", 2)
    line = json.dumps({"task": "models-for", "gpu": "rtx 4090", "top": 2})
    assert json.loads(run("batch", stdin=line).stdout) == answer
    table = run("models-for", "3090 + 3060 + 64gb ram", "--model-task", "vision", "--top", "2")
    assert "Models for 3090 + 3060 + 64gb ram" in table.stdout
    assert run("models-for", "--json").returncode == 2
    assert json.loads(run("models-for", "9999", "--json").stdout)["error"]["code"] == "unknown_gpu"


def test_a_machine_of_mixed_cards() -> None:
    done = run("size", "Qwen/Qwen3-32B", "--offline", "--rig", "3090 + 3060 + 64gb ram")
    assert done.returncode == 0
    assert "-ngl 65" in done.stdout
    assert "system memory" in done.stdout
    refused = run("size", "Qwen/Qwen3-32B", "--offline", "--rig", "m3 max 128gb + 3090", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (
        2, "invalid_request",
    )  # fmt: skip


def test_a_log_against_predictions(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    path.write_text(engine_logs.VLLM_V1, encoding="utf-8")
    done = run("log", str(path), "--offline", "--gpu", "H100 80GB")
    assert (done.returncode, done.stderr) == (0, "")
    assert "weights          15.250 GiB  15.268 GiB  +0.1%" in done.stdout
    assert "Measurement: vllm 0.11.0, Qwen/Qwen3-8B, H100 80GB" in done.stdout


def test_a_log_from_a_pipe_needs_a_model() -> None:
    done = run("log", "-", "--offline", "--json", stdin=engine_logs.LLAMA_CPP)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["comparison"]) == (0, None)
    assert answer["notes"][0]["code"] == "log_model_unknown"
    done = run("log", "-", "--offline", "--model", "Qwen/Qwen3-8B", stdin=engine_logs.LLAMA_CPP)
    assert "kv_cache" in done.stdout and "1.125 GiB" in done.stdout


def test_what_is_no_log_is_an_error() -> None:
    done = run("log", "-", "--offline", "--json", stdin="hello\n")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["reason"] == "no_start_up_log"
    assert run("log", "/no/such/file", "--offline").returncode == 2


def test_other_commands_do_not_load_logs() -> None:
    code = (
        "import sys; from gpusizer.__main__ import main;"
        "main(['size', 'gpt2', '--offline', '--json']);"
        "print([m for m in sys.modules if m.startswith(('gpusizer.logs', 'gpusizer.launch'))],"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={**os.environ, "GPUSIZER_CACHE_DIR": "off"},
    )  # fmt: skip
    assert done.stderr.strip() == "[]"


def test_training_offline() -> None:
    asked = ("train", "Qwen/Qwen3-8B", "--offline", "--method", "qlora", "--gpu", "4090")
    done = run(*asked, "--sequence-length", "4096", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["workload"]["sequence_length"] == 4096
    assert answer["ranking"][0]["gpu"] == "rtx-4090-24gb"
    text = run(*asked)
    assert text.returncode == 0
    assert "QLoRA" in text.stdout or "qlora*" in text.stdout
    assert "note." not in text.stdout and "Traceback" not in text.stderr
    ranked = run("train", "Qwen/Qwen3-8B", "--offline", "--top", "3").stdout
    assert "Least rent for each method" in ranked


def test_other_commands_start_without_training() -> None:
    code = (
        "import sys; from gpusizer.cli import run; run(['gpus', 'h100', '--json'],"
        " lambda offline: __import__('tests.sizers', fromlist=['x']).embedded_sizer());"
        " sys.exit(any(name.startswith('gpusizer.training') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=60)
    assert done.returncode == 0
