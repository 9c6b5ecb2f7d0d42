"""Launch commands of all engines: quantization, quoting, offload and notes."""

from __future__ import annotations

import ast
import shlex
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.answers.launch import LAUNCHERS, launch_command
from gpusizer.core.errors import InvalidModelId
from gpusizer.core.messages import Note
from gpusizer.fit.fit import Verdict
from gpusizer.memory.engines import ENGINES
from tests.asking import size
from tests.each import each
from tests.launch_plans import GGUF, codes, plan, text
from tests.sizers import embedded_sizer


@each("engine", sorted(LAUNCHERS))
def test_a_revision_is_loaded_or_gets_a_note(engine: str) -> None:
    for changes in (GGUF, {}, {"stored": False, "quant": "mlx-4bit", "quant_name": "MLX 4-bit"}):
        launch_plan = plan(engine, **{**changes, "revision": "v2"})
        notes = [n for n in LAUNCHERS[engine](launch_plan).notes if n.code == "launch_no_revision"]
        deaf = engine in ("llama.cpp", "ollama", "mlx")
        assert notes == ([Note("launch_no_revision", engine=engine, revision="v2")] if deaf else [])
        assert ("v2" in text(launch_plan)) is not deaf
        assert "launch_no_revision" not in codes(replace(launch_plan, revision=None))


@each("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "transformers"])
def test_a_quantization_that_engines_cannot_make_needs_another_repository(engine: str) -> None:
    launch_plan = plan(engine, stored=False, quant="awq-int4-g128", quant_name="AWQ INT4 g128")
    assert codes(launch_plan) == ["launch_needs_repository"]
    original = plan(engine, stored=False, quantized=True, quant="fp8", quant_name="FP8")
    assert codes(original) == ["launch_needs_repository"]


def test_a_quantized_checkpoint_needs_no_option() -> None:
    launch_plan = plan("vllm", quantized=True, quant="awq-int4-g128", quant_name="AWQ")
    assert "--quantization" not in text(launch_plan) and codes(launch_plan) == []


@each("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "ollama", "mlx"])
def test_a_cache_type_that_the_engine_lacks_leaves_a_note(engine: str) -> None:
    assert "launch_cache_type" in codes(plan(engine, {"kv_dtype": "q5_1"}))


def test_a_checkpoint_in_32_bits_stays_in_32_bits() -> None:
    launch_plan = plan("vllm", quant="fp32", quant_name="FP32")
    assert "--dtype float32" in text(launch_plan)


@given(
    st.sampled_from(sorted(LAUNCHERS)),
    st.text(max_size=40),
    st.booleans(),
    st.sampled_from(["auto", "fp8", "q8_0", "f16", "q8_0/f16"]),
)
@settings(max_examples=150, deadline=None)
def test_untrusted_names_are_quoted_as_one_word(
    engine: str, name: str, gguf: bool, kv_dtype: str
) -> None:
    """A shell or Python parses any name or revision in a command back to the same text."""
    repo = f"org/x{name}"
    launch_plan = plan(
        engine,
        {"kv_dtype": kv_dtype},
        repo_id=repo,
        revision=f"r{name}",
        format="gguf" if gguf else "safetensors",
    )
    command = LAUNCHERS[engine](launch_plan)
    if command.language == "python":
        tree = ast.walk(ast.parse(command.text))
        strings = [node.value for node in tree if isinstance(node, ast.Constant)]
        assert repo in strings and f"r{name}" in strings
    elif engine not in ("llama.cpp", "ollama"):
        assert repo in shlex.split(command.text, comments=False)
    elif gguf:
        assert any(repo in word for word in shlex.split(command.text, comments=False))


def test_a_place_of_a_ranking_gets_its_command() -> None:
    report = size(
        embedded_sizer(),
        {
            "model": "Qwen/Qwen3-8B",
            "gpu": "4090",
            "quant": "bf16",
            "engine": "vllm",
            "context": 16384,
            "kv_dtype": "fp8",
        },
    )
    command = launch_command(report.profile, report.ranking[0].fit, report.workload)
    assert command is not None
    assert command.text == (
        "vllm serve Qwen/Qwen3-8B \\\n"
        "  --max-model-len 16384 \\\n"
        f"  --gpu-memory-utilization {report.ranking[0].fit.estimate.utilization:g} \\\n"
        "  --kv-cache-dtype fp8"
    )


def test_part_of_the_model_in_system_memory() -> None:
    report = size(
        embedded_sizer(),
        {"model": "Qwen/Qwen3-14B", "gpu": "rtx-3060-12gb", "quant": "q8_0", "gpu_count": 1},
    )
    ranked = report.ranking[0]
    assert ranked.fit.verdict is Verdict.OFFLOAD
    layers = next(n.fields["layers"] for n in ranked.reasons if n.code == "layers_that_fit")
    command = launch_command(report.profile, ranked.fit, report.workload)
    assert command is not None and f"  --gpu-layers {layers} \\\n" in command.text
    fields = {"model": "Qwen/Qwen3-14B", "gpu": "3090", "quant": "q8_0"}
    report = size(embedded_sizer(), fields)
    whole = launch_command(report.profile, report.ranking[0].fit, report.workload)
    assert whole is not None and "  --gpu-layers all \\\n" in whole.text


def test_an_impossible_name_gets_no_command() -> None:
    report = size(embedded_sizer(), {"model": "gpt2", "gpu": "4090"})
    profile = replace(report.profile, repo_id="x; rm -rf ~")
    with pytest.raises(InvalidModelId):
        launch_command(profile, report.ranking[0].fit, report.workload)


def test_every_engine_but_exllama_has_a_command() -> None:
    assert set(ENGINES) - set(LAUNCHERS) == {"exllama"}
