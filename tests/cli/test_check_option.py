"""`--check` ends with 4 where what was asked for does not hold; the answer stays what it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import pytest

from gpusizer.cli.command_list import COMMANDS
from tests.cli.test_cli import ENVIRONMENT, ROOT, run, run_process
from tests.priced_day import priced_day

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

QWEN, LARGE, MOE, GPT2 = "Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B", "gpt2"
CARD = ("--gpu", "4090")
RATE = ("--requests-per-second", "5", "--prompt-tokens", "500", "--answer-tokens", "100")  #

YES: dict[str, Sequence[str]] = {
    "it fits": ("size", QWEN, *CARD),
    "on each of several": ("size", QWEN, "--gpu", "4090, 3090, m3 max 128gb"),
    "as many as are named": ("size", LARGE, "--gpu", "8x h100", "--quant", "bf16"),
    "as many as its degrees take": (
        *("size", LARGE, "--gpu", "h100", "--quant", "bf16"),
        *("--tensor-parallel", "2"),
    ),
    "a card that is described": ("size", QWEN, "--gpu", "custom:24GB@1000GB/s"),
    "one of several quantizations": ("size", LARGE, *CARD, "--quant", "bf16, q4_k_m"),
    "a machine": ("size", LARGE, "--rig", "3090 + 3060 + 64gb ram"),
    "a machine as a GPU": ("size", LARGE, "--gpu", "3090 + 3060 + 64gb ram"),
    "any GPU": ("size", GPT2),
    "any GPU within limits": ("size", QWEN, "--max-usd", "1000", "--min-tok-s", "20"),
    "fast and cheap enough": (
        *("size", QWEN, *CARD, "--min-tok-s", "20", "--max-usd", "3000"),
        *("--max-usd-per-hour", "1", "--max-watts", "450", "--max-loss", "small"),
    ),
    "the reader's own price": ("size", QWEN, *CARD, "--gpu-usd", "500", "--max-usd", "600"),
    "a default context beyond the model": ("size", GPT2, *CARD),
    "several users": ("size", QWEN, *CARD, "--concurrency", "8"),
    "a plan": ("size", QWEN, "--gpu", "3090", *RATE, "--ttft-ms", "3000"),
    "a plan on any GPU": ("size", QWEN, *RATE, "--ttft-ms", "3000", "--max-usd", "5000"),
    "a load whose replicas take several boards": ("size", LARGE, "--gpu", "a30-24gb", *RATE),
    "training": ("train", QWEN, "--method", "qlora", *CARD),
    "training on as many as are named": (
        *("train", QWEN, "--gpu", "2x4090"),
        *("--tensor-parallel", "2"),
    ),
    "training on any GPU": ("train", QWEN, "--method", "qlora", "--min-tok-s", "1000"),
}
NO: dict[str, tuple[Sequence[str], str]] = {
    "it is tight": (
        ("size", QWEN, *CARD, "--quant", "bf16", "--usable-gb", "17.5"),
        "just fits on GeForce RTX 4090 24GB .* not at the high end",
    ),
    "a part in system memory": (
        ("size", MOE, "--gpu", "3060 + 64 GB RAM"),
        "holds a part of Qwen3-30B-A3B .* system memory",
    ),
    "a part on the disk": (
        (
            *("size", "Qwen/Qwen3-235B-A22B", "--gpu", "3090", "--ram-gb", "64"),
            *("--quant", "q4_k_m"),
        ),
        "Only from the disk",
    ),
    "too large": (
        ("size", LARGE, *CARD, "--gpu-count", "1", "--quant", "native"),
        r"in BF16 / FP16 it is 43\.\d GiB",
    ),
    "not supported": (
        (
            *("size", "RedHatAI/Llama-3.3-70B-Instruct-NVFP4"),
            *("--gpu", "4x v100 32gb", "--quant", "native"),
        ),
        "No engine runs .* NVFP4 needs",
    ),
    "one of several GPUs": (
        ("size", QWEN, "--gpu", "4090, 1x 3060", "--quant", "bf16"),
        "does not fit on GeForce RTX 3060 12GB: [^.]*[.]\\d+ GiB too large[.]$",
    ),
    "more boards than are named": (
        ("size", LARGE, "--gpu", "a30-24gb", "--quant", "bf16"),
        "It takes 4 × A30 24GB",
    ),
    "a machine": (
        ("size", "openai/gpt-oss-120b", "--rig", "3090 + 3060 + 64gb ram"),
        "GeForce RTX 3090 24GB [+] GeForce RTX 3060 12GB holds a part",
    ),
    "a machine beside a GPU": (
        ("size", LARGE, *CARD, "--rig", "3060 + 64gb ram"),
        "failed: GeForce RTX 3060 12GB holds a part",
    ),
    "no card that is described": (
        ("size", LARGE, "--gpu", "custom:16GB@500GB/s", "--quant", "q8_0"),
        "Custom card, 16 GB",
    ),
    "too slow": (
        ("size", QWEN, *CARD, "--quant", "bf16", "--min-tok-s", "500"),
        r"min_tok_s asks for 500, and 4\d(\.\d)? is likely",
    ),
    "a speed that is unknown": (
        ("size", QWEN, "--gpu", "custom:24GB", "--min-tok-s", "1"),
        "min_tok_s asks for 1, and what it would be there is not known",
    ),
    "too dear": (("size", QWEN, *CARD, "--max-usd", "1000"), "max_usd asks for 1,000, and 2,"),
    "a price that is unknown": (
        ("size", QWEN, "--gpu", "custom:24GB@1000GB/s", "--max-usd-per-hour", "9"),
        "max_usd_per_hour asks for 9, and what it would be there is not known",
    ),
    "too much power": (("size", QWEN, *CARD, "--max-watts", "300"), "max_watts asks for 300"),
    "a greater loss": (
        ("size", QWEN, "--gpu", "3060", "--quant", "q2_k", "--max-loss", "small"),
        "GGUF Q2_K loses more than max_loss asks for: large loss",
    ),
    "a longer context": (("size", GPT2, *CARD, "--context", "8192"), "model's 1,024"),
    "too many users": (
        ("size", QWEN, *CARD, "--quant", "bf16", "--concurrency", "64"),
        "GeForce RTX 4090 24GB",
    ),
    "a first token without a rate": (
        ("size", QWEN, *CARD, "--ttft-ms", "5000"),
        "ttft_ms is of requests_per_second",
    ),
    "a plan that misses its target": (
        ("size", QWEN, "--gpu", "3090", *RATE, "--ttft-ms", "5"),
        "No number of replicas on GeForce RTX 3090 24GB answers 5 requests a second to Qwen3-8B",
    ),
    "a plan whose replicas are tight": (
        (
            *("size", QWEN, "--gpu", "1x4090", "--quant", "bf16", "--engine", "llama.cpp"),
            *("--usable-gb", "16.4", *RATE, "--requests-per-second", "0.05"),
        ),
        "just fits on GeForce RTX 4090 24GB",
    ),
    "a plan on one of two numbers": (
        ("size", LARGE, "--gpu", "1x4090, 8x4090", "--quant", "bf16", *RATE),
        "failed: No number of replicas on GeForce RTX 4090 24GB answers [^.]*[.]$",
    ),
    "a plan on one of two GPUs": (
        ("size", QWEN, "--gpu", "3090, 1x p100", *RATE, "--ttft-ms", "300"),
        "No number of replicas on Tesla P100",
    ),
    "a plan that is too dear": (
        ("size", QWEN, "--gpu", "3090, h100", *RATE, "--max-usd", "9000"),
        "failed: On H100 SXM5 80GB, max_usd asks for 9,000, and 1[0-9],",
    ),
    "a plan that is too slow": (
        ("size", QWEN, "--gpu", "3090", *RATE, "--min-tok-s", "400"),
        "min_tok_s asks for 400",
    ),
    "a plan for fewer users": (
        ("size", QWEN, "--gpu", "2x3090", *RATE, "--concurrency", "2000"),
        "concurrency asks for 2,000",
    ),
    "a plan for a model without text": (
        ("size", "BAAI/bge-large-en-v1.5", *CARD, "--requests-per-second", "5"),
        "No number of replicas",
    ),
    "no plan on any GPU": (
        ("size", QWEN, *RATE, "--ttft-ms", "2"),
        "No GPUs in the plan answer 5 requests per second with Qwen3-8B",
    ),
    "a rate on a machine": (
        ("size", QWEN, "--rig", "2x3090", *RATE),
        "requests_per_second asks for 5, and what it would be there is not known",
    ),
    "no GPU within limits": (("size", LARGE, "--max-usd", "50"), "No GPU"),
    "no listed GPU": (
        ("size", QWEN, "--min-tok-s", "50000", "--top", "1"),
        "None of those listed holds all that is asked for",
    ),
    "no listed GPU alone": (
        ("size", "deepseek-ai/DeepSeek-R1", "--gpu-count", "1", "--quant", "bf16", "--top", "1"),
        r"gpu_count asks for 1, and \d+ is likely",
    ),
    "training that is tight": (
        ("train", QWEN, "--method", "qlora", *CARD, "--usable-gb", "15"),
        "QLoRA fine-tuning of Qwen3-8B just fits",
    ),
    "training too large": (
        ("train", QWEN, "--method", "full", "--gpu", "1x4090"),
        "full fine-tuning of Qwen3-8B does not fit on GeForce RTX 4090 24GB",
    ),
    "training on more than are named": (
        ("train", QWEN, *CARD, "--tensor-parallel", "2"),
        "It takes 2 × GeForce RTX 4090 24GB",
    ),
    "training on one of two": (
        ("train", QWEN, "--method", "qlora", "--gpu", "4090, 1x gtx 1060"),
        "does not fit on GeForce GTX 1060",
    ),
    "training too slow": (
        ("train", QWEN, "--method", "qlora", *CARD, "--min-tok-s", "90000"),
        "min_tok_s asks for 90,000, and 1,",
    ),
    "training at an unknown speed": (
        ("train", QWEN, "--gpu", "custom:80GB", "--min-tok-s", "1"),
        "min_tok_s asks for 1, and what it would be there is not known",
    ),
    "training on no GPU": (
        (
            "train",
            QWEN,
            "--method",
            "full",
            "--gpu-count",
            "1",
            "--optimizer",
            "adamw",
            "--sequence-length",
            "10000000",
        ),
        "No GPU in the catalogue holds full fine-tuning",
    ),
}


def checked(*words: str) -> subprocess.CompletedProcess[str]:
    return run(*words, "--offline", "--check")


@pytest.mark.parametrize("name", YES)
def test_yes(name: str) -> None:
    result = checked(*YES[name])
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", NO)
def test_no_with_its_reason(name: str) -> None:
    words, reason = NO[name]
    result = checked(*words)
    assert result.returncode == 4, result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith("gpusizer: check failed: ") and re.search(reason, line), line


@pytest.mark.parametrize(
    "name", ["too large", "a plan that misses its target", "training too large"]
)
@pytest.mark.parametrize("form", ["--json", "--details", ""])
def test_the_answer_stays_what_it_is(name: str, form: str) -> None:
    words = (*NO[name][0], *([form] if form else []))
    plain = run(*words, "--offline")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert checked(*words).stdout == plain.stdout


@pytest.mark.parametrize(
    "words, code",
    [
        (("size", "org/unknown", *CARD), 3),
        (("train", "org/unknown", *CARD), 3),
        (("size", QWEN, "--gpu", "rtx 9999"), 2),
        (("train", QWEN, "--gpu", "4090, rtx 9999"), 2),
        (("size", LARGE, *CARD, "--quant", "q99"), 2),
        (("size", "a model with spaces"), 2),
    ],
)
def test_errors_keep_their_codes(words: Sequence[str], code: int) -> None:
    result = checked(*words, "--json")
    assert result.returncode == code
    assert "error" in json.loads(result.stdout) and "check failed" not in result.stderr


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"size", "train"}))
def test_no_other_command_takes_it(command: str) -> None:
    result = run(
        command,
        *(["4090"] if command in ("compare", "log", "check", "lock", "desk") else []),
        "--check",
    )
    assert result.returncode == 2
    assert "unrecognized arguments: --check" in result.stderr


def test_a_process_ends_with_the_code() -> None:
    one = (*CARD, "--gpu-count", "1", "--quant", "native")
    no = run_process("size", LARGE, *one, "--offline", "--check", "--json")
    (place,) = json.loads(no.stdout)["ranking"]
    assert (no.returncode, place["verdict"]) == (4, "does_not_fit")
    assert no.stderr.startswith("gpusizer: check failed: ") and no.stderr.count("\n") == 1
    yes = run_process("size", GPT2, *CARD, "--offline", "--check", "--json")
    assert (yes.returncode, yes.stderr) == (0, "")


@pytest.mark.parametrize("form", ["--json", "--details"])
def test_who_closes_the_pipe_still_reads_the_code(form: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = ("size", LARGE, *CARD, "--quant", "native", "--offline", "--check", form)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "gpusizer", *words],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
    assert done.returncode == 4 and done.stderr.count("\n") == 1, done.stderr


MODELS = (GPT2, QWEN, MOE, "openai/gpt-oss-120b", "black-forest-labs/FLUX.1-dev")
GPUS = ("3060", "4090", "2x3090", "m3 max 128gb", "a30-24gb", "8x h100", "3060 + 64 GB RAM")


def test_the_code_is_what_the_document_says() -> None:
    """For one GPU and for two together, in the chosen quantization and as stored."""
    codes = set()
    for model, gpu in product(MODELS, GPUS):
        code, place = document("size", model, gpu)
        assert code == (0 if holds(gpu, place) else 4), (model, gpu)
        codes.add(code)
    assert codes == {0, 4}
    for model, (one, other) in product(MODELS, pairwise(GPUS)):
        both = checked("size", model, "--gpu", f"{one}, {other}", "--quant", "native", "--json")
        pairs = zip((one, other), json.loads(both.stdout)["ranking"], strict=True)
        expected = 0 if all([holds(gpu, place) for gpu, place in pairs]) else 4
        assert both.returncode == expected, (model, one, other)


def document(command: str, model: str, gpu: str, *more: str) -> tuple[int, Any]:
    """Return the exit code and the only place of an answer."""
    result = checked(command, model, "--gpu", gpu, *more, "--json")
    (place,) = json.loads(result.stdout)["ranking"]
    return result.returncode, place


def holds(gpu: str, place: Any) -> bool:
    """Whether a place is on no more boards than are named, and fits at the high end."""
    number = re.match(r"(\d+)x", gpu)
    named = int(number[1]) if number else 1
    return place["verdict"] == "fits" and place["count"] <= named


def test_less_memory_never_turns_no_into_yes() -> None:
    """Down from what surely holds it: yes exactly while the verdict is "fits"."""
    codes, verdicts = [], []
    for usable in (20, 18.5, 18, 17.5, 17, 16.5, 16, 12):
        words = ("--quant", "bf16", "--engine", "llama.cpp", "--usable-gb", str(usable))
        code, place = document("size", QWEN, "1x 4090", *words)
        codes.append(code)
        verdicts.append(place["verdict"])
    assert codes == sorted(codes) and {"fits", "tight", "offload"} <= set(verdicts)
    assert [code == 0 for code in codes] == [verdict == "fits" for verdict in verdicts]
