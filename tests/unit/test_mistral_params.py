"""Repositories in Mistral's own format: params.json and its tensor names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.hub.tensors import TensorGroup
from gpusizer.model.architecture.config import config_of_params
from gpusizer.model.packing import StoredQuantization
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part, kind_of, part_of
from tests.builders import group, llama, snapshot
from tests.each import each

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
    assert {spec.window for spec in arch.layer_plan} == {None}


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


@each(
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
