"""Doubts: what of a model is not known, beside the answer, in its reasons and for `--check`."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.messages import Note
from gpusizer.gpus import load_catalogue
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import build_profile
from gpusizer.usecases.misses import find_misses
from gpusizer.usecases.report import Report
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.builders import Config, group, llama, snapshot

EXPERTS = group("model.layers.{}.mlp.experts.{}.down_proj.weight", (64, 64), range(4), range(8))
STACKED = group("model.layers.{}.mlp.input_linear.weight", (8, 64, 64), range(4))
LINEAR = group("model.layers.{}.mlp.down_proj.weight", (64, 64), range(4))
SMALL: Config = {
    "architectures": ["NewForCausalLM"],
    "model_type": "new_model",
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "vocab_size": 1000,
}


def architecture(config: Config, *tensors: Any) -> Architecture:
    facts = build_profile(snapshot([*tensors] or [LINEAR], {**SMALL, **config})).architecture
    assert facts is not None
    return facts


@pytest.mark.parametrize(
    "config, parts",
    [
        ({}, ()),
        ({"window_plan": [1, 0, 1, 1]}, ("keys: window_plan",)),
        ({"inner_loops": 2, "cache_reuse": ["a"]}, ("keys: inner_loops, cache_reuse",)),
        ({"inner_loops": None, "use_cache_reuse": False, "cache_reuse": []}, ()),
        ({"attn_dropout": 0.1, "conv_bias": True, "output_attentions": True}, ()),
        ({"loop<b>num": 2}, ()),  # no name of a key
        ({"architectures": ["NewEncoder"], "inner_loops": 2}, ()),  # an encoder keeps nothing
        ({"architectures": ["NewModel"], "inner_loops": 2}, ("purpose: none",)),
        (
            {"architectures": ["NewModel"], "use_cache": True, "num_key_value_heads": 2},
            ("purpose",),
        ),
        ({"architectures": ["NewModel"], "is_decoder": True}, ()),
        ({"architectures": None}, ("purpose",)),
        (
            {"layer_types": ["mamba", "full_attention"] * 2},
            ("2 of 4 layers: recurrent state",),
        ),
    ],
)
def test_a_part_that_no_reader_knows_is_named(config: Config, parts: tuple[str, ...]) -> None:
    found = architecture(config)
    assert found.unknown_parts == parts
    assert found.confidence == ("unknown_parts" if parts else "known")


@pytest.mark.parametrize(
    "config, tensor, known",
    [
        ({"num_experts": 8, "num_experts_per_tok": 2}, EXPERTS, True),
        ({"num_experts": 8}, EXPERTS, False),
        ({"num_experts": 8, "num_experts_per_tok": 2}, LINEAR, False),
        ({"num_experts": 1}, LINEAR, True),
    ],
)
def test_experts_are_known_with_their_number_a_token_and_their_tensors(
    config: Config, tensor: Any, known: bool
) -> None:
    assert architecture(config, tensor).unknown_parts == (() if known else ("experts: 8",))


def test_a_stack_of_as_many_matrices_as_experts_may_be_them() -> None:
    config = {"num_experts": 8, "num_experts_per_tok": 2}
    assert architecture(config, EXPERTS, STACKED).unknown_parts == ("experts: 8",)


def report(repository: RepoSnapshot, **fields: Any) -> Report:
    sizer = Sizer(lambda ref: repository, load_catalogue())
    request = {"model": "org/model", "gpu": "4090", "quant": "native", "context": 2048, **fields}
    return size(sizer, request)


def doubtful() -> RepoSnapshot:
    """Llama 3.1 8B with a key that no reader knows."""
    plain = llama()
    return snapshot(
        plain.components[0].tensors, {**(plain.components[0].config or {}), "inner_loops": 2}
    )


def test_a_doubt_is_said_in_the_headline_the_caveats_and_the_reasons() -> None:
    answer = report(doubtful())
    doubt = Note("unknown_keys", names="inner_loops")
    first, second, *_ = answer.conclusion.said
    assert (first.code, second) == ("answer_fits_if", doubt)
    assert doubt in answer.profile.caveats
    assert doubt in answer.ranking[0].reasons
    assert answer.ranking[0].fit.verdict == report(llama()).ranking[0].fit.verdict
    assert doubt in find_misses(answer)
    known = report(llama())
    assert known.conclusion.said[0].code == "answer_fits"
    assert find_misses(known) == ()
