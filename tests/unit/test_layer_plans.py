"""Cached elements of each kind of layer, by hand-computed numbers.

Sizes are those of the published configurations and modelling code that the readers name, scaled
down if a test needs few layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gpusizer.hub.tensors import TensorGroup
from gpusizer.memory.engines.base import Split
from gpusizer.memory.engines.vllm.pages import cache_of
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.kv_cache import kv_cache_bytes
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds import CompressedAttention, SlidingAttention
from gpusizer.model.profile import ModelProfile, build_profile
from tests.builders import Config, group, snapshot

SMALL: Config = {
    "architectures": ["NewForCausalLM"],
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 4,
}


def profile(config: Config, tensors: Sequence[TensorGroup] = ()) -> ModelProfile:
    return build_profile(snapshot(tensors or [group("other.weight", (2, 2))], config))


def facts(config: Config, tensors: Sequence[TensorGroup] = (), **more: Any) -> Architecture:
    architecture = profile({**SMALL, **config, **more}, tensors).architecture
    assert architecture is not None
    return architecture


def layers(architecture: Architecture) -> list[tuple[str, int, int | None, int]]:
    """Kind, elements of a token, window and state of each cache."""
    return [
        (
            run.layer.name,
            sum(run.layer.tokens.elements) if run.layer.tokens else 0,
            run.layer.tokens.window if run.layer.tokens else None,
            run.layer.state.size if run.layer.state else 0,
        )
        for run in architecture.layer_plan
        for _ in range(run.count)
    ]


def attention(numbers: Sequence[int]) -> list[TensorGroup]:
    return [
        group(f"model.layers.{{}}.self_attn.{name}.weight", (256, 256), numbers)
        for name in ("k_proj", "v_proj")
    ]


def test_an_unknown_name_is_one_unknown_layer() -> None:
    names = ["linear_attention", "sliding_attention", "brand_new", "brand_new"]
    read = facts(
        {"layer_types": names, "sliding_window": 128, "linear_num_heads": 4, "linear_head_dim": 64}
    )
    assert [kind for kind, *_ in layers(read)] == ["recurrent", "sliding", "full", "full"]
    assert read.unknown_parts == ("2 of 4 layers: brand_new",)


def test_tensors_say_what_an_unknown_layer_keeps() -> None:
    tensors = [
        *attention([0, 1]),
        group("model.layers.{}.mixer.A_log", (512, 16), [1, 2]),
        group("model.layers.{}.mixer.conv1d.weight", (512, 1, 4), [1, 2]),
        group("model.layers.{}.mlp.up_proj.weight", (512, 256), [3]),
    ]
    names = ["full_attention", "brand_new", "brand_new", "mlp"]
    state = 512 * 16 + 512 * 3
    assert layers(facts({"layer_types": names}, tensors)) == [
        ("full", 512, None, 0),
        ("full", 512, None, state),
        ("recurrent", 0, None, state),
        ("none", 0, None, 0),
    ]


def test_projections_beside_a_decay_are_no_attention() -> None:
    tensors = [
        *attention([0, 1, 2, 3]),
        group("model.layers.{}.self_attn.A_log", (4,), [0, 1, 2]),
        group("model.layers.{}.self_attn.q_conv1d.weight", (256, 1, 4), [0, 1, 2]),
    ]
    config = {"linear_attn_config": {"num_heads": 4, "head_dim": 64, "short_conv_kernel_size": 4}}
    read = facts(config, tensors)
    state = 4 * 64 * 64 + 3 * 3 * 4 * 64
    assert layers(read) == [("recurrent", 0, None, state)] * 3 + [("full", 512, None, 0)]
    assert read.unknown_parts == ()


@pytest.mark.parametrize(
    "config, elements",
    [
        # Kimi-Linear, as transformers saves it and as it was published.
        ({"linear_num_heads": 32, "linear_head_dim": 128, "linear_conv_kernel_dim": 4}, 561_152),
        (
            {
                "linear_attn_config": {
                    "num_heads": 32,
                    "head_dim": 128,
                    "short_conv_kernel_size": 4,
                }
            },
            561_152,
        ),
        # Ring 2.5: the heads of attention.
        ({"short_conv_kernel_size": 4, "head_dim": 64}, 4 * 64 * 64 + 3 * 3 * 256),
        ({"lru_width": 2560, "conv1d_width": 4}, 10_240),  # RecurrentGemma
        ({"head_size": 64}, 256 * 64 + 2 * 256),  # RWKV-6
        ({"qk_dim_factor": 0.5, "v_dim_factor": 1.0}, 128 * 256 // 4 + 128 + 4),  # xLSTM
        ({"conv_L_cache": 3}, 512),  # LFM2
        ({}, 4 * 64 * 64),  # MiniMax-Text-01: a matrix for each head of attention
    ],
)
def test_a_recurrent_state_by_its_configuration(config: Config, elements: int) -> None:
    read = facts({"layer_types": ["linear_attention"] * 4, **config})
    assert layers(read) == [("recurrent", 0, None, elements)] * 4


def test_a_state_of_unknown_size_is_said_and_has_no_page() -> None:
    tensors = [*attention([2, 3]), group("model.layers.{}.mixer.A_log", (4,), [0, 1])]
    tensors += [group("model.layers.{}.mixer.conv1d.weight", (512, 1, 4), [0, 1])]
    names = ["mamba", "mamba", "full_attention", "sliding_attention"]
    read = facts({"layer_types": names, "sliding_window": 128}, tensors)
    assert read.unknown_parts == ("2 of 4 layers: recurrent state",)
    cache = cache_of(read, "bf16", Split(1, 1), 2048, vllm_release(None))
    assert sum(stage.bytes_at(8192) for stage in cache) >= kv_cache_bytes(read, 8192, 1, "f16")


def test_attention_and_a_state_in_one_layer() -> None:
    config = {"layer_types": ["hybrid"] * 4, "mamba_d_state": 16, "mamba_d_ssm": 512}
    read = facts({**config, "mamba_n_groups": 1})
    state = 512 * 16 + 3 * (512 + 2 * 16)
    assert layers(read) == [("full", 512, None, state)] * 4
    assert kv_cache_bytes(read, 100, 1, "f16") == 4 * (100 * 512 * 2 + state * 4)


def test_convolutions_of_keys_are_a_state_beside_the_window() -> None:
    conv = [
        group("model.layers.{}.self_attn.k_sconv.conv1d.weight", (256, 1, 4), [0, 1, 2, 3]),
        group("model.layers.{}.self_attn.v_proj.sconv.static_weight", (4, 256), [0]),
        group("model.layers.{}.self_attn.v_sconv.static_w", (4, 256), [3]),
    ]
    names = ["hybrid_sliding"] * 3 + ["hybrid"]
    read = facts(
        {"layer_types": names, "sliding_window_size": 64}, [*attention([0, 1, 2, 3]), *conv]
    )
    assert layers(read) == [
        ("sliding", 512, 64, 2 * 768),
        ("sliding", 512, 64, 768),
        ("sliding", 512, 64, 768),
        ("full", 512, None, 2 * 768),
    ]


def test_what_controls_keys_is_none() -> None:
    """Inkling-2-Loop: `controllers.k.forget_weight` of later passes."""
    controls = group("model.layers.{}.controllers.k.forget_weight", (300, 64), [1, 2])
    assert layers(facts({}, [*attention([0, 1, 2, 3]), controls])) == [("full", 512, None, 0)] * 4


@pytest.mark.parametrize(
    "config, kinds",
    [
        ({"layer_group_size": 3}, ["recurrent", "recurrent", "full", "full"]),
        ({"hybrid_layer_pattern": [0, 1, 1, 0]}, ["full", "sliding", "sliding", "full"]),
        ({"sliding_window_layout": [0, 1, 1, 1]}, ["full", "sliding", "sliding", "sliding"]),
        ({"sliding_window_layers": [1, 3]}, ["full", "sliding", "full", "sliding"]),
        (
            {"block_types": ["recurrent", "recurrent", "attention"], "lru_width": 256},
            ["recurrent", "recurrent", "sliding", "recurrent"],
        ),
        (
            {"mamba_step": 2, "full_attention_idx": [3], "mamba_d_state": 16},
            ["recurrent", "sliding", "recurrent", "full"],
        ),
        (
            {"kv_source_layers": [0, 1, 1, 3], "sliding_window": None},
            ["full", "full", "none", "full"],
        ),
    ],
)
def test_conventions(config: Config, kinds: list[str]) -> None:
    read = facts({"sliding_window": 64, **config})
    assert [kind for kind, *_ in layers(read)] == kinds


def test_the_upper_half_reads_one_cache() -> None:
    config = {"mb_per_layer": 2, "mamba_d_state": 16, "num_hidden_layers": 8}
    windows = [None, 64, None, 64, None, None, None, None]
    read = facts({**config, "sliding_window": windows})
    kinds = [(kind, window) for kind, _, window, _ in layers(read)]
    assert kinds[:4] == [("recurrent", None), ("sliding", 64)] * 2
    assert kinds[4:] == [("recurrent", None), ("full", None), ("none", None), ("none", None)]


def test_layers_with_a_window_have_heads_of_their_own() -> None:
    """Baichuan-M1: 2 heads of 128 without a window, 8 of 256 with it."""
    config = {
        "num_hidden_layers": 2,
        "hidden_size": 5120,
        "num_attention_heads": 40,
        "num_key_value_heads": 2,
        "num_swa_attention_heads": 20,
        "num_swa_key_value_heads": 8,
        "sliding_window": 8192,
        "sliding_window_layers": [1],
    }
    assert layers(facts(config)) == [("full", 512, None, 0), ("sliding", 4096, 8192, 0)]


def test_latents_have_the_widths_of_their_tensors() -> None:
    latents = [
        group("model.layers.{}.self_attn.kv_a_proj_with_mqa.weight", (rows, 256), numbers)
        for rows, numbers in ((576, [0]), (1088, [1]), (512, [2]))
    ]
    config = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "sliding_window": 128}
    names = ["indexed_attention", "sliding_attention", "full_attention"]
    read = facts({**config, "layer_types": names, "num_hidden_layers": 3}, latents)
    assert layers(read) == [("mla", 576, None, 0), ("mla", 1088, 128, 0), ("mla", 512, None, 0)]
    assert [run.layer.facts()["rope_width"] for run in read.layer_plan] == [64, 64, 0]


def test_two_attentions_of_a_layer_are_two_caches() -> None:
    latent = group(
        "model.layers.{}.self_attn.{}.kv_a_proj_with_mqa.weight", (576, 256), range(4), (0, 1)
    )
    read = facts({"kv_lora_rank": 512, "qk_rope_head_dim": 64}, [latent])
    assert (read.layers, layers(read)) == (4, [("mla", 576, None, 0)] * 8)


def test_compressed_layers_by_the_rates_of_their_kinds() -> None:
    config = {
        "layer_types": ["heavily_compressed_attention", "compressed_sparse_attention"],
        "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128},
        "num_hidden_layers": 2,
        "sliding_window": 128,
        "num_key_value_heads": 1,
        "head_dim": 512,
    }
    window = SlidingAttention(512, 0, 1, window=128)
    assert [run.layer for run in facts(config).layer_plan] == [
        CompressedAttention(window, compress_ratio=128),
        CompressedAttention(window, compress_ratio=4),
    ]


def test_an_indexer_beside_ordinary_heads() -> None:
    indexer = group("model.layers.{}.self_attn.indexer.wk.weight", (128, 256), [1])
    read = facts(
        {"indexer_head_dim": 128, "layer_types": ["indexed_attention"] * 4},
        [*attention([0, 1, 2, 3]), indexer],
    )
    assert [run.layer.facts().get("indexer_width") for run in read.layer_plan] == [None, 128, None]
    assert kv_cache_bytes(read, 1000, 1, "f16") == 1000 * 2 * (4 * 512 + 128)


@pytest.mark.parametrize(
    "config, caches",
    [
        ({"total_ut_steps": 4}, 16),
        ({"num_loops": 2}, 8),
        ({"loop_num_passes": 3, "loop_layer_index_start": 1, "loop_layer_index_end": 3}, 8),
        ({"n_recurrent_loops": 2, "n_input_layers": 1, "n_output_layers": 1}, 6),
        ({"n_recurrent_loops": 2, "recurrent_kv_cache_mode": "last_loop"}, 4),
    ],
)
def test_a_loop_keeps_a_cache_for_each_pass(config: Config, caches: int) -> None:
    assert layers(facts(config)) == [("full", 512, None, 0)] * caches


def test_blocks_of_a_list_that_names_feed_forward_apart() -> None:
    """Dory: 72 blocks of 36 layers that are stored; here 8 of 4, whose two inner layers loop."""
    stored = attention(range(4))
    config = {
        "num_hidden_layers": 8,
        "layer_types": ["sliding_attention", "mlp", "full_attention", "mlp"] * 2,
        "sliding_window": 64,
        "n_recurrent_loops": 2,
        "n_input_layers": 2,
        "n_output_layers": 2,
    }
    kinds = [kind for kind, *_ in layers(facts(config, stored))]
    assert kinds == ["sliding", "full", "sliding", "full", "sliding", "full"]


def test_heads_of_a_kind_by_its_name() -> None:
    """Jet-Nemotron: sides below the name of the kind."""
    own = {"num_heads": 4, "head_dim": 64, "expand_v": 2.0, "conv_size": 4}
    config = {
        "layer_types": ["jet", "jet", "attn", "swa"],
        "efficient_attention_config": {"jet": own, "swa": {"window_size": 1152}},
    }
    assert layers(facts(config)) == [
        ("recurrent", 0, None, 4 * 64 * 128 + 3 * 4 * 128),
        ("recurrent", 0, None, 4 * 64 * 128 + 3 * 4 * 128),
        ("full", 512, None, 0),
        ("sliding", 512, 1152, 0),
    ]


def test_later_passes_may_see_a_window() -> None:
    read = facts({"loop_num": 2, "loop_window_size": 64})
    assert layers(read) == [("full", 512, None, 0)] * 4 + [("sliding", 512, 64, 0)] * 4


def test_cycles_that_are_counted_as_layers() -> None:
    stacks = [
        group(f"model.{m}_module.layers.{{}}.mlp.w.weight", (256, 256), range(4)) for m in "HL"
    ]
    read = facts({"num_hidden_layers": 32, "num_layers_per_stack": 4}, stacks)
    assert (read.layers, read.claimed_layers, len(layers(read))) == (4, None, 32)


def test_a_loop_that_no_reader_knows_is_said() -> None:
    assert facts({"inner_loops": 3}).unknown_parts == ("keys: inner_loops",)


def test_widths_are_those_of_the_stack_that_writes() -> None:
    other = [
        group(f"depth_decoder.layers.{{}}.self_attn.{name}.weight", (128, 512), range(2))
        for name in ("k_proj", "v_proj")
    ]
    codec = [group("codec.layers.{}.attn.wk.weight", (64, 64), range(9))]
    read = profile(SMALL, [*attention(range(4)), *other, *codec])
    assert read.architecture is not None
    assert layers(read.architecture) == [("full", 512, None, 0)] * 4
    assert "mtp_layers_counted" not in [note.code for note in read.caveats]


@pytest.mark.parametrize(
    "outer, inner, tied",
    [(False, True, False), (True, False, False), (True, True, True), (None, True, True)],
)
def test_an_embedding_is_tied_where_no_level_denies_it(
    outer: bool | None, inner: bool, tied: bool
) -> None:
    config = {"tie_word_embeddings": outer, "text_config": {**SMALL, "tie_word_embeddings": inner}}
    architecture = profile(config).architecture
    assert architecture is not None
    assert architecture.tied_embeddings is tied


def test_matrices_of_all_experts_are_told_by_their_first_side() -> None:
    tensors = [
        group("model.layers.{}.moe.gate_proj.weight", (8, 128, 256), range(4)),
        group("model.layers.{}.moe.gate.weight", (8, 256), range(4)),
    ]
    config = {**SMALL, "moe_num_experts": 8, "moe_k": 2}
    assert profile(config, tensors).active_parameters == 4 * (2 * 128 * 256 + 8 * 256)


def test_experts_of_unknown_use_are_said() -> None:
    assert facts({"num_experts": 8}).unknown_parts == ("experts: 8",)


def test_layers_of_a_decoder_go_before_the_encoders() -> None:
    config = {"num_hidden_layers": 12, "encoder_layers": 12, "decoder_layers": 6}
    assert facts(config).layers == 6
