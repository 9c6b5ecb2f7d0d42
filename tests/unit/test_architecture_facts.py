"""gpusizer.model.architecture: one set of facts from many spellings, and from shapes alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.architecture.config import SYNONYMS, class_defaults, view
from gpusizer.model.architecture.layer_kinds import LayerWord, RecurrentLayer
from gpusizer.model.architecture.rotary import Rotary
from gpusizer.model.profile import build_profile
from tests.builders import Config, group, llama, snapshot, tiny, without_keys
from tests.families import deepseek_r1, gemma3_1b, gpt2, gpt_oss_20b, mixtral, qwen3_moe, qwen3_next


def architecture(repo: RepoSnapshot) -> Architecture:
    facts = build_profile(repo).architecture
    assert facts is not None
    return facts


def of_config(config: Config) -> Architecture:
    """Architecture from a configuration alone, beside a tensor that says nothing."""
    return architecture(snapshot([group("other.weight", (2, 2))], config))


SMALL = {"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4}


@pytest.mark.parametrize("fact, key", [(f, key) for f in SYNONYMS for key in SYNONYMS[f]])
def test_every_spelling_of_a_fact_is_read(fact: str, key: str) -> None:
    assert view({"model_type": "new_model", key: 48}).integer(fact) == 48


@pytest.mark.parametrize(
    "config",
    [
        {"text_config": SMALL},
        {"llm_config": SMALL},
        {"decoder_config": SMALL, "text_config": {**SMALL, "num_hidden_layers": 9}},  # CLVP
        {"language_config": SMALL},
        {"thinker_config": {"text_config": SMALL}},
        {"model_type": "m", "vision_config": {"hidden_size": 999}, "text_config": SMALL},
        {**SMALL, "decoder": {"num_hidden_layers": 2}},  # complete outside: stay outside
    ],
)
def test_the_language_model_is_found_where_it_is_nested(config: Config) -> None:
    facts = of_config(config)
    assert (facts.layers, facts.hidden_size, facts.attention_heads) == (4, 256, 4)


@pytest.mark.parametrize(
    "value",
    [None, True, "32", -1, 0, 2.5, float("nan"), float("inf"), 10**308, [], [1, 2], {"a": 1}],
)
def test_a_value_of_the_wrong_kind_counts_as_absent(value: Any) -> None:
    assert view({"num_key_value_heads": value}).integer("kv_heads") is None


@pytest.mark.parametrize(("value", "expected"), [(8.0, 8), ([6, 6, 6], 6), (10**9, 10**9)])
def test_odd_but_clear_numbers_are_read(value: Any, expected: int) -> None:
    assert view({"num_key_value_heads": value}).integer("kv_heads") == expected


def test_an_unusable_synonym_does_not_hide_a_good_one() -> None:
    assert view({"num_hidden_layers": "?", "n_layer": 7}).integer("layers") == 7


FULL, SLIDING, CHUNKED = "full", "sliding", "chunked"
RECURRENT, NONE, CROSS = "recurrent", "none", "cross"


@pytest.mark.parametrize(
    "config, kinds",
    [
        ({}, [FULL] * 4),
        ({"sliding_window": 512}, [SLIDING] * 4),
        ({"sliding_window": 512, "use_sliding_window": False}, [FULL] * 4),
        ({"model_type": "mistral", "sliding_window": None}, [FULL] * 4),
        ({"model_type": "mistral"}, [SLIDING] * 4),  # its class defaults to a window
        ({"sliding_window": 9, "sliding_window_pattern": 2}, [SLIDING, FULL, SLIDING, FULL]),
        (
            {
                "layer_types": ["full_attention", "sliding_attention", "mamba", "mlp"],
                "sliding_window": 8,
            },
            [FULL, SLIDING, RECURRENT, NONE],
        ),
        (
            {"layer_types": ["full_attention", "no_such_thing", "mamba", "mlp"]},
            [FULL, FULL, RECURRENT, NONE],
        ),
        ({"layer_types": ["no_such_thing"] * 4}, [FULL] * 4),
        ({"layer_types": ["mamba"]}, [FULL] * 4),  # too short to mean these layers
        (
            {"layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"]},
            [RECURRENT, FULL, RECURRENT, FULL],
        ),
        ({"hybrid_override_pattern": "M*-E"}, [RECURRENT, FULL, NONE, NONE]),
        ({"attn_type_list": [0, 0, 1, 0]}, [RECURRENT, RECURRENT, FULL, RECURRENT]),
        ({"attn_layer_indices": [1, 3]}, [RECURRENT, FULL, RECURRENT, FULL]),
        ({"full_attn_idxs": [0]}, [FULL, RECURRENT, RECURRENT, RECURRENT]),
        (
            {"linear_attn_config": {"full_attn_layers": [4]}},
            [RECURRENT, RECURRENT, RECURRENT, FULL],
        ),
        ({"full_attention_interval": 2}, [RECURRENT, FULL, RECURRENT, FULL]),
        ({"attn_layer_period": 4, "attn_layer_offset": 1}, [RECURRENT, FULL, RECURRENT, RECURRENT]),
        ({"cross_attention_layers": [2]}, [FULL, FULL, CROSS, FULL]),
        (
            {
                "block_configs": [
                    {"attention": {"n_heads_in_group": 2}},
                    {"attention": {"no_op": True}},
                    {"attention": {"replace_with_linear": True}},
                    None,
                ]
            },
            [FULL, NONE, NONE, NONE],
        ),
        ({"model_type": "mamba2"}, [RECURRENT] * 4),
        (
            {"attention_chunk_size": 64, "no_rope_layers": [1, 1, 1, 0]},
            [CHUNKED, CHUNKED, CHUNKED, FULL],
        ),
        ({"attention_chunk_size": 64}, [CHUNKED, CHUNKED, CHUNKED, FULL]),
        ({"num_kv_shared_layers": 2}, [FULL, FULL, NONE, NONE]),
        ({"num_kv_shared_layers": 9}, [NONE] * 4),
    ],
)
def test_layer_kinds(config: Config, kinds: list[LayerWord]) -> None:
    plan = of_config({**SMALL, **config}).layer_plan
    assert [run.layer.name for run in plan for _ in range(run.count)] == kinds


@pytest.mark.parametrize(
    ("config", "windows"),
    [
        ({"sliding_window": 512}, {(SLIDING, 512)}),
        ({"sliding_window": 512, "sliding_window_pattern": 2}, {(SLIDING, 512), (FULL, None)}),
        ({"attention_chunk_size": 8192}, {(CHUNKED, 8192), (FULL, None)}),
        ({"layer_types": ["sliding_attention"] * 4}, {(SLIDING, None)}),  # its size is not said
    ],
)
def test_windows(config: Config, windows: set[tuple[LayerWord, int | None]]) -> None:
    plan = of_config({**SMALL, **config}).layer_plan
    assert {(run.layer.name, run.layer.facts().get("window")) for run in plan} == windows


def test_equal_neighbours_are_one_run() -> None:
    runs = [(run.layer.name, run.count) for run in architecture(gemma3_1b()).layer_plan]
    # 26 layers, every sixth full: 4 x (5 sliding + 1 full) and 2 more sliding ones
    assert runs == [(SLIDING, 5), (FULL, 1)] * 4 + [(SLIDING, 2)]


@pytest.mark.parametrize(
    "repo, elements",
    [
        (llama(), 32 * 2 * 8 * 128),
        (gemma3_1b(), 26 * 2 * 1 * 256),
        (mixtral(), 32 * 2 * 8 * 128),
        (qwen3_moe(), 48 * 2 * 4 * 128),
        (gpt_oss_20b(), 24 * 2 * 8 * 64),
        (gpt2(), 12 * 2 * 12 * 64),
        (qwen3_next(), 12 * 2 * 2 * 256),  # 36 of 48 layers are recurrent
        (deepseek_r1(), 61 * (512 + 64)),  # the latent and its rotary key, once for all heads
    ],
)
def test_cache_elements_per_token(repo: RepoSnapshot, elements: int) -> None:
    assert architecture(repo).growing_elements_per_token == elements


def test_recurrent_state() -> None:
    state = [
        run.layer.state.size if run.layer.state else 0
        for run in architecture(qwen3_next()).layer_plan
        for _ in range(run.count)
    ]
    # (4 - 1) x (2 x 16 x 128 + 32 x 128) + 32 x 128 x 128 = 24,576 + 524,288
    assert Counter(state) == {548_864: 36, 0: 12}
    assert sum(state) * 4 == 79_036_416  # 75.38 MiB in FP32, as llama.cpp reports


def test_mamba2_state() -> None:
    mamba = {
        "model_type": "mamba2",
        "num_hidden_layers": 2,
        "hidden_size": 2560,
        "expand": 2,
        "state_size": 128,
        "n_groups": 1,
        "conv_kernel": 4,
    }
    (run,) = of_config(mamba).layer_plan
    # inner = 2 x 2560; (4 - 1) x (5120 + 2 x 128) + 5120 x 128
    assert run == LayerRun(RecurrentLayer(3 * 5376 + 655_360, conv_elements=3 * 5376), 2)


RECOVERABLE = {
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "vocab_size": 1024,
    "intermediate_size": 512,
    "num_key_value_heads": 2,
}
FACT = {"num_hidden_layers": "layers", "num_key_value_heads": "kv_heads"}


@pytest.mark.parametrize("key, value", RECOVERABLE.items())
@pytest.mark.parametrize("model_type", ["llama", "new_model"])
def test_an_omitted_fact_is_read_off_the_shapes(key: str, value: int, model_type: str) -> None:
    complete = tiny(model_type=model_type)
    component = complete.components[0]
    facts = architecture(snapshot(component.tensors, without_keys(component.config, key)))
    fact = FACT.get(key, key)
    assert getattr(facts, fact) == value  # never llama's class default
    assert facts.recovered == (fact,)
    assert fact not in facts.defaulted


@pytest.mark.parametrize(
    "settings, tables",
    [
        ({}, (Rotary(64, 4096),)),
        (
            {"rope_scaling": {"type": "linear", "factor": 8.0}, "rope_local_base_freq": 1e4},
            (Rotary(64, 4096, "linear", 8.0), Rotary(64, 4096)),
        ),
        (
            {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4,
                    "original_max_position_embeddings": 1024,
                }
            },
            (Rotary(64, 4096, "yarn", 4.0, 1024),),
        ),
        ({"partial_rotary_factor": 0.25}, (Rotary(16, 4096),)),
        ({"rope_parameters": {"mrope_section": [8, 4, 4]}}, (Rotary(64, 4096, sectioned=True),)),
        (
            {
                "global_head_dim": 128,
                "rope_parameters": {"full_attention": {}, "sliding_attention": {}},
            },
            (Rotary(128, 4096), Rotary(64, 4096)),
        ),
        ({"rope_scaling": {"type": [], "factor": "8"}}, (Rotary(64, 4096),)),
        ({"qk_rope_head_dim": 32, "kv_lora_rank": 256}, (Rotary(32, 4096),)),
        ({"model_type": "gpt2"}, ()),
        ({"max_position_embeddings": None}, ()),
    ],
)
def test_rotary_positions(settings: dict[str, object], tables: tuple[Rotary, ...]) -> None:
    base = {
        "model_type": "new",
        "num_hidden_layers": 1,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "max_position_embeddings": 4096,
    }
    assert of_config({**base, **settings}).rotary == tables


def test_experts_are_read_off_the_router() -> None:
    complete = mixtral().components[0]
    config = without_keys(complete.config, "num_local_experts")
    assert architecture(snapshot(complete.tensors, config)).experts == 8


def test_gpt2_matrices_are_transposed() -> None:
    assert architecture(gpt2()).intermediate_size == 3072


def test_class_defaults_come_last_and_are_named() -> None:
    component = tiny().components[0]
    config = without_keys(component.config, "max_position_embeddings")
    facts = architecture(snapshot(component.tensors, config))
    assert facts.max_context == class_defaults()["llama"]["max_context"]
    assert facts.defaulted == ("max_context",)
    unknown = architecture(snapshot(component.tensors, {**config, "model_type": "new_model"}))
    assert (unknown.max_context, unknown.defaulted) == (None, ())


@pytest.mark.parametrize(
    "config, kv_heads",
    [
        ({"model_type": "falcon", "multi_query": True, "num_kv_heads": 71}, 1),
        (
            {
                "model_type": "falcon",
                "multi_query": True,
                "new_decoder_architecture": True,
                "num_kv_heads": 8,
            },
            8,
        ),
        ({"model_type": "new_model"}, 4),  # as many as query heads
        ({"model_type": "new_model", "num_key_value_heads": 2}, 2),
        ({"model_type": "mpt", "attn_config": {"kv_n_heads": 2}}, 2),
    ],
)
def test_key_value_heads(config: Config, kv_heads: int) -> None:
    assert of_config({**SMALL, **config}).kv_heads == kv_heads


def test_head_dim_defaults_to_an_equal_share() -> None:
    assert of_config(SMALL).head_dim == 64
    assert of_config({**SMALL, "head_dim": 128}).head_dim == 128


@pytest.mark.parametrize(
    "config, generates",
    [
        ({"architectures": ["LlamaForCausalLM"]}, True),
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, False),
        ({"model_type": "new_encoder", "architectures": ["NewForSequenceClassification"]}, False),
        ({"model_type": "llama", "architectures": "LlamaForCausalLM"}, True),
        ({"model_type": "llama", "architectures": [None, 3]}, True),
    ],
)
def test_encoders_do_not_generate(config: Config, generates: bool) -> None:
    assert of_config({**SMALL, **config}).generates is generates


@pytest.mark.parametrize("config", [{}, {"num_hidden_layers": 10_001}, {"num_hidden_layers": 0}])
def test_without_layers_there_is_no_architecture(config: Config) -> None:
    assert build_profile(snapshot([group("other.weight", (2, 2))], config)).architecture is None


@pytest.mark.parametrize("model_type", sorted(class_defaults()))
def test_class_defaults_name_their_source(model_type: str) -> None:
    defaults = class_defaults()[model_type]
    assert "configuration" in defaults["source"]
    for key, value in defaults.items():
        if key in SYNONYMS:
            assert type(value) is int and value > 0, key
        elif key not in ("source", "linear_biases"):
            assert type(value) in (bool, int), key
