"""Profiles of GGUF files agree with those of the same model's safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.api.model_profile import StoredQuantizationInfo
from gpusizer.core.units import MIB
from gpusizer.memory.kv_cache import kv_cache_bytes
from gpusizer.memory.quants.recipes import RECIPES
from gpusizer.model.architecture import Architecture, resolve_gguf
from gpusizer.model.architecture.layer_kinds import (
    AttentionWithState,
    FullAttention,
    RecurrentLayer,
)
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot, kind_of, part_of, slot_of
from tests.builders import llama, quantized_bytes, qwen3_06b
from tests.documents import part
from tests.families import qwen3_moe
from tests.gguf_snapshots import SIZES_8B, file_variant, gguf_profile, gguf_snapshot, llama_gguf
from tests.hub_emulator.gguf_models import Shaped, llama_metadata, llama_tensors

VOCAB_8B = 128256


def llama_8b(kind: str = "F16", **changes: str) -> Shaped:
    """Llama-3.1-8B; `changes` give single tensors another type."""
    tensors = llama_tensors(kind, vocab=VOCAB_8B, **SIZES_8B)
    tensors |= {name: (other, tensors[name][1]) for name, other in changes.items()}
    return tensors | {"rope_freqs.weight": ("F32", (64,))}


def metadata_8b() -> dict[str, Any]:
    return llama_metadata(context=131072, **SIZES_8B)


def moe_30b() -> tuple[dict[str, Any], Shaped]:
    """Qwen3-30B-A3B."""
    sizes = {"layers": 48, "hidden": 2048, "heads": 32, "kv_heads": 4, "head_dim": 128}
    facts = {"expert_count": 128, "expert_used_count": 8, "expert_feed_forward_length": 768}
    metadata = llama_metadata(arch="qwen3moe", ffn=6144, context=40960, **sizes, **facts)
    tensors = llama_tensors("BF16", ffn=768, vocab=151936, **sizes)
    for layer in range(48):
        block = f"blk.{layer}"
        for name, shape in (("gate", (768, 2048)), ("up", (768, 2048)), ("down", (2048, 768))):
            del tensors[f"{block}.ffn_{name}.weight"]
            tensors[f"{block}.ffn_{name}_exps.weight"] = ("BF16", (128, *shape))
        tensors[f"{block}.ffn_gate_inp.weight"] = ("F32", (128, 2048))
        for name in "qk":
            tensors[f"{block}.attn_{name}_norm.weight"] = ("F32", (128,))
    return metadata, tensors


def tied_06b() -> tuple[dict[str, Any], Shaped]:
    """Qwen3-0.6B, whose file has no head of its own."""
    sizes = {"layers": 28, "hidden": 1024, "ffn": 3072, "heads": 16, "kv_heads": 8, "head_dim": 128}
    tensors = llama_tensors("BF16", vocab=151936, tied=True, **sizes)
    for layer in range(28):
        for name in "qk":
            tensors[f"blk.{layer}.attn_{name}_norm.weight"] = ("F32", (128,))
    return llama_metadata(arch="qwen3", context=40960, **sizes), tensors


PAIRS: dict[str, tuple[ModelProfile, ModelProfile]] = {
    "dense": (gguf_profile(metadata_8b(), llama_8b()), build_profile(llama())),
    "experts": (gguf_profile(*moe_30b()), build_profile(qwen3_moe())),
    "tied": (gguf_profile(*tied_06b()), build_profile(qwen3_06b())),
}


@pytest.mark.parametrize("name", PAIRS)
def test_same_model_as_its_safetensors(name: str) -> None:
    gguf, expected = PAIRS[name]
    assert gguf.parameters == expected.parameters
    assert gguf.active_parameters == expected.active_parameters
    assert gguf.kv_cache_bytes_per_token == expected.kv_cache_bytes_per_token
    assert gguf.max_context == expected.max_context
    assert gguf.architecture is not None
    assert expected.architecture is not None
    for fact in (
        "layers",
        "hidden_size",
        "intermediate_size",
        "vocab_size",
        "attention_heads",
        "kv_heads",
        "head_dim",
        "experts",
        "experts_per_token",
        "tied_embeddings",
        "generates",
        "layer_plan",
    ):
        assert getattr(gguf.architecture, fact) == getattr(expected.architecture, fact), fact
    assert (gguf.architecture.recovered, gguf.architecture.defaulted) == ((), ())


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("slug", RECIPES)
def test_recipes_see_the_same_tensors(name: str, slug: str) -> None:
    gguf, expected = PAIRS[name]
    assert quantized_bytes(slug, gguf) == quantized_bytes(slug, expected)


def widened(*layers: int) -> dict[str, str]:
    """attn_v and ffn_down of these layers in Q6_K, and the head."""
    names = [f"blk.{n}.{name}.weight" for n in layers for name in ("attn_v", "ffn_down")]
    return dict.fromkeys([*names, "output.weight"], "Q6_K")


MORE_BITS = (0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31)


@pytest.mark.parametrize(
    "slug, tensors",
    [
        ("q8_0", llama_8b("Q8_0")),
        ("q6_k", llama_8b("Q6_K")),
        ("q4_k_m", llama_8b("Q4_K", **widened(*MORE_BITS))),
        ("q5_k_m", llama_8b("Q5_K", **widened(*MORE_BITS))),
        ("q4_0", llama_8b("Q4_0", **{"output.weight": "Q6_K"})),
    ],
)
def test_predicted_and_stored_bytes_agree(slug: str, tensors: Shaped) -> None:
    stored = gguf_profile(metadata_8b(), tensors)
    rope = 64 * 4
    assert quantized_bytes(slug, PAIRS["dense"][1]) == stored.weight_bytes - rope


def test_facts_of_a_file() -> None:
    profile = gguf_profile(metadata_8b(), llama_8b("Q4_K", **widened(*MORE_BITS)))
    assert profile.format == "gguf"
    assert profile.parameters == 8_030_261_248
    assert sum(profile.stored_parameters_by_dtype.values()) == 8_030_261_248 + 64
    assert set(profile.stored_parameters_by_dtype) == {"Q4_K", "Q6_K", "F32"}
    assert profile.quantization is not None
    facts = part(StoredQuantizationInfo, profile.quantization)
    assert facts == {"method": "gguf", "bits": 4, "group_size": None, "kv_dtype": None}
    assert (profile.native_dtype, profile.variant) == ("Q4_K", "Q4_K_M")
    assert profile.caveats == ()
    assert gguf_profile(metadata_8b(), llama_8b("BF16")).quantization is None


def test_files_beside_the_model() -> None:
    other_files = [
        file_variant("Q8_0", 9_000),
        file_variant("mmproj-F32", 500, "projector"),
        file_variant("mmproj-BF16", 300, "projector"),
        file_variant("mmproj-F16", 250, "projector"),
        file_variant("draft", 100, "draft"),
    ]
    profile = build_profile(llama_gguf(others=other_files))
    assert [variant.name for variant in profile.variants] == ["Q8_0", "Q4_K_M"]
    assert [(c.name, c.weight_bytes) for c in profile.components] == [
        ("transformer", profile.weight_bytes),
        ("projector", 250),
    ]
    notes = {note.code: note.fields for note in profile.caveats}
    assert notes["gguf_variant_read"] == {"file": "model-Q4_K_M.gguf", "count": 2}
    assert notes["projector_not_counted"]["file"] == "model-mmproj-F16.gguf"


# name, part, kind (for a matrix), slot
ROLES = [
    ("token_embd.weight", Part.TEXT, Kind.EMBEDDING, Slot.OTHER),
    ("per_layer_token_embd.weight", Part.TEXT, Kind.EMBEDDING, Slot.OTHER),
    ("output.weight", Part.TEXT, Kind.OUTPUT, Slot.OTHER),
    ("output_norm.weight", Part.TEXT, Kind.NORM, Slot.OTHER),
    ("position_embd.weight", Part.TEXT, Kind.POSITION, Slot.OTHER),
    ("rope_freqs.weight", Part.TEXT, Kind.BUFFER, Slot.OTHER),
    ("blk.{}.attn_q.weight", Part.TEXT, Kind.LINEAR, Slot.Q),
    ("blk.{}.attn_qkv.weight", Part.TEXT, Kind.LINEAR, Slot.QKV),
    ("blk.{}.attn_kv_a_mqa.weight", Part.TEXT, Kind.LINEAR, Slot.KV_A),
    ("blk.{}.attn_k_b.weight", Part.TEXT, Kind.LINEAR, Slot.KV_B),
    ("blk.{}.attn_output.weight", Part.TEXT, Kind.LINEAR, Slot.O),
    ("blk.{}.attn_q_norm.weight", Part.TEXT, Kind.NORM, Slot.OTHER),
    ("blk.{}.ffn_down_exps.weight", Part.TEXT, Kind.EXPERT, Slot.DOWN),
    ("blk.{}.ffn_down_exps.bias", Part.TEXT, Kind.BIAS, Slot.DOWN),
    ("blk.{}.ffn_down_shexp.weight", Part.TEXT, Kind.LINEAR, Slot.DOWN),
    ("blk.{}.ffn_gate_inp.weight", Part.TEXT, Kind.ROUTER, Slot.OTHER),
    ("blk.{}.post_ffw_norm_2.weight", Part.TEXT, Kind.NORM, Slot.OTHER),
    ("blk.{}.ssm_conv1d.weight", Part.TEXT, Kind.CONV, Slot.OTHER),
    ("blk.{}.ssm_in.weight", Part.TEXT, Kind.LINEAR, Slot.OTHER),
    ("blk.{}.ssm_out.weight", Part.TEXT, Kind.LINEAR, Slot.OTHER),
    ("blk.{}.shortconv.out_proj.weight", Part.TEXT, Kind.LINEAR, Slot.OTHER),
    ("blk.{}.nextn.eh_proj.weight", Part.MTP, Kind.LINEAR, Slot.OTHER),
    ("v.blk.{}.attn_q.weight", Part.VISION, Kind.LINEAR, Slot.Q),
    ("a.blk.{}.ffn_up.weight", Part.AUDIO, Kind.LINEAR, Slot.UP),
    ("mm.{}.weight", Part.PROJECTOR, Kind.LINEAR, Slot.OTHER),
    ("enc.blk.{}.attn_q.weight", Part.ENCODER, Kind.LINEAR, Slot.Q),
]


@pytest.mark.parametrize("name, part, kind, slot", ROLES)
def test_roles(name: str, part: Part, kind: Kind, slot: Slot) -> None:
    assert (part_of(name), kind_of(name, (64, 64)), slot_of(name)) == (part, kind, slot)


def test_latent_matrices_of_three_sides() -> None:
    assert kind_of("blk.{}.attn_k_b.weight", (128, 512, 128)) is Kind.LINEAR


def resolved(arch: str, tensors: Shaped | None = None, **facts: Any) -> Architecture:
    """Return the architecture of metadata alone, or with these tensors."""
    all_facts = {"kv_heads": 2, "heads": 8, "head_dim": 64} | facts
    metadata = llama_metadata(arch=arch, **all_facts)
    groups = gguf_profile(metadata, tensors or {"token_embd.weight": ("F16", (10, 256))}).groups
    architecture_found = resolve_gguf(metadata, groups)
    assert architecture_found is not None
    return architecture_found


def plan(architecture: Architecture) -> str:
    """Layers in order, one letter each."""
    letters = {
        "full": "F",
        "sliding": "s",
        "chunked": "c",
        "mla": "M",
        "recurrent": "r",
        "none": "-",
    }
    return "".join(letters[run.layer.name] * run.count for run in architecture.layer_plan)


WINDOW = {"attention.sliding_window": 128}
STATE = {"ssm.state_size": 16, "ssm.inner_size": 512, "ssm.conv_kernel": 4}

LAYERS: list[tuple[str, Mapping[str, Any], str]] = [
    ("llama", {"layers": 3}, "FFF"),
    ("llama", {"layers": 3, **WINDOW}, "FFF"),
    ("phi3", {"layers": 2, **WINDOW}, "FF"),
    ("gemma2", {"layers": 4}, "sFsF"),
    ("gemma3", {"layers": 8, **WINDOW}, "sssssFss"),
    ("gemma3", {"layers": 2}, "FF"),
    ("gemma3n", {"layers": 10, **WINDOW, "attention.shared_kv_layers": 4}, "ssssFs----"),
    ("gpt-oss", {"layers": 4, **WINDOW}, "sFsF"),
    ("cohere2", {"layers": 5, **WINDOW}, "sssFs"),
    ("llama4", {"layers": 5}, "cccFc"),
    (
        "gemma4",
        {"layers": 4, **WINDOW, "attention.sliding_window_pattern": [True, True, False, True]},
        "ssFs",
    ),
    ("new", {"layers": 4, **WINDOW, "attention.sliding_window_pattern": [1, 0]}, "sFsF"),
    ("new", {"layers": 4, **WINDOW, "attention.sliding_window_pattern": 3}, "ssFs"),
    ("new", {"layers": 2, **WINDOW, "attention.sliding_window_pattern": 0}, "ss"),
    ("qwen3next", {"layers": 8, **STATE}, "rrrFrrrF"),
    ("qwen35", {"layers": 4, "full_attention_interval": 2, **STATE}, "rFrF"),
    ("jamba", {"layers": 4, "kv_heads": [0, 0, 2, 0], **STATE}, "rrFr"),
    ("lfm2", {"layers": 3, "kv_heads": [0, 2, 0], "shortconv.l_cache": 3}, "rFr"),
    ("nemotron_h", {"layers": 4, "kv_heads": [0, 0, 2, 0], "ffn": [0, 99, 0, 99], **STATE}, "r-F-"),
    ("deci", {"layers": 3, "kv_heads": [2, 0, 4], "heads": [8, 0, 8]}, "F-F"),
    ("mamba", {"layers": 2, "kv_heads": 0, "heads": 0, **STATE}, "rr"),
    ("glm4moe", {"layers": 4, "nextn_predict_layers": 1}, "FFF"),
]


@pytest.mark.parametrize("arch, facts, expected", LAYERS)
def test_layers(arch: str, facts: Mapping[str, Any], expected: str) -> None:
    assert plan(resolved(arch, **facts)) == expected


def test_heads_that_differ_by_layer_are_measured() -> None:
    tensors = {
        f"blk.{n}.attn_{x}.weight": ("F16", (rows, 256))
        for n, rows in enumerate((64, 128))
        for x in "kv"
    }
    architecture_found = resolved("new", tensors, kv_heads=[1, 2])
    assert [run.layer.facts()["key_width"] for run in architecture_found.layer_plan] == [64, 128]
    assert architecture_found.kv_heads == 2


MLA = {
    "layers": 2,
    "heads": 128,
    "kv_heads": 1,
    "head_dim": 576,
    "attention.kv_lora_rank": 512,
    "rope.dimension_count": 64,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}


def test_latent_attention() -> None:
    split = {f"blk.{n}.attn_k_b.weight": ("F16", (128, 512, 128)) for n in range(2)}
    resolved_model = resolved("deepseek2", split, **MLA)
    assert plan(resolved_model) == "MM"
    assert resolved_model.layer_plan[0].layer.facts()["key_width"] == 576
    assert resolved_model.head_dim == 192


def test_older_files_of_latent_models_cache_every_head() -> None:
    facts = {**MLA, "kv_heads": 128, "head_dim": 192, "attention.value_length": 128}
    joint = {f"blk.{n}.attn_kv_b.weight": ("F16", (32768, 512)) for n in range(2)}
    resolved_model = resolved("deepseek2", joint, **facts)
    assert plan(resolved_model) == "FF"
    assert resolved_model.layer_plan[0].layer == FullAttention(128 * 192, 128 * 128, 128)


def test_state_of_qwen3_next_is_what_llama_cpp_logs() -> None:
    sizes = {"ssm.state_size": 128, "ssm.inner_size": 4096, "ssm.group_count": 16}
    architecture_found = resolved("qwen3next", layers=48, **sizes, **{"ssm.conv_kernel": 4})
    state = kv_cache_bytes(architecture_found, 0, 1, "f16")
    assert state / MIB == pytest.approx(75.38, abs=0.01)


@pytest.mark.parametrize(
    "arch, facts, elements",
    [
        ("lfm2", {"kv_heads": [0, 2], "shortconv.l_cache": 3, "hidden": 256}, 2 * 256),
        ("rwkv7", {"wkv.head_size": 64, "hidden": 256}, 256 * 64 + 2 * 256),
        (
            "kimi-linear",
            {"kv_heads": [0, 2], "kda.head_dim": 128, "ssm.conv_kernel": 4},
            8 * 128 * 128 + 3 * 3 * 8 * 128,
        ),
    ],
)
def test_states_of_recurrent_layers(arch: str, facts: dict[str, Any], elements: int) -> None:
    first = resolved(arch, layers=2, **facts).layer_plan[0].layer
    assert isinstance(first, RecurrentLayer)
    assert first.state_elements == elements


def test_attention_and_a_state_in_one_layer() -> None:
    """Falcon-H1: its file has Mamba tensors beside attention in every layer."""
    tensors = {
        "blk.0.attn_k.weight": ("F16", (128, 256)),
        "blk.0.attn_v.weight": ("F16", (128, 256)),
        "blk.0.ssm_a": ("F32", (8, 1)),
        "blk.0.ssm_conv1d.weight": ("F32", (544, 4)),
    }
    (run,) = resolved("falcon-h1", tensors, layers=1, **STATE, **{"ssm.group_count": 1}).layer_plan
    assert isinstance(run.layer, AttentionWithState)
    assert run.layer.attends == FullAttention(128, 128, 2)
    assert run.layer.keeps.state_elements == 512 * 16 + 3 * (512 + 2 * 16)


@pytest.mark.parametrize(
    ("arch", "facts", "generates"),
    [
        ("llama", {}, True),
        ("bert", {}, False),
        ("gemma-embedding", {}, False),
        ("llama", {"attention.causal": False}, False),
    ],
)
def test_models_that_only_encode(arch: str, facts: dict[str, Any], generates: bool) -> None:
    assert resolved(arch, **facts).generates is generates


def test_metadata_that_names_no_model() -> None:
    profile = gguf_profile({}, {"x": ("F32", (2,))})
    assert profile.architecture is None
    assert [note.code for note in profile.caveats] == ["architecture_unknown"]
    assert resolve_gguf(None, ()) is None


VALUES = (
    st.integers(-5, 2**64)
    | st.booleans()
    | st.floats()
    | st.text(max_size=4)
    | st.lists(st.integers(-3, 2**40) | st.booleans() | st.floats(), max_size=4)
)
KEYS = sorted(
    {*llama_metadata(), *(f"llama.{key}" for key in (*MLA, *STATE, *WINDOW, "expert_count"))}
    | {f"llama.{key}" for key in ("nextn_predict_layers", "full_attention_interval")}
    | {"llama.attention.sliding_window_pattern", "tokenizer.ggml.tokens.length"}
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES), st.booleans())
def test_any_metadata_gives_a_profile(metadata: dict[str, Any], has_name: bool) -> None:
    if has_name:
        metadata["general.architecture"] = "llama"
    profile = build_profile(gguf_snapshot(metadata, llama_tensors()))
    assert profile.parameters > 0
