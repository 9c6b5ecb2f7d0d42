"""Profiles: what a snapshot means, with Mistral's own configuration."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import NoWeights
from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import Component, RepoSnapshot, WeightFile
from gpusizer.hub.tensors import TensorGroup
from gpusizer.model.architecture.config import config_of_params
from gpusizer.model.packing import StoredQuantization
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part, kind_of, part_of
from tests.builders import (
    group,
    llama,
    llama_70b,
    profile_of,
    qwen2_14b,
    qwen3_06b,
    snapshot,
    tiny,
    with_tensors,
)
from tests.families import deepseek_r1, gemma3_1b, gpt2, gpt_oss_20b, mixtral, qwen3_moe, qwen3_next

# Parameters, stored bytes, tensors, 16-bit cache bytes per token: the Hub's own totals.
MODELS = {
    "Llama-3.1-8B": (llama(), 8_030_261_248, 16_060_522_496, 291, 131_072),
    "Llama-3.3-70B": (llama_70b(), 70_553_706_496, 141_107_412_992, 723, 327_680),
    "R1-Distill-Qwen-14B": (qwen2_14b(), 14_770_033_664, 29_540_067_328, 579, 196_608),
    # 596,049,920 + a second 151936 x 1024 matrix = 751,632,384 elements of two bytes
    "Qwen3-0.6B": (qwen3_06b(), 596_049_920, 1_503_264_768, 311, 114_688),
    "Gemma-3-1B": (gemma3_1b(), 999_885_952, 1_999_771_904, 340, 26_624),
    "Mixtral-8x7B": (mixtral(), 46_702_792_704, 93_405_585_408, 995, 131_072),
    "Qwen3-30B-A3B": (qwen3_moe(), 30_532_122_624, 61_064_245_248, 18_867, 98_304),
    "Qwen3-Coder-Next": (qwen3_next(), 79_674_391_296, 159_348_782_592, 74_391, 24_576),
    "gpt-oss-20b": (gpt_oss_20b(), 20_914_757_184, 13_761_264_768, 459, 49_152),
    # 12 masks of 1024 x 1024 FP32 are stored but are no parameters
    "GPT-2": (gpt2(), 124_439_808, 4 * 124_439_808 + 12 * 4 * 1024 * 1024, 160, 36_864),
    "DeepSeek-R1": (deepseek_r1(), 684_489_845_504, 688_574_839_360, 91_991, 70_272),
}


@pytest.mark.parametrize("name", MODELS)
def test_totals_are_those_of_the_published_model(name: str) -> None:
    repo, parameters, size, tensors, cache = MODELS[name]
    profile = build_profile(repo)
    assert (profile.parameters, profile.weight_bytes) == (parameters, size)
    assert (profile.tensor_count, profile.kv_cache_bytes_per_token) == (tensors, cache)


@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_to_the_whole(name: str) -> None:
    profile = build_profile(MODELS[name][0])
    assert sum(c.parameters for c in profile.components) == profile.parameters
    assert sum(c.weight_bytes for c in profile.components) == profile.weight_bytes
    assert sum(g.count for g in profile.groups) == profile.tensor_count
    assert 0 < profile.active_parameters <= profile.parameters


@pytest.mark.parametrize(
    ("repo", "active"),
    [
        (llama(), 8_030_261_248),
        # 2 of 8 experts: 46,702,792,704 - 6/8 x 32 x 8 x 3 x 14336 x 4096
        (mixtral(), 46_702_792_704 - 6 * 32 * 3 * 14336 * 4096),
        # 8 of 128 experts
        (qwen3_moe(), 30_532_122_624 - 120 * 48 * 3 * 768 * 2048),
        # 8 of 256 experts in 58 layers, and no draft layer
        (deepseek_r1(), 684_489_845_504 - 13_463_426_304 - 248 * 58 * 3 * 2048 * 7168),
    ],
    ids=["llama", "mixtral", "qwen3-moe", "deepseek"],
)
def test_active_parameters(repo: RepoSnapshot, active: int) -> None:
    assert build_profile(repo).active_parameters == active


def test_elements_by_dtype_are_as_stored() -> None:
    stored = build_profile(gpt_oss_20b()).stored_parameters_by_dtype
    assert stored == {"BF16": 1_804_459_584, "U8": 10_152_345_600}
    assert sum(stored.values()) == 11_956_805_184
    assert sum(build_profile(qwen3_06b()).stored_parameters_by_dtype.values()) == 751_632_384


@pytest.mark.parametrize(
    ("repo", "dtype"),
    [(llama(), "BF16"), (gpt2(), "F32"), (deepseek_r1(), "F8_E4M3"), (gpt_oss_20b(), "U8")],
)
def test_native_dtype(repo: RepoSnapshot, dtype: str) -> None:
    assert build_profile(repo).native_dtype == dtype


def test_what_writes_nothing_has_no_drafts() -> None:
    """Deeper stacks of a speech model are parts of it (VITS's flow beside its text encoder)."""
    tensors = [
        group("text_encoder.layers.{}.attention.k_proj.weight", (64, 64), range(2)),
        group("flow.layers.{}.conv.weight", (64, 64), range(4)),
    ]
    config = {"architectures": ["NewEncoder"], "num_hidden_layers": 2, "hidden_size": 64}
    profile = profile_of(tensors, config)
    assert profile.active_parameters == profile.parameters == 6 * 64 * 64


def test_the_draft_layer_is_a_component_and_a_caveat() -> None:
    profile = build_profile(deepseek_r1())
    # experts 256 x 3 x 2048 x 7168, the shared one, router and its bias, attention, norms,
    # and of its own two 129280 x 7168 matrices, eh_proj, enorm, hnorm and a norm
    attention = 1536 * 7168 + 24576 * 1536 + 576 * 7168 + 32768 * 512 + 7168 * 16384
    layer = 257 * 3 * 2048 * 7168 + 256 * 7168 + 256 + attention + 1536 + 512 + 2 * 7168
    draft = layer + 2 * 129280 * 7168 + 2 * 7168 * 7168 + 3 * 7168
    sizes = {c.name: c.parameters for c in profile.components}
    assert sizes == {"transformer": 671_026_419_200, "multi_token_prediction": draft}
    assert Note("mtp_layers_counted", parameters=draft) in profile.caveats
    assert profile.architecture is not None
    assert profile.architecture.layers == 61


def test_a_tied_matrix_stored_twice_counts_once() -> None:
    stored_twice, stored_once = build_profile(qwen3_06b()), build_profile(qwen3_06b(head=False))
    assert stored_twice.parameters == stored_once.parameters == 596_049_920
    assert stored_twice.weight_bytes - stored_once.weight_bytes == 2 * 151936 * 1024
    assert Note("tied_matrix_stored_twice") in stored_twice.caveats
    assert Note("tied_matrix_stored_twice") not in stored_once.caveats
    untied = build_profile(qwen3_06b(tied=False))
    assert untied.parameters == 751_632_384


def codes(profile: ModelProfile) -> list[str]:
    return [note.code for note in profile.caveats]


def test_caveats_say_where_numbers_come_from() -> None:
    assert codes(build_profile(llama())) == []
    old = llama().with_source("snapshot")
    assert build_profile(old).caveats == (Note("embedded_snapshot", date="2026-01-02"),)
    assert "already_quantized" in codes(build_profile(gpt_oss_20b()))
    assert codes(profile_of([group("w", (4, 4))])) == ["architecture_unknown"]
    copies = (WeightFile("pytorch_model.bin", 8, 0), WeightFile("tf_model.h5", 8, 0))
    assert profile_of([group("w", (4, 4))], {}, uncounted_files=copies).caveats[-1] == Note(
        "other_copies_not_counted", file="pytorch_model.bin", count=2
    )


def test_a_pipeline_is_listed_by_folder() -> None:
    folders = tuple(
        Component(name, None, (WeightFile(f"{name}/x.safetensors", 9, 1),), (group("w", (n, 4)),))
        for name, n in (("transformer", 10), ("vae", 2))
    )
    profile = profile_of([], components=folders, format="diffusers")
    assert [(c.name, c.parameters, c.weight_bytes) for c in profile.components] == [
        ("transformer", 40, 80),
        ("vae", 8, 16),
    ]
    assert (profile.file_count, profile.tensor_count) == (2, 2)
    assert (profile.max_context, profile.kv_cache_bytes_per_token) == (None, 0)


def test_parts_of_a_multimodal_model_are_listed() -> None:
    extra = [
        group("vision_tower.encoder.layers.{}.mlp.fc1.weight", (8, 4), range(3)),
        group("multi_modal_projector.linear_1.weight", (4, 4)),
    ]
    base = tiny()
    multimodal = build_profile(with_tensors(base, (*base.components[0].tensors, *extra)))
    sizes = {c.name: c.parameters for c in multimodal.components}
    assert sizes == {
        "transformer": build_profile(base).parameters,
        "vision": 3 * 32,
        "projector": 16,
    }
    assert multimodal.kv_cache_bytes_per_token == build_profile(base).kv_cache_bytes_per_token


def test_encoders_need_no_cache() -> None:
    encoder = tiny(model_type="bert", config={"architectures": ["BertModel"]})
    assert build_profile(encoder).kv_cache_bytes_per_token == 0
    assert build_profile(tiny()).kv_cache_bytes_per_token == 4 * 2 * 2 * 64 * 2


@pytest.mark.parametrize("components", [(), (Component("model", {}, (), ()),)])
def test_a_repository_without_tensors_has_no_weights(components: tuple[Component, ...]) -> None:
    with pytest.raises(NoWeights) as caught:
        profile_of([], components=components)
    assert caught.value.fields["repo_id"] == "org/model"


PARAMS = {
    "dim": 4096,
    "n_layers": 32,
    "head_dim": 128,
    "hidden_dim": 14336,
    "n_heads": 32,
    "n_kv_heads": 8,
    "norm_eps": 1e-05,
    "vocab_size": 32768,
    "max_seq_len": 32768,
}


def consolidated() -> list[TensorGroup]:
    """Mistral-7B-v0.3 as `consolidated.safetensors` names it."""
    every = range(32)
    shapes = {
        "attention.wq": (4096, 4096),
        "attention.wk": (1024, 4096),
        "attention.wv": (1024, 4096),
        "attention.wo": (4096, 4096),
        "feed_forward.w1": (14336, 4096),
        "feed_forward.w2": (4096, 14336),
        "feed_forward.w3": (14336, 4096),
        "attention_norm": (4096,),
        "ffn_norm": (4096,),
    }
    layers = [group(f"layers.{{}}.{name}.weight", shape, every) for name, shape in shapes.items()]
    outside = [group(f"{name}.weight", (32768, 4096)) for name in ("tok_embeddings", "output")]
    return [*layers, *outside, group("norm.weight", (4096,))]


def test_both_formats_of_one_model_agree() -> None:
    mistral_profile = build_profile(snapshot(consolidated(), extra_configs={"params.json": PARAMS}))
    llama_profile = build_profile(llama(vocab=32768, context=32768, model_type="mistral"))
    assert mistral_profile.parameters == llama_profile.parameters == 7_248_023_552
    assert (
        mistral_profile.kv_cache_bytes_per_token
        == llama_profile.kv_cache_bytes_per_token
        == 131_072
    )
    assert mistral_profile.max_context == 32768
    kinds = {k: sum(g.parameters for g in mistral_profile.groups if g.kind is k) for k in Kind}
    assert kinds == {
        k: sum(g.parameters for g in llama_profile.groups if g.kind is k) for k in Kind
    }


def test_no_window_is_taken_from_the_class() -> None:
    arch = build_profile(
        snapshot(consolidated(), extra_configs={"params.json": PARAMS})
    ).architecture
    assert arch is not None
    assert all(run.layer.lasts for run in arch.layer_plan)


def test_experts_and_fp8() -> None:
    params = {
        **PARAMS,
        "moe": {"num_experts": 8, "num_experts_per_tok": 2},
        "quantization": {"qformat_weight": "fp8_e4m3", "qscheme_act": "TENSOR"},
    }
    config = config_of_params(params)
    assert config is not None
    assert (config["num_local_experts"], config["num_experts_per_tok"]) == (8, 2)
    linear = [
        group("layers.{}.attention.wq.weight", (8, 8), range(2), dtype="F8_E4M3"),
        group("layers.{}.attention.wq.qscale_weight", (), range(2), dtype="F32"),
    ]
    profile = build_profile(snapshot(linear, extra_configs={"params.json": params}))
    assert profile.quantization == StoredQuantization("fp8", 8)
    assert profile.parameters == 2 * 64


@pytest.mark.parametrize(
    "name, shape, kind, part",
    [
        ("layers.{}.gate.weight", (8, 4096), Kind.ROUTER, Part.TEXT),
        ("layers.{}.experts.{}.w1.weight", (14336, 4096), Kind.EXPERT, Part.TEXT),
        (
            "vision_encoder.transformer.layers.{}.attention.wq.weight",
            (8, 8),
            Kind.LINEAR,
            Part.VISION,
        ),
        ("vision_language_adapter.w_in.weight", (8, 8), Kind.LINEAR, Part.PROJECTOR),
        ("patch_merger.merging_layer.weight", (8, 8), Kind.LINEAR, Part.PROJECTOR),
    ],
)
def test_names(name: str, shape: tuple[int, ...], kind: Kind, part: Part) -> None:
    assert (kind_of(name, shape), part_of(name)) == (kind, part)


@pytest.mark.parametrize("params", [None, {}, {"dim": 4096}, {"n_layers": 2}])
def test_other_files_of_that_name_say_nothing(params: Any) -> None:
    assert config_of_params(params) is None


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*PARAMS, "moe", "quantization"]), VALUES))
def test_hostile_parameters_are_no_crash(params: dict[str, Any]) -> None:
    repo = snapshot(consolidated(), extra_configs={"params.json": params})
    assert build_profile(repo).parameters > 7 * 10**9
