"""GGUF files as llama.cpp's converter makes them, and as publishers do otherwise."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

import pytest
from gguf.constants import MODEL_ARCH_NAMES

from gpusizer.core.errors import InvalidRequest, UnknownQuant
from gpusizer.core.paths import DATA_DIR
from gpusizer.gpus import load_catalogue
from gpusizer.memory.model_shape import model_shape, model_type_of, spellings
from gpusizer.memory.quants import Quant, find_quant
from gpusizer.memory.quants.gguf import Gguf
from gpusizer.memory.quants.recipes import RECIPES
from gpusizer.memory.quants.table import as_published
from gpusizer.memory.quants.variants import variant_quants
from gpusizer.memory.weight_sizes import all_weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.builders import llama
from tests.documents import written
from tests.families import gpt_oss_20b, qwen3_next
from tests.gguf_rows import DENSE, ROW, block_row
from tests.gguf_snapshots import file_variant, gguf_profile, gguf_snapshot
from tests.hub_emulator.gguf_models import llama_metadata, llama_tensors

EARLY = replace(DENSE, early_qkv=True)
Q6_K, Q5_K, Q4_K, IQ4_XS, Q2_K, IQ2_XS = 210, 176, 144, 136, 84, 74  # bytes of 256 weights


def fused(name: str, rows: int = 1) -> WeightGroup:
    """Return a projection to queries, keys and values in layer 10."""
    pattern = f"model.layers.{{}}.{name}.weight"
    return block_row(Slot.QKV, pattern=pattern, shape=(rows, ROW))


@pytest.mark.parametrize(
    "slug, early, now",
    [
        ("q5_k_m", Q6_K, Q5_K),  # layer 10 of 32 is not widened
        ("q4_k_m", Q5_K, Q4_K),
        ("q4_k_s", Q4_K, Q4_K),
        ("q3_k_l", Q4_K, Q5_K),
        ("q3_k_m", Q4_K, Q4_K),
        ("q2_k", Q2_K, Q4_K),
        ("iq4_xs", IQ4_XS, Q5_K),
    ],
)
def test_fused_attention_before_it_was_taken_for_values(slug: str, early: int, now: int) -> None:
    layout, group = Gguf(RECIPES[slug]), fused("attn.qkv_proj")
    assert layout.group_bytes(group, EARLY) == early
    assert layout.group_bytes(group, DENSE) == now


def test_models_older_than_the_rule() -> None:
    assert model_shape(build_profile(llama(model_type="phi3"))).early_qkv
    assert not model_shape(build_profile(llama(model_type="qwen3_5"))).early_qkv


def test_the_gate_of_a_fused_projection_is_no_attention() -> None:
    """Qwen3-Next's 12,288 rows: 8,192 are convolved, 4,096 are attn_gate."""
    model = model_shape(build_profile(qwen3_next()))
    assert (model.gate_rows, model.early_qkv) == (4096, True)
    qkvz = fused("linear_attn.in_proj_qkvz", 12288)
    assert Gguf(RECIPES["q4_k_m"]).group_bytes(qkvz, model) == 8192 * Q5_K + 4096 * Q4_K


def test_the_head_of_mpt_is_written_twice() -> None:
    assert model_shape(build_profile(llama(model_type="mpt"))).doubles_head


def down(name: str, layer: int, kind: Kind = Kind.LINEAR) -> WeightGroup:
    """Return a down-projection of one block."""
    return replace(fused(f"mlp.{name}.down_proj"), slot=Slot.DOWN, layers=(layer,), kind=kind)


def test_the_first_down_projections_are_counted_one_by_one() -> None:
    """An eighth of 32 is 4: the dense layer's, both of layer 1, and the experts' of layer 2."""
    later = tuple(range(1, 32))
    model = replace(DENSE, experts=64, down_layers=((0,), later, later))
    layout = Gguf(RECIPES["iq2_xs"])
    widths = [
        layout.group_bytes(group, model)
        for group in (
            down("mlp", 0),
            down("experts.{}", 1, Kind.EXPERT),
            down("shared_experts", 1),
            down("experts.{}", 2, Kind.EXPERT),
            down("shared_experts", 2),
            down("experts.{}", 3, Kind.EXPERT),
        )
    ]
    assert widths == [Q2_K] * 4 + [IQ2_XS] * 2
    # other recipes go by the number of the layer
    assert Gguf(RECIPES["q4_k_s"]).group_bytes(down("shared_experts", 3), model) == Q5_K


def test_layers_with_down_projections() -> None:
    every = tuple(range(48))
    assert model_shape(build_profile(qwen3_next())).down_layers == ((), every, every)
    assert model_shape(build_profile(llama())).down_layers == (tuple(range(32)), (), ())


# Rules of both tables for a model, by its names in both kinds of files.
RULES = [
    ("glm4_moe", "glm4moe", "keeps_drafts"),
    ("glm_moe_dsa", "glm-dsa", "keeps_drafts"),
    ("exaone_moe", "exaone-moe", "keeps_drafts"),
    ("bailing_moe_v2", "bailingmoe2", "keeps_drafts"),
    ("falcon", "falcon", "wide_head"),
    ("falcon", "falcon", "doubles_head"),
    ("falcon", "falcon", "early_qkv"),
    ("gemma3n", "gemma3n", "narrow_layer_table"),
    ("qwen3_next", "qwen3next", "early_qkv"),
    ("phi3", "phi3", "early_qkv"),
    ("mpt", "mpt", "doubles_head"),
    ("gpt2", "gpt2", "early_qkv"),
    ("gpt_neox", "gptneox", "early_qkv"),
    ("gpt_bigcode", "starcoder", "early_qkv"),
    ("bloom", "bloom", "early_qkv"),
    ("chatglm", "chatglm", "early_qkv"),
    ("qwen", "qwen", "early_qkv"),
    ("dbrx", "dbrx", "early_qkv"),
    ("nomic_bert", "nomic-bert", "early_qkv"),
    ("nomic_bert", "nomic-bert-moe", "early_qkv"),
]


@pytest.mark.parametrize("model_type, architecture, rule", RULES)
def test_rules_hold_for_both_spellings(model_type: str, architecture: str, rule: str) -> None:
    as_gguf = gguf_profile(llama_metadata(arch=architecture), llama_tensors())
    shapes = [
        model_shape(profile) for profile in (build_profile(llama(model_type=model_type)), as_gguf)
    ]
    assert [getattr(shape, rule) for shape in shapes] == [True, True]
    assert [shape.model_type for shape in shapes] == [model_type] * 2


# Older names of Falcon, text halves of models that are named whole, and GLM-4.7-Flash, whose
# files say deepseek2 like those of other models.
ONE_SPELLING = {
    "RefinedWebModel",
    "RefinedWeb",
    "gemma3n_text",
    "gemma4_text",
    "qwen3_5_moe_text",
    "glm4_moe_lite",
    "gemma3_text",
    "qwen3_5_text",
    "deepseek_v2",
    "deepseek_v3",
    "hunyuan_v1_moe",
    "hunyuan_v1_dense",
    "PanguEmbedded",
}


def named_models() -> set[str]:
    names: set[str] = set()
    for table, column in (("conversion", "model_type"), ("publishers", "models")):
        path = DATA_DIR / f"gguf_{table}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            names |= {name for row in csv.DictReader(file) for name in row[column].split()}
    return names


def test_every_model_with_a_rule_has_its_name_in_gguf_files() -> None:
    arch_names = set(MODEL_ARCH_NAMES.values())
    assert set(spellings()) <= arch_names
    assert set(spellings().values()) <= named_models()
    assert named_models() - arch_names - set(spellings().values()) <= ONE_SPELLING
    assert {name for name in named_models() if model_type_of(name) != name} == set()


@pytest.mark.parametrize("engine", ["llama.cpp", "ollama"])
def test_what_gpt_oss_was_released_in_runs_on_llama_cpp(engine: str) -> None:
    """Experts stay in MXFP4, the rest 16-bit: 13,779,630,336 bytes of tensors in the file
    labelled F16 (github.com/lhl/strix-halo-testing, gpt-oss-20b-F16)."""
    sizer = Sizer(lambda ref: gpt_oss_20b(), load_catalogue())
    for quant in ("mxfp4", "gguf-f16"):
        request = {"model": "org/model", "max_watts": 1, "quant": quant, "engine": engine}
        (row,) = written(size(sizer, request))["estimates"]
        assert row["weights_bytes"] + row["host_bytes"] == 13_779_630_336


@pytest.mark.parametrize(
    "model_type, gguf_date, kept",
    [
        ("qwen3_5_text", None, True),
        ("qwen3_5_text", "2026-05-16", True),  # the day on which PR 22673 was merged
        ("qwen3_5_text", "2026-05-15", False),
        ("qwen3_5_text", "2026-04", False),
        ("qwen3_next", "2026-07", False),
        ("glm4_moe", "2025-08", True),
        ("llama", None, False),
    ],
)
def test_draft_layers_by_the_date_of_the_file(
    model_type: str, gguf_date: str | None, kept: bool
) -> None:
    said = Workload(gguf_date=gguf_date)
    assert model_shape(build_profile(llama(model_type=model_type)), said).keeps_drafts == kept


def test_a_draft_layer_is_numbered_after_the_last() -> None:
    """Q4_K_S widens ffn_down of the first eighth; layer 0 of mtp.layers is layer 32."""
    draft = replace(down("mlp", 0), part=Part.MTP)
    kept = replace(DENSE, keeps_drafts=True)
    layout = Gguf(RECIPES["q4_k_s"])
    assert layout.group_bytes(down("mlp", 0), kept) == Q5_K
    assert layout.group_bytes(draft, kept) == Q4_K


@pytest.mark.parametrize(
    ("gguf_date", "early"), [(None, True), ("2026-02", True), ("2026-03", False)]
)
def test_fused_attention_by_the_date_of_the_file(gguf_date: str | None, early: bool) -> None:
    shape = model_shape(build_profile(llama(model_type="phi3")), Workload(gguf_date=gguf_date))
    assert shape.early_qkv == early


@pytest.mark.parametrize("text", ["2026", "2026-13", "2026-02-32", "b7900", "26-02"])
def test_a_date_is_a_month_or_a_day(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        SizeRequest.from_fields({"model": "org/model", "gguf_date": text})
    assert caught.value.fields["reason"] == "not_a_month"


# Bytes of 256 weights, and of one row in 16 bits.
F16, Q4_1, MXFP4 = 512, 160, 136


def one_row(
    name: str, slot: Slot = Slot.OTHER, layer: int | None = 10, **facts: Any
) -> WeightGroup:
    layers = None if layer is None else (layer,)
    return block_row(slot, pattern=f"model.{name}.weight", layers=layers, **facts)


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
    """Sizes are equal, but ffn_down has a larger share with an importance matrix."""
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
