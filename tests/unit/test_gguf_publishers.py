"""GGUF files as their publishers make them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.errors import UnknownQuant
from gpusizer.memory.quants import ModelShape, Quant, find_quant
from gpusizer.memory.quants.table import as_published
from gpusizer.memory.quants.variants import variant_quants
from gpusizer.memory.weight_sizes import all_weight_sizes
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup
from tests.gguf_snapshots import file_variant, gguf_snapshot
from tests.hub_emulator.gguf_models import llama_metadata, llama_tensors

ROW = 256  # one block of a K-quant
DENSE = ModelShape(layers=32, heads_per_kv_head=4, experts=0, tied_embeddings=False)
# Bytes of 256 weights, and of one row in 16 bits.
Q6_K, Q5_K, Q4_K, F16 = 210, 176, 144, 512
Q4_1, MXFP4 = 160, 136


def one_row(
    name: str, slot: Slot = Slot.OTHER, layer: int | None = 10, **facts: Any
) -> WeightGroup:
    layers = None if layer is None else (layer,)
    base = WeightGroup(
        "model",
        f"model.{name}.weight",
        "BF16",
        (1, ROW),
        1,
        Part.TEXT,
        Kind.LINEAR,
        slot,
        layers,
        2 * ROW,
    )
    return replace(base, **facts)


EMBEDDING = one_row("embed_tokens", layer=None, kind=Kind.EMBEDDING)
LAYER_TABLE = one_row("embed_tokens_per_layer", layer=None, kind=Kind.EMBEDDING)
EXPERTS_DOWN = one_row("layers.{}.mlp.experts.{}.down_proj", Slot.DOWN, kind=Kind.EXPERT)
EXPERTS_UP = one_row("layers.{}.mlp.experts.{}.up_proj", Slot.UP, kind=Kind.EXPERT)
RECURRENT_OUT = one_row("layers.{}.linear_attn.out_proj")


def amount(quant: Quant, group: WeightGroup, **model: Any) -> int:
    return quant.layout.group_bytes(group, replace(DENSE, **model))


def test_unsloth_keeps_the_tied_embedding_of_gemma_at_the_base_type() -> None:
    standard, publishers = find_quant("q4_k_m"), find_quant("q4_k_m@unsloth")
    gemma = {"model_type": "gemma3n_text", "tied_embeddings": True, "narrow_layer_table": True}
    assert amount(standard, EMBEDDING, **gemma) == Q6_K
    assert amount(publishers, EMBEDDING, **gemma) == Q4_K
    assert amount(publishers, LAYER_TABLE, **gemma) == amount(standard, LAYER_TABLE, **gemma)
    assert amount(publishers, EMBEDDING, model_type="gemma4_text", tied_embeddings=True) == Q4_K
    assert amount(publishers, EMBEDDING, model_type="gemma3_text", tied_embeddings=True) == Q6_K


def test_unsloth_has_wider_experts_than_mxfp4_on_the_way_down() -> None:
    publishers = find_quant("mxfp4_moe@unsloth")
    hybrid = {"model_type": "qwen3_5_moe_text", "experts": 256}
    sizes = [amount(publishers, g, **hybrid) for g in (EXPERTS_UP, EXPERTS_DOWN, RECURRENT_OUT)]
    assert sizes == [MXFP4, Q5_K, F16]
    in_gguf = replace(RECURRENT_OUT, pattern="blk.{}.ssm_out.weight")
    assert amount(publishers, in_gguf, **hybrid) == F16
    assert amount(publishers, EXPERTS_DOWN, model_type="glm4_moe_lite", experts=64) == MXFP4
    # 704 values are no multiple of 256: 22 blocks of 24 bytes
    narrow = replace(EXPERTS_DOWN, shape=(1, 704))
    assert amount(publishers, narrow, model_type="gemma4_text", experts=128) == 22 * 24


@pytest.mark.parametrize("publisher", ["unsloth", "bartowski"])
def test_an_importance_matrix_widens_the_first_layers_of_q4_0(publisher: str) -> None:
    publishers = find_quant(f"q4_0@{publisher}")
    down = [one_row("layers.{}.mlp.down_proj", Slot.DOWN, layer) for layer in (3, 4)]
    assert [amount(publishers, group) for group in down] == [Q4_1, Q4_K]  # Q4_0 is as wide as Q4_K
    assert amount(find_quant("q4_0"), down[0]) == Q4_K
    assert amount(find_quant("q4_0"), down[0], importance_matrix=True) == Q4_1
    assert amount(publishers, down[0], importance_matrix=False) == Q4_K


def test_a_publishers_row_is_named_after_it() -> None:
    quant = find_quant(" Q4_K_M@Unsloth ")
    assert (quant.slug, quant.name) == ("q4_k_m@unsloth", "GGUF Q4_K_M by unsloth")
    for slug in ("q4_k_m@unsloth", "q4_0@unsloth", "mxfp4_moe@unsloth", "q5_0@bartowski"):
        assert find_quant(slug).slug == slug
    for unknown in ("q4_k_m@nobody", "awq-int4-g128@unsloth", "@unsloth", "q4_k_m@"):
        with pytest.raises(UnknownQuant):
            find_quant(unknown)


@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        ("q4_k_m@nobody", ["q4_k_m@bartowski", "q4_k_m@unsloth", "q4_k_m"]),
        ("Q4_K_M@unslot", ["q4_k_m@unsloth", "q4_k_m@bartowski", "q4_k_m"]),
        ("q4@", ["q4_k_m@bartowski", "q4_k_m@unsloth", "q4_k_m"]),
        ("@unsloth", []),
    ],
)
def test_an_unknown_publisher_gets_those_that_are_known(text: str, suggestions: list[str]) -> None:
    with pytest.raises(UnknownQuant) as caught:
        find_quant(text)
    assert caught.value.fields == {"value": text, "suggestions": suggestions}


def test_a_misspelled_recipe_of_a_known_publisher_keeps_the_publisher() -> None:
    with pytest.raises(UnknownQuant) as caught:
        find_quant("q4_k_x@unsloth")
    suggestions = caught.value.fields["suggestions"]
    assert isinstance(suggestions, list)
    assert "q4_k_m@unsloth" in suggestions
    for suggestion in suggestions:
        find_quant(suggestion)


def test_other_publishers_follow_the_recipe() -> None:
    for slug in ("q4_k_m", "awq-int4-g128"):
        assert as_published(find_quant(slug), "nobody") == find_quant(slug)
    assert as_published(find_quant("q4_0"), "Bartowski") != find_quant("q4_0")


def test_a_file_that_was_not_read_is_divided_as_its_publisher_makes_it() -> None:
    """Of the same size, but with more of it in ffn_down where an importance matrix was used."""
    sizes = {"layers": 16, "hidden": 256, "ffn": 512, "heads": 4, "kv_heads": 4, "head_dim": 64}
    others = (file_variant("Q4_0", 10_000_000),)
    shares = []
    for owner in ("nobody", "bartowski"):
        snapshot = gguf_snapshot(
            llama_metadata(**sizes), llama_tensors("Q8_0", vocab=1024, **sizes), others
        )
        profile = build_profile(replace(snapshot, repo_id=f"{owner}/model-GGUF"))
        unread = next(quant for quant in variant_quants(profile) if quant.slug == "q4_0")
        file_sizes = all_weight_sizes(profile, [(unread, True)])["q4_0"]
        down = sum(
            size
            for group, size in zip(profile.groups, file_sizes.by_group, strict=True)
            if group.slot is Slot.DOWN
        )
        shares.append((file_sizes.total, down))
    (total, plain), (same, widened) = shares
    assert total == same
    # two of the sixteen layers have 160 instead of 144 bytes: one 72nd more
    assert plain < widened < plain * 73 / 72
