"""llama.cpp: placement of layers, tables and cache, and bytes of buffers, computed by hand."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.units import GIB, MIB
from gpusizer.memory.engines import ENGINES, Placement
from gpusizer.memory.engines.llama_buffers import (
    Graph,
    HostWeights,
    compute_buffer,
    streaming_buffer,
)
from gpusizer.memory.engines.llama_cpp import CUDA, METAL, ROCM, VULKAN
from gpusizer.memory.engines.llama_layers import Stage, stages, ubatch
from gpusizer.memory.engines.llama_versions import rules_of
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from tests.builders import group, llama, qwen3_06b, with_tensors
from tests.families import deepseek_r1, gpt_oss_20b, qwen3_moe
from tests.llama_cpp_models import LLAMA_8B, estimate

Q8 = 34 / 32  # bytes of a weight
TABLE = int(128_256 * 4096 * Q8)  # embedding and head have this size each
LAYER = int((2 * 4096 + 2 * 1024 + 3 * 14_336) * 4096 * Q8) + 2 * 4096 * 4  # and two norms


def test_an_untied_embedding_stays_on_the_host_except_under_metal() -> None:
    norm = 4096 * 4
    for device_class in (CUDA, ROCM, VULKAN):
        weights = estimate(device_class=device_class).per_gpu.weights.likely
        assert weights == 32 * LAYER + TABLE + norm
    assert estimate(device_class=METAL).per_gpu.weights.likely == estimate().sizes.total


def test_a_tied_embedding_is_on_the_gpu_once() -> None:
    result = estimate(build_profile(qwen3_06b(head=False)))
    assert result.per_gpu.weights.likely == result.sizes.total


def test_a_table_of_rows_for_each_layer_stays_on_the_host() -> None:
    """Gemma 3n: 262,144 tokens of 35 x 256 values at Q8_0 beside a tied embedding (PR 14400)."""
    text = llama(tied=True, head=False, model_type="gemma3n")
    table = group("model.embed_tokens_per_layer.weight", (262_144, 8960))
    profile = build_profile(with_tensors(text, (*text.components[0].tensors, table)))
    result = estimate(profile)
    assert result.host_bytes == 262_144 * 8960 * Q8
    assert result.per_gpu.weights.likely == estimate(build_profile(text)).per_gpu.weights.likely


def test_a_tied_head_in_the_file_goes_to_the_gpu_and_its_embedding_stays() -> None:
    """Qwen3-0.6B stores both: llama.cpp loads output.weight where there is one."""
    result = estimate(build_profile(qwen3_06b()))
    assert result.host_bytes == 151_936 * 1024 * Q8
    whole = estimate(build_profile(qwen3_06b(head=False)))
    assert result.per_gpu.weights.likely == whole.per_gpu.weights.likely


@pytest.mark.parametrize(
    "layers, gpu_layers, gpus, expected",
    [
        # 33 slots over two GPUs: floor(j x 2 / 33) turns 1 at j = 17
        (32, None, 2, [Stage(0, 17, False), Stage(17, 32, True)]),
        (32, None, 1, [Stage(0, 32, True)]),
        (32, 33, 1, [Stage(0, 32, True)]),
        (32, 32, 1, [Stage(1, 32, True)]),  # one slot is the output
        (32, 1, 1, [Stage(32, 32, True)]),
        (32, 0, 1, [Stage(32, 32, False)]),
        (32, 10, 2, [Stage(23, 28, False), Stage(28, 32, True)]),
    ],
)
def test_layers_fill_gpus_from_the_last(
    layers: int, gpu_layers: int | None, gpus: int, expected: list[Stage]
) -> None:
    assert list(stages(layers, gpu_layers, gpus)) == expected


def test_layers_left_out_take_their_cache_with_them() -> None:
    result = estimate(gpu_layers=11, context=4096)
    assert result.per_gpu.weights.likely == 10 * LAYER + TABLE + 4096 * 4
    assert result.per_gpu.kv_cache.likely == 10 * 4096 * 2 * 1024 * 2
    assert estimate(gpu_layers=0).per_gpu.kv_cache.likely == 0


def test_two_gpus_divide_layers_and_cache() -> None:
    one_gpu, two_gpus = estimate(context=4096), estimate(gpus=2, context=4096)
    # 17 layers are less than 15, the head and the last norm
    assert 17 * LAYER < two_gpus.per_gpu.weights.likely == 15 * LAYER + TABLE + 4096 * 4
    assert two_gpus.per_gpu.kv_cache.likely == one_gpu.per_gpu.kv_cache.likely * 17 // 32
    assert two_gpus.all_gpus.weights.likely == one_gpu.per_gpu.weights.likely
    assert two_gpus.all_gpus.kv_cache.likely == one_gpu.per_gpu.kv_cache.likely
    # inputs of three more batches in flight: mask and hidden states, 8 MiB each
    copies = 3 * (4096 + 4096) * 512 * 4
    assert two_gpus.per_gpu.activations.likely == one_gpu.per_gpu.activations.likely + copies


def test_experts_on_the_host_leave_their_largest_tensor_in_the_buffer() -> None:
    """48 layers of 128 experts: one matrix of 768 x 2048 each at Q8_0 is 204 MiB together."""
    moe = build_profile(qwen3_moe())
    all_here, spared = (
        estimate(moe, cpu_moe=spares, engine_version="b7900") for spares in (False, True)
    )
    experts = 48 * 128 * 3 * int(768 * 2048 * Q8)
    assert all_here.per_gpu.weights.likely - spared.per_gpu.weights.likely == experts
    states = (8 * (768 + 2048) + 3 * 2048 + 8192) * 512 * 4  # eight experts, three states, a mask
    streamed = 128 * int(768 * 2048 * Q8) + states
    assert streamed < all_here.per_gpu.activations.likely  # the logits hide it: 301 MiB
    assert spared.per_gpu.activations.likely == all_here.per_gpu.activations.likely
    wide = estimate(moe, quant="gguf-f16", cpu_moe=True, engine_version="b7900")
    assert wide.per_gpu.activations.likely == 128 * 768 * 2048 * 2 + states


def test_the_converter_splits_fused_gates_and_ups() -> None:
    """gpt-oss-20b: one of two halves of 32 x 2880 x 2880 values in MXFP4 is copied at a time."""
    result = estimate(
        build_profile(gpt_oss_20b()),
        quant="mxfp4_moe",
        context=131_072,
        cpu_moe=True,
        engine_version="b6699",
    )
    half = 32 * 2880 * (2880 // 32) * 17
    # 456.98 MiB logged by build 6699: four experts of 2,880 values, three states, a mask beside
    states = 4 * (2880 + 2880) + 3 * 2880
    assert result.per_gpu.activations.likely == half + (states + 131_072) * 512 * 4
    assert result.per_gpu.activations.likely == pytest.approx(456.98 * MIB, rel=0.015)


@pytest.mark.parametrize(
    ("build", "values"),
    [
        # 128 heads: queries of 192, absorbed into 512, joined to 576; three hidden states, a mask
        ("b7900", 128 * (192 + 512 + 576) + 3 * 7168 + 8192),
        (None, 128 * (192 + 512 + 576) + 3 * 7168 + 8192 // 2),  # in 16 bits since June 2026
        ("b4905", 129_280 + 2 * 7168),  # heads expanded: the logits are larger
    ],
)
def test_queries_of_a_latent_fill_the_buffer(build: str | None, values: int) -> None:
    """R1, in FP32 for a batch of 512."""
    result = estimate(build_profile(deepseek_r1()), context=8192, engine_version=build)
    assert result.per_gpu.activations.likely == values * 512 * 4


@pytest.mark.parametrize(
    "fields, tokens",
    [
        ({}, 512),
        ({"batch_size": 256}, 256),
        ({"ubatch_size": 1024}, 1024),
        ({"ubatch_size": 4096}, 2048),
        ({"context": 100}, 100),
    ],
)
def test_the_physical_batch(fields: dict[str, int], tokens: int) -> None:
    assert ubatch(Workload(**fields)) == tokens  # type: ignore[arg-type]


def test_without_flash_attention_scores_decide() -> None:
    """A published log: Llama-3.1-8B at 131,072 tokens on the CPU reserves 8480 MiB."""
    result = estimate(quant="q3_k_l", context=131_072, flash_attention=False)
    assert result.per_gpu.activations.likely == pytest.approx(8480 * MIB, rel=0.001)


def test_capped_logits_are_held_twice() -> None:
    uncapped, capped = (
        estimate(build_profile(llama(model_type=kind)), engine_version="b7900").per_gpu
        for kind in ("llama", "gemma2")
    )
    assert capped.activations.likely - uncapped.activations.likely == 512 * 128_256 * 4


def test_a_server_reserves_logits_for_its_slots() -> None:
    """Since PR 23861 llama-server, which Ollama starts, needs them for a token of each sequence."""
    bench, server = estimate(engine_version="b7900"), estimate()
    assert bench.per_gpu.activations.likely == (128_256 + 4096 + 14_336) * 512 * 4
    # three values of the MLP's width, three hidden states, a mask of two bytes a cell
    assert server.per_gpu.activations.likely == (3 * 14_336 + 3 * 4096 + 8192 // 2) * 512 * 4
    assert server.per_gpu.activations.high == bench.per_gpu.activations.high
    assert estimate(engine="ollama").per_gpu.activations.likely < bench.per_gpu.activations.likely


@pytest.mark.parametrize(
    "version, slots",
    [("b9399", False), ("b9400", True), ("2026-05", False), ("2026-06-02", True), (None, True)],
)
def test_a_month_is_as_good_as_a_build(version: str | None, slots: bool) -> None:
    assert rules_of(version).slot_logits is slots


BGE_SMALL = build_profile(
    llama(hidden=384, ffn=1536, layers=12, heads=12, kv_heads=12, vocab=30_522, model_type="bert")
)


def test_an_encoder_attends_to_its_batch_alone() -> None:
    """bge-small, without a gate: 1,536 + 2 x 384 values of 512 tokens, 4.50 MiB measured; with four
    layers on the GPU one F16 matrix of 384 x 1,536 more, 5.62 MiB (gguf-parser-go issue 51)."""
    graph = Graph(gated=False)
    arch = BGE_SMALL.architecture
    assert arch is not None
    encoder = replace(arch, generates=False)
    for context in (512, 4096):
        whole = compute_buffer(encoder, Workload(context=context), 1, graph)
        assert whole.likely == 4.5 * MIB
    weights = HostWeights(layer=384 * 1536 * 2, head=0)
    part = streaming_buffer(encoder, Workload(gpu_layers=4), whole, weights, graph)
    assert part.likely == pytest.approx(5.62 * MIB, rel=0.002)


def test_without_a_gpu_nothing_is_copied_to_one() -> None:
    """The output of Llama-3.1-8B: logits and one hidden state; no runtime of a GPU."""
    result = estimate(quant="iq4_xs", backend="cpu", gpu_layers=0, engine_version="b5192")
    assert result.per_gpu.activations.likely == (128_256 + 4096) * 512 * 4
    assert (result.per_gpu.overhead.likely, result.per_gpu.weights.likely) == (0, 0)
    beside = estimate(quant="iq4_xs", gpu_layers=0, engine_version="b5192")
    assert beside.per_gpu.activations.likely > result.per_gpu.activations.likely + 300 * MIB


def test_one_product_of_queries_keys_and_values_stays_alive() -> None:
    """Phi-3-mini on the CPU, 2,048 tokens: 168.01 MiB logged (danbev/learning-ai)."""
    phi = llama(hidden=3072, ffn=8192, layers=32, heads=32, kv_heads=32, vocab=32_064)
    arch = build_profile(phi).architecture
    assert arch is not None
    workload = Workload(context=2048, flash_attention=False, gpu_layers=0)
    fused = compute_buffer(arch, workload, 1, Graph(cpu=True, fused_qkv=True))
    assert fused.likely == pytest.approx(168.01 * MIB, rel=0.001)


def test_the_backend_that_was_asked_for_counts() -> None:
    assert estimate(backend="vulkan").per_gpu.overhead.likely == round(0.18 * GIB)
    assert estimate(backend="metal").per_gpu.weights.likely == estimate().sizes.total


def test_the_runtime_depends_on_the_backend() -> None:
    assert estimate().per_gpu.overhead.likely == round(0.45 * GIB)
    assert estimate(device_class=VULKAN).per_gpu.overhead.likely == round(0.18 * GIB)
    engine = ENGINES["llama.cpp"]
    stacks = ("CUDA", "ROCm", "Metal")
    assert [engine.device_class(8 * GIB, "", stack) for stack in stacks] == [CUDA, ROCM, METAL]


def test_the_longest_context_is_the_last_that_fits() -> None:
    pool = 4096 * 131_072  # 4096 tokens of 128 KiB
    assert ENGINES["llama.cpp"].longest_context(Placement(LLAMA_8B), pool) == 4096


@settings(max_examples=60)
@given(
    layers=st.integers(0, 34),
    context=st.integers(1, 200_000),
    batch=st.integers(1, 4096),
    users=st.integers(1, 8),
    gpus=st.integers(1, 4),
    moe=st.booleans(),
)
def test_more_never_needs_less(
    layers: int, context: int, batch: int, users: int, gpus: int, moe: bool
) -> None:
    profile = build_profile(qwen3_moe()) if moe else LLAMA_8B
    base = Workload(context=context, concurrency=users, ubatch_size=batch, batch_size=batch)

    def need(workload: Workload) -> tuple[int, int]:
        facts = {k: v for k, v in asdict(workload).items() if v is not None}
        whole = estimate(profile, gpus=gpus, **facts).all_gpus
        return whole.weights.likely + whole.kv_cache.likely, whole.total.high

    for more in (
        replace(base, context=context + 1000),
        replace(base, concurrency=users + 1),
        replace(base, ubatch_size=batch + 100, batch_size=batch + 100),
    ):
        assert all(a <= b for a, b in zip(need(base), need(more), strict=True))
    some, further = (replace(base, gpu_layers=n) for n in (layers, layers + 1))
    assert need(some)[0] <= need(further)[0]
    assert need(replace(base, cpu_moe=True))[0] <= need(base)[0]
