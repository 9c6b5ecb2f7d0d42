"""Launch commands: what is asked of an engine, draft models, and several computers."""

from __future__ import annotations

import ast
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import InvalidModelId
from gpusizer.core.messages import Note
from gpusizer.fit.fit import Verdict
from gpusizer.launch import LAUNCHERS, LaunchPlan, launch_command
from gpusizer.launch.base import LaunchDraft
from gpusizer.memory.engines import ENGINES, Split
from tests.asking import size
from tests.drafts import EAGLE3, eagle3, fetching
from tests.launch_plans import GGUF, codes, command_of, flat, plan, text
from tests.sizers import embedded_sizer


@pytest.mark.parametrize("engine", sorted(LAUNCHERS))
def test_a_revision_is_loaded_or_gets_a_note(engine: str) -> None:
    for changes in (GGUF, {}, {"stored": False, "quant": "mlx-4bit", "quant_name": "MLX 4-bit"}):
        launch_plan = plan(engine, **{**changes, "revision": "v2"})
        notes = [n for n in LAUNCHERS[engine](launch_plan).notes if n.code == "launch_no_revision"]
        deaf = engine in ("llama.cpp", "ollama", "mlx")
        assert notes == ([Note("launch_no_revision", engine=engine, revision="v2")] if deaf else [])
        assert ("v2" in text(launch_plan)) is not deaf
        assert "launch_no_revision" not in codes(replace(launch_plan, revision=None))


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "transformers"])
def test_a_quantization_that_engines_cannot_make_needs_another_repository(engine: str) -> None:
    launch_plan = plan(engine, stored=False, quant="awq-int4-g128", quant_name="AWQ INT4 g128")
    assert codes(launch_plan) == ["launch_needs_repository"]
    original = plan(engine, stored=False, quantized=True, quant="fp8", quant_name="FP8")
    assert codes(original) == ["launch_needs_repository"]


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "ollama", "mlx"])
def test_a_cache_type_that_the_engine_lacks_leaves_a_note(engine: str) -> None:
    assert "launch_cache_type" in codes(plan(engine, {"kv_dtype": "q5_1"}))


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
    command = command_of(report)
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
    command = command_of(report)
    assert f"  --gpu-layers {layers} \\\n" in command.text
    fields = {"model": "Qwen/Qwen3-14B", "gpu": "3090", "quant": "q8_0"}
    report = size(embedded_sizer(), fields)
    whole = command_of(report)
    assert "  --gpu-layers all \\\n" in whole.text


def test_an_impossible_name_gets_no_command() -> None:
    report = size(embedded_sizer(), {"model": "gpt2", "gpu": "4090"})
    profile = replace(report.profile, repo_id="x; rm -rf ~")
    with pytest.raises(InvalidModelId):
        launch_command(profile, report.ranking[0].fit.config, report.workload)


def test_every_engine_but_exllama_has_a_command() -> None:
    assert set(ENGINES) - set(LAUNCHERS) == {"exllama"}


SIBLING = LaunchDraft("org/small", "draft_model", "safetensors")
HEAD = LaunchDraft("org/head-eagle3", "eagle3", "safetensors")
BLOCK = LaunchDraft("org/head-DFlash", "dflash", "safetensors")


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_command_names_the_repository_that_was_sized(engine: str) -> None:
    request = {"model": "Qwen/Qwen3-8B", "quant": "native", "gpu": "h100 sxm"}
    sized = size(fetching(eagle3()), {**request, "engine": engine, "draft_model": EAGLE3})
    command = command_of(sized)
    assert EAGLE3 in command.text
    elsewhere = size(fetching(eagle3()), {**request, "engine": engine})
    plain = command_of(elsewhere)
    assert "speculative" not in plain.text


HEAD_NODE = "HEAD_NODE"


def nodes_of(launch_plan: LaunchPlan) -> list[dict[str, Any]]:
    return [
        n.fields
        for n in LAUNCHERS[launch_plan.engine](launch_plan).notes
        if n.code == "launch_nodes"
    ]


def test_vllm_over_several_nodes() -> None:
    """16 GPUs in two machines: a pipeline stage in each, joined by multiprocessing."""
    launch_plan = plan("vllm", split=Split(8, 2), nodes=2)
    assert flat(launch_plan).endswith(
        "--tensor-parallel-size 8 --pipeline-parallel-size 2 --distributed-executor-backend mp "
        "--nnodes 2 --node-rank 0 --master-addr HEAD_NODE"
    )
    assert codes(launch_plan) == ["launch_nodes", "launch_headless"]
    assert nodes_of(launch_plan) == [
        {"nodes": 2, "option": "--node-rank", "values": "0, 1", "address": HEAD_NODE}
    ]


def test_vllm_with_data_ranks_on_several_nodes() -> None:
    """8 ranks of two GPUs, in machines of 8: four in each, the second's begin with rank 4."""
    launch_plan = plan("vllm", split=Split(2, 1, 8, 16), nodes=2)
    assert flat(launch_plan).endswith(
        "--tensor-parallel-size 2 --data-parallel-size 8 --enable-expert-parallel "
        "--data-parallel-size-local 4 --data-parallel-start-rank 0 --data-parallel-address "
        "HEAD_NODE"
    )
    assert codes(launch_plan) == ["launch_nodes", "launch_headless"]
    assert (nodes_of(launch_plan)[0]["option"], nodes_of(launch_plan)[0]["values"]) == (
        "--data-parallel-start-rank",
        "0, 4",
    )
    # four trays of four GPUs: each rank of eight spans two of them
    across = plan("vllm", split=Split(8, 1, 2, 16), nodes=4)
    assert "  --nnodes 4 \\\n  --node-rank 0 \\\n" in text(across)
    assert nodes_of(across)[0]["values"] == "0, 1, 2, 3"
    many = plan("vllm", split=Split(4, 1, 16, 64), nodes=8)
    assert nodes_of(many)[0]["values"] == "0, 2, 4, …, 14"


def test_sglang_over_several_nodes() -> None:
    launch_plan = plan("sglang", split=Split(8, 2), nodes=2)
    assert flat(launch_plan).endswith(
        "--tp-size 8 --pp-size 2 --nnodes 2 --node-rank 0 --dist-init-addr HEAD_NODE:5000"
    )
    assert codes(launch_plan) == ["launch_nodes"]
    assert codes(plan("sglang", split=Split(8, 2), nodes=4)) == ["launch_nodes"]


@pytest.mark.parametrize(
    ("engine", "split", "nodes"),
    [
        ("vllm", Split(3, 3), 2),  # nine GPUs
        ("vllm", Split(2, 1, 3, 6), 2),  # the second of three ranks would be in both
        ("sglang", Split(4, 3), 2),  # the second of three stages would be in both
    ],
)
def test_nodes_that_an_engine_cannot_divide_evenly(engine: str, split: Split, nodes: int) -> None:
    launch_plan = plan(engine, split=split, nodes=nodes)
    assert "HEAD_NODE" not in text(launch_plan)
    assert codes(launch_plan) == ["launch_one_node"]


@pytest.mark.parametrize("engine", sorted(set(LAUNCHERS) - {"vllm", "sglang"}))
def test_a_command_for_one_node_gets_a_note(engine: str) -> None:
    launch_plan = plan(engine, split=Split(pipeline=16), nodes=2, **GGUF)
    notes = [
        note for note in LAUNCHERS[engine](launch_plan).notes if note.code == "launch_one_node"
    ]
    assert notes == [Note("launch_one_node", engine=engine, nodes=2)]
    assert "launch_one_node" not in codes(replace(launch_plan, nodes=1))


def test_nodes_are_those_of_the_plan() -> None:
    """16 boards of A100 are two DGX; eight are one."""
    fields = {"model": "deepseek-ai/DeepSeek-R1", "quant": "native", "engine": "vllm"}
    for boards, nodes in ((16, 2), (8, 1)):
        report = size(embedded_sizer(), {**fields, "gpu": f"{boards} x A100 80GB SXM"})
        fit = report.ranking[0].fit
        assert LaunchPlan.from_config(report.profile, fit.config, report.workload).nodes == nodes
