"""Parallelism plans of a model on one kind of GPU: machines, degrees, memory, and their start."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice.parallelism_plans import RunPlan
from gpusizer.advice.ranking import Ranked
from gpusizer.core.units import GB
from gpusizer.fit.division import costs, divides, obstacles
from gpusizer.fit.fit import Verdict
from gpusizer.fit.platforms import BoardLink, platforms, setup_of
from gpusizer.gpus import load_catalogue
from gpusizer.launch import launch_command
from gpusizer.memory.engines import Split
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import build_profile
from gpusizer.usecases.requests.request import SizeRequest
from tests.asking import compare, size
from tests.builders import llama
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()
LLAMA = build_profile(llama())


def arch(**fields: Any) -> Architecture:
    """Llama 3.1 8B (32 heads, 8 for keys and values, MLP of 14,336) with other sizes."""
    assert LLAMA.architecture is not None
    return replace(LLAMA.architecture, **fields)


def codes(of: Architecture, tensor: int, *, dealt: bool = False) -> list[str]:
    return [note.code for note in obstacles(of, tensor, dealt=dealt)]


def test_engines_refuse_degrees_that_do_not_divide() -> None:
    assert codes(arch(), 8) == []
    # 3 divides the vocabulary's 128,256 rows, but neither the 32 heads nor the MLP's 14,336 columns
    assert codes(arch(), 3) == ["heads_not_divisible", "width_not_divisible"]
    # Phi-3-medium: 40 heads, 10 of keys and values; vLLM runs it on 1, 2, 5 or 10 GPUs, not 4
    phi = arch(attention_heads=40, kv_heads=10, intermediate_size=17_920, vocab_size=32_064)
    assert codes(phi, 4) == ["kv_heads_not_divisible"]
    assert [n for n in (1, 2, 4, 8) if divides(phi, n)] == [1, 2]
    # 5 does not divide an expert's 768 columns; experts that stay whole are not divided
    moe = arch(experts=128, expert_width=768, attention_heads=40, kv_heads=5, vocab_size=64_000)
    assert codes(moe, 5) == ["width_not_divisible"]
    assert codes(moe, 5, dealt=True) == []


def test_notes_on_padding_and_repeated_heads() -> None:
    """8 heads of keys and values on 16 ranks are there twice; 50,257 rows become 50,304."""
    paid = list(costs(arch(vocab_size=50_257), 16))
    assert [note.code for note in paid] == ["kv_heads_repeated", "vocabulary_padded"]
    assert paid[1].fields == {"rows": 50_257, "padded": 50_304}
    assert list(costs(arch(), 8)) == []


def test_every_platform_is_readable_and_names_a_gpu() -> None:
    rows = platforms()
    assert len(rows) == 92
    assert {row.gpu for row in rows} <= {gpu.slug for gpu in CATALOGUE.gpus}
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.source and row.interconnect for row in rows)


@pytest.mark.parametrize(
    "gpu, boards, platform, nodes, link",
    [
        ("h100-sxm-80gb", 8, "DGX H100", 1, "fabric"),
        ("h100-sxm-80gb", 4, "HGX H100 4-GPU", 1, "fabric"),
        ("h100-sxm-80gb", 16, "DGX H100", 2, "network"),
        ("gb200-186gb", 16, "GB200 NVL72", 4, "fabric"),  # four trays of one rack
        ("gb200-186gb", 72, "GB200 NVL72", 18, "fabric"),
        ("gb200-186gb", 144, "GB200 NVL72", 36, "network"),
        ("rtx-3090-24gb", 2, None, 1, "fabric"),  # a bridge joins two
        ("rtx-3090-24gb", 4, None, 1, "pcie"),
        ("rtx-4090-24gb", 2, None, 1, "pcie"),
        ("rtx-4090-24gb", 16, None, 2, "network"),
        ("a100-pcie-80gb", 4, None, 1, "pcie"),
        ("l40s-48gb", 1, None, 1, "none"),
    ],
)
def test_machines(gpu: str, boards: int, platform: str | None, nodes: int, link: str) -> None:
    setup = setup_of(CATALOGUE.find(gpu), boards)
    assert (setup.platform, setup.nodes, setup.link.kind) == (platform, nodes, link)


def test_links_by_hand() -> None:
    assert setup_of(CATALOGUE.find("h100-sxm-80gb"), 8).link == BoardLink(
        "fabric", "NVLink 4 + NVSwitch (all-to-all)", 900 * GB
    )
    assert setup_of(CATALOGUE.find("4090"), 2).link == BoardLink("pcie", "PCIe 4.0", 64 * GB)


def ranked(model: str, gpu: str, **fields: Any) -> Ranked:
    return size(embedded_sizer(), {"model": model, "gpu": gpu, **fields}).ranking[0]


def kinds(item: Ranked) -> dict[str, RunPlan]:
    return {plan.kind: plan for plan in item.plans}


@pytest.mark.parametrize("boards", [2, 4, 8])
def test_boards_outside_a_known_machine_are_joined_as_the_catalogue_says(boards: int) -> None:
    for gpu in CATALOGUE.gpus:
        setup = setup_of(gpu, boards)
        if setup.platform is None and setup.nodes == 1:
            assert (setup.link.kind == "fabric") is gpu.fabric_joins(boards), gpu.slug


def test_deepseek_on_two_nodes_of_a100() -> None:
    """Matrices are not divided over a network: stages, or experts, go across the two machines."""
    plans = kinds(ranked("deepseek-ai/DeepSeek-R1", "16 x A100 80GB SXM", quant="native"))
    assert plans["single"].verdict is Verdict.DOES_NOT_FIT
    assert (plans["tensor"].fit, plans["tensor"].notes[0].code) == (None, "beyond_one_node")
    tensor_pipeline, expert = plans["tensor_pipeline"], plans["expert"]
    assert (tensor_pipeline.split, tensor_pipeline.nodes, tensor_pipeline.verdict) == (
        Split(8, 2),
        2,
        Verdict.FITS,
    )
    assert (expert.split, expert.verdict) == (Split(8, 1, 2, 16), Verdict.FITS)
    assert (expert.platform, expert.link.kind) == ("DGX A100 640GB", "network")


def test_layers_or_experts_in_system_memory() -> None:
    """Qwen3-30B-A3B at 16 bits on a 12 GB card: all but the experts fits it."""
    plans = kinds(ranked("Qwen/Qwen3-30B-A3B", "3060 12gb", quant="bf16"))
    # 48 layers x 128 experts x 3 x 2048 x 768 x 2 bytes; the input embedding stays there too
    experts, embedding = 48 * 128 * 3 * 2048 * 768 * 2, 151_936 * 2048 * 2
    assert plans["offload_experts"].ram_bytes == experts + embedding
    assert plans["offload_experts"].verdict is Verdict.OFFLOAD
    assert plans["offload_layers"].ram_bytes < experts
    layers, routed = (plans[name].decode for name in ("offload_layers", "offload_experts"))
    assert layers is not None and routed is not None and layers.likely < routed.likely


def test_components_that_wait_are_in_system_memory() -> None:
    fields = {"model": "black-forest-labs/FLUX.1-dev", "gpu": "rtx 5090", "quant": "native"}
    report = size(embedded_sizer(), {**fields, "cpu_offload": "model"})
    place = report.ranking[0]
    waiting_plan = next(plan for plan in place.plans if plan.fit is not None)
    assert waiting_plan.ram_bytes == report.estimates[0].estimate.host_bytes > 0


def test_memory_is_never_pooled() -> None:
    """Two 24 GB cards are not one of 48 GB: each holds its own share, and the fullest decides."""
    for plan in ranked("Qwen/Qwen3-32B", "2x 3090", quant="bf16").plans:
        if plan.fit is not None:
            per_gpu = plan.fit.estimate.per_gpu.total.likely
            assert plan.fit.headroom_bytes <= plan.gpu.device_memory_bytes - per_gpu


def test_one_gpu_only_where_the_model_cannot_be_divided() -> None:
    assert set(kinds(ranked("black-forest-labs/FLUX.1-dev", "4090"))) == {"single"}
    assert "expert" not in kinds(ranked("Qwen/Qwen3-32B", "4090"))
    assert set(kinds(ranked("Qwen/Qwen3-8B", "m3 max 128gb"))) == {"single"}


def test_an_engine_that_does_not_run_on_a_gpu() -> None:
    """No quantization runs under vLLM on a Mac: the answer is a verdict, no error."""
    answer = compare(
        embedded_sizer(),
        {
            "model": "Qwen/Qwen3-8B",
            "engine": "vllm",
            "gpus": ["m3 max 128gb", "rtx 4090"],
        },
    )
    verdicts = [item.ranked.fit.verdict.value for item in answer.items if item.ranked]
    assert verdicts == ["not_supported", "fits"]


@pytest.mark.parametrize(
    "fields, code",
    [
        ({"engine": "vllm", "gpu": "m3 max 128gb"}, "answer_engine_not_supported"),
        ({"gpu": "tpu v5e"}, "answer_not_supported"),
        ({"engine": "vllm", "rig": "3090 + 3060"}, "answer_not_divided"),
    ],
)
def test_only_what_the_question_leaves_is_ruled_out(fields: dict[str, Any], code: str) -> None:
    answer = size(embedded_sizer(), {"model": "Qwen/Qwen3-8B", **fields})
    assert answer.conclusion.said[0].code == code
    reasons = [note.code for place in answer.ranking[:1] for note in place.reasons]
    assert ("verdict_not_supported" in reasons) is (code == "answer_not_supported")


MODELS = (
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-30B-A3B",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "black-forest-labs/FLUX.1-dev",
)
_PLACEHOLDER = re.compile(r"\b(?:OWNER|NAME|ORG|DRAFT)\b")


@pytest.mark.parametrize("model", MODELS)
def test_no_command_holds_a_blank_to_fill_in(model: str) -> None:
    report = embedded_sizer().size(SizeRequest.from_fields({"model": model, "top": 40}))
    assert report.ranking
    for place in report.ranking:
        command = launch_command(report.profile, place.fit.config, report.workload)
        assert not _PLACEHOLDER.search(command.text)
        assert command.text or command.notes, place.fit.gpu.name
