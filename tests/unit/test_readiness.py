"""Ways to start a model: by repository, by engine, by a tool, and the resulting command."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bench.measurements import load_profile
from gpusizer.launch import base, snippets
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.quants import find_quant
from gpusizer.memory.readiness import Readiness, readiness
from gpusizer.text import say_note
from gpusizer.usecases.requests.request import SizeRequest
from tests.launch_plans import command_of
from tests.sizers import embedded_sizer

LOADED, MADE, PUBLISHED = Readiness.LOADED, Readiness.MADE, Readiness.PUBLISHED
PLAIN, FP8 = "Qwen/Qwen3-8B", "Qwen/Qwen3-235B-A22B-FP8"
W4A16, OSS = "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "openai/gpt-oss-20b"


@pytest.mark.parametrize(
    "model, quant, engine, expected",
    [
        (PLAIN, "bf16", "vllm", LOADED),
        (PLAIN, "fp8", "vllm", LOADED),  # --quantization fp8
        (PLAIN, "fp8", "tensorrt-llm", PUBLISHED),
        (PLAIN, "nvfp4", "vllm", MADE),
        (PLAIN, "int8", "sglang", MADE),
        (PLAIN, "gptq-int4-g128", "transformers", PUBLISHED),
        (PLAIN, "mxfp4", "vllm", PUBLISHED),
        (PLAIN, "exl3-4.0", "exllama", PUBLISHED),
        (PLAIN, "mlx-4bit", "mlx", LOADED),  # mlx_lm.convert
        (PLAIN, "q4_k_m", "llama.cpp", LOADED),
        (PLAIN, "iq2_xs", "llama.cpp", MADE),  # texts for an importance matrix
        (FP8, "q4_k_m", "llama.cpp", LOADED),  # the converter widens FP8
        (FP8, "gptq-int4-g128", "vllm", PUBLISHED),
        (W4A16, "q4_k_m", "llama.cpp", PUBLISHED),
        (OSS, "mxfp4_moe", "llama.cpp", LOADED),
        (OSS, "q4_k_m", "llama.cpp", PUBLISHED),
        ("BAAI/bge-large-en-v1.5", "q8_0", "llama.cpp", PUBLISHED),
    ],
)
def test_readiness_by_hand(model: str, quant: str, engine: str, expected: Readiness) -> None:
    found = readiness(load_profile(model), find_quant(quant), ENGINES[engine], native=False)
    assert found is expected


def test_what_a_repository_stores_is_ready() -> None:
    profile = load_profile(W4A16)
    assert readiness(profile, find_quant("mxfp4"), ENGINES["vllm"], native=True) is LOADED


@pytest.mark.parametrize(
    "engine, flags",
    [
        *base._CONVERTED.items(),
        ("transformers", {**snippets._BITS, "fp32": ""}),
        ("diffusers", {**snippets._BITS, **snippets._FLOATS, "fp32": ""}),
    ],
)
def test_launchers_have_words_for_what_engines_convert(
    engine: str, flags: Mapping[str, object]
) -> None:
    assert set(ENGINES[engine].abilities.converts) == set(flags)


def test_a_script_makes_what_the_engine_then_loads() -> None:
    fields = {"model": PLAIN, "quant": "nvfp4", "gpu": "5090", "engine": "vllm"}
    report = embedded_sizer().size(SizeRequest.from_fields(fields))
    command = command_of(report)
    before, script, after = command.text.replace("<<'MADE'", "\nMADE\n").split("\nMADE\n")
    assert before.splitlines() == [
        "python -m venv quantizing",
        "quantizing/bin/pip install llmcompressor",
        "quantizing/bin/python - ",
    ]
    compile(script, "script", "exec")
    assert after.startswith("vllm serve ./Qwen3-8B-nvfp4 \\\n  --max-model-len ")
    assert "--quantization" not in after and command.language == "bash"
    (note,) = command.notes
    assert note.code == "launch_makes_quantization"
    assert "Qwen3-8B-nvfp4" in say_note(note, "en")


def test_the_stored_quantization_is_chosen_where_nobody_published_a_better_one() -> None:
    """INT4 of the repository on two A100 40GB, not GPTQ in groups of 32, which it does not hold."""
    fields = {"model": W4A16, "gpu": "2x A100 PCIe 40GB", "concurrency": 16, "context": 1300}
    report = embedded_sizer().size(SizeRequest.from_fields(fields))
    place = report.ranking[0]
    assert place.fit.estimate.native and place.fit.count == 2
    assert command_of(report).text
