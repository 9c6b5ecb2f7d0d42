"""GGUF files: their names, and how large llama.cpp makes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.hub.snapshot import Variant
from gpusizer.memory.model_shape import model_shape
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.memory.quants.recipes import RECIPES
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from scrapers.formats.gguf_files import (
    choose_variant,
    first_incomplete,
    gguf_variants,
    kind_of,
    label_of,
)
from scrapers.formats.gguf_pieces import Piece, piece_of
from scrapers.formats.weight_sets import RepoFile
from tests.builders import llama, quantized_bytes, tiny
from tests.families import deepseek_r1
from tests.gguf_rows import DENSE, ROW, block_row, llama_8b, tied


def variants(*paths: str, size: int = 10) -> tuple[Variant, ...]:
    return gguf_variants([RepoFile(path, size) for path in paths])


def names(listed: tuple[Variant, ...], kind: str = "quantization") -> list[str]:
    return sorted(variant.name for variant in listed if variant.kind == kind)


@pytest.mark.parametrize(
    "stem, label",
    [
        ("llama-2-7b-chat.Q4_K_M", "Q4_K_M"),
        ("rift-coder-v0-7b-q4_0", "Q4_0"),
        ("Qwen3-Coder-Next-UD-Q4_K_XL", "UD-Q4_K_XL"),
        ("Olmo-3-7B-Think-UD-IQ2_XXS", "UD-IQ2_XXS"),
        ("Qwen3-Coder-30B-A3B-Instruct-UD-TQ1_0", "UD-TQ1_0"),
        ("gemma-4-31b-it-heretic-ara.i1-IQ2_S", "IQ2_S"),
        ("Q4-UNCENSORED-D_AU-Q5_K_S-imat", "Q5_K_S"),
        ("gemma-4-26B-A4B-it-MXFP4_MOE", "MXFP4_MOE"),
        ("gpt-oss-20b-mxfp4", "MXFP4"),
        ("gemma-4-26B-A4B-it-heretic.f16", "F16"),
        ("qwen2.5-coder-7b-instruct-fp16", "F16"),
        ("Phi-3-mini-4k-instruct-q4", "Q4"),
        ("old.Q4_0_4_8", "Q4_0_4_8"),
        ("BF16/model", "BF16"),
        ("Q8_0/model-Q4_K_M", "Q4_K_M"),
        ("model-Q1_0", "Q1_0"),
        ("model-NVFP4", "NVFP4"),
        ("gemma-2b-it", None),
        ("Qwen3-8B", None),
        ("Q99", None),
    ],
)
def test_label(stem: str, label: str | None) -> None:
    assert label_of(stem) == label


@pytest.mark.parametrize(
    "stem, kind",
    [
        ("mmproj-F16", "projector"),
        ("model.mmproj-Q8_0", "projector"),
        ("vision/mmproj-model-f16", "projector"),
        ("model-draft-Q8_0", "draft"),
        ("mtp-model-Q4_0", "draft"),
        ("Llama-EAGLE3-F16", "draft"),
        ("model-Q4_K_M", "quantization"),
        ("overdraft-Q4_K_M", "quantization"),
    ],
)
def test_kind(stem: str, kind: str) -> None:
    assert kind_of(stem) == kind


def test_sizes_are_summed_and_ordered() -> None:
    sizes = {
        "Q8_0/m-Q8_0-00001-of-00003.gguf": 50,
        "Q8_0/m-Q8_0-00002-of-00003.gguf": 40,
        "Q8_0/m-Q8_0-00003-of-00003.gguf": 3,
        "m-Q4_K_M.gguf": 60,
        "m-UD-Q4_K_XL.gguf": 61,
        "m-BF16.gguf": None,
        "mmproj-F16.gguf": 7,
        "m-draft-Q4_K_M.gguf": 5,
        "imatrix.gguf": 4,
        "m.imatrix.gguf": 4,
        "imatrix_unsloth.dat": 4,
        "README.md": 1,
    }
    listed = gguf_variants([RepoFile(path, size) for path, size in sizes.items()])
    assert [(v.name, v.kind, v.size_bytes) for v in listed] == [
        ("Q8_0", "quantization", 93),
        ("UD-Q4_K_XL", "quantization", 61),
        ("Q4_K_M", "quantization", 60),
        ("BF16", "quantization", None),
        ("F16", "projector", 7),
        ("Q4_K_M", "draft", 5),
    ]
    assert [file.path[-9:-5] for file in listed[0].files] == ["0003"] * 3
    assert listed[1].slug == "ud-q4_k_xl"


def test_names_are_never_shared() -> None:
    assert names(variants("a.Q4_0.gguf", "b.Q4_0.gguf", "b.Q8_0.gguf")) == [
        *("Q8_0", "a.Q4_0", "b.Q4_0")
    ]
    assert names(variants("x/m.gguf", "y/m.gguf", "n.gguf")) == ["n", "x/m", "y/m"]
    split = variants("m-Q4_0.gguf", "m-Q4_0-1-of-2.gguf", "m-Q4_0-2-of-2.gguf")
    assert len(names(split)) == len(set(names(split))) == 2


def test_a_repository_of_drafts_has_models() -> None:
    assert names(variants("eagle3-Q4_0.gguf", "eagle3-F16.gguf")) == ["F16", "Q4_0"]


def test_missing_shards() -> None:
    paths = ["m-Q4_0-00001-of-00002.gguf", "m-Q8_0.gguf"]
    assert names(variants(*paths)) == ["Q8_0"]
    assert first_incomplete([RepoFile(path, 1) for path in paths]) == paths[0]
    assert first_incomplete([RepoFile("m-Q8_0.gguf", 1)]) is None


@pytest.mark.parametrize(
    "path, piece",
    [
        ("m.Q6_K.gguf-split-a", Piece("m.Q6_K.gguf", "split a", 0, None)),
        ("x/m.gguf.part-ac", Piece("x/m.gguf", "part aa", 2, None)),
        ("m.gguf.part10of12", Piece("m.gguf", "part 12", 10, 12)),
        ("m.gguf.Part_2_of_3", Piece("m.gguf", "part 3", 2, 3)),
        ("m.gguf-part-01", Piece("m.gguf", "part None", 1, None)),
        ("m.gguf", None),
        ("m.gguf.part", None),  # a download that was cut off
        ("m.gguf.parts", None),
        ("m.gguf.split.md", None),
        ("m.bin.part1of2", None),
        ("m-00001-of-00002.gguf", None),
    ],
)
def test_names_of_pieces(path: str, piece: Piece | None) -> None:
    assert piece_of(path) == piece


def test_pieces_are_joined_in_the_order_of_their_numbers() -> None:
    paths = [f"m.Q8_0.gguf.part{number}of11" for number in range(1, 12)]
    (variant,) = gguf_variants([RepoFile(path, 10) for path in reversed(paths)])
    assert [file.path for file in variant.files] == paths
    assert (variant.size_bytes, variant.raw_pieces) == (110, True)
    assert not variants("m-Q8_0.gguf")[0].raw_pieces


@pytest.mark.parametrize(
    "present",
    [
        ("m.Q4_0.gguf-split-b", "m.Q4_0.gguf-split-c"),
        ("m.Q4_0.gguf-split-a", "m.Q4_0.gguf-split-c"),
        ("m.Q4_0.gguf-split-a",),
        ("m.Q4_0.gguf.part1of3", "m.Q4_0.gguf.part2of3"),
        ("m.Q4_0.gguf.part1of2", "m.Q4_0.gguf.part2of3"),
        ("m.Q4_0.gguf.part2", "m.Q4_0.gguf.part3"),
    ],
)
def test_missing_pieces(present: tuple[str, ...]) -> None:
    assert names(variants("m.Q8_0.gguf", *present)) == ["Q8_0"]
    assert first_incomplete([RepoFile(path, 1) for path in present]) == present[0]


@pytest.mark.parametrize(
    "labels, file, tag, expected",
    [
        (("Q8_0", "Q4_K_M", "Q4_K_S"), None, None, "Q4_K_M"),
        (("Q8_0", "Q5_K_M", "UD-Q4_K_XL", "Q2_K"), None, None, "UD-Q4_K_XL"),
        (("Q8_0", "Q4_0", "IQ4_XS"), None, None, "Q4_0"),
        (("Q8_0", "F16"), None, None, "Q8_0"),
        (("small", "larger"), None, None, "small"),
        (("Q8_0", "Q4_K_M"), None, "q8_0", "Q8_0"),
        (("Q8_0", "F16"), None, "fp16", "F16"),
        (("Q8_0", "UD-Q4_K_XL"), None, "q4_k_xl", "UD-Q4_K_XL"),
        (("Q8_0", "Q4_K_M"), None, "latest", "Q4_K_M"),
        (("Q8_0", "Q4_K_M"), None, "Q6_K", None),
        (("Q8_0", "Q4_K_M"), "m-Q8_0.gguf", None, "Q8_0"),
        (("Q8_0", "Q4_K_M"), "m-Q6_K.gguf", None, None),
        (("Q8_0", "Q4_K_M"), "m-Q8_0.gguf", "Q4_K_M", "Q8_0"),
        ((), None, None, None),
    ],
)
def test_choice(
    labels: tuple[str, ...], file: str | None, tag: str | None, expected: str | None
) -> None:
    listed = gguf_variants([RepoFile(f"m-{x}.gguf", len(x) + 1) for x in labels])
    variant = choose_variant(listed, file, tag)
    assert (variant and variant.name.removeprefix("m-")) == expected


def test_a_projector_is_read_when_requested() -> None:
    listed = variants("m-Q4_K_M.gguf", "mmproj-F16.gguf")
    variant = choose_variant(listed, "mmproj-F16.gguf")
    assert variant is not None
    assert variant.kind == "projector"


PATHS = st.lists(
    st.tuples(
        st.text("aQ4_KM0-of12/.", min_size=1, max_size=20),
        st.sampled_from((".gguf", ".gguf-split-a", ".gguf-split-b", ".gguf.part1of1")),
    ).map("".join),
    max_size=6,
    unique=True,
)


@given(PATHS)
def test_every_file_is_in_one_variant_at_most(paths: list[str]) -> None:
    listed = variants(*paths)
    used = [file.path for variant in listed for file in variant.files]
    assert len(used) == len(set(used))
    assert set(used) <= set(paths)
    keys = [(variant.slug, variant.kind) for variant in listed]
    assert len(keys) == len(set(keys))


def test_a_whole_small_model() -> None:
    profile = build_profile(tiny())
    # Q8_0 is 34 bytes per 32 weights; the 9 norms of 256 are FP32.
    matrices = profile.parameters - 9 * 256
    assert quantized_bytes("q8_0", profile) == matrices * 34 // 32 + 9 * 256 * 4


def test_a_head_the_converter_writes_again_is_counted_again() -> None:
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, shape=(1000, ROW))
    head = replace(table, kind=Kind.OUTPUT, duplicate=True)
    layout, stored_once = Gguf(RECIPES["q4_0"]), tied(llama_8b())
    doubled = replace(stored_once, doubles_head=True, stores_head=True)
    assert (
        layout.group_bytes(table, stored_once) + layout.group_bytes(head, stored_once) == 1000 * 210
    )
    assert layout.group_bytes(table, doubled) + layout.group_bytes(head, doubled) == 1000 * (
        144 + 210
    )
    falcon = replace(doubled, wide_head=True)  # llama.cpp keeps Falcon's head at Q8_0
    assert layout.group_bytes(head, falcon) == 1000 * 272


def test_an_embedding_trained_for_q4_0_is_published_wider() -> None:
    table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, shape=(1000, ROW))
    trained = tied(llama_8b(), trained_for_q4_0=True)
    assert Gguf(RECIPES["q4_0"]).group_bytes(table, trained) == 1000 * 272
    assert Gguf(RECIPES["q4_k_m"]).group_bytes(table, trained) == 1000 * 210


def test_a_table_of_one_row_a_layer_follows_a_tied_head() -> None:
    """Q6_K as the head, Q4_K where there is a head of its own or in files of Gemma 3n."""
    layout, model = Gguf(RECIPES["q4_k_m"]), tied(llama_8b())
    for name in ("model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"):
        table = block_row(Slot.OTHER, kind=Kind.EMBEDDING, layers=None, pattern=name)
        assert layout.group_bytes(table, model) == 210
        assert layout.group_bytes(table, replace(model, doubles_head=True)) == 210
        assert layout.group_bytes(table, replace(model, tied_embeddings=False)) == 144
        assert layout.group_bytes(table, replace(model, narrow_layer_table=True)) == 144
    assert model_shape(build_profile(llama(model_type="gemma3n"))).narrow_layer_table
    assert not model.narrow_layer_table


def test_gemma_3n_keeps_small_matrices() -> None:
    layout, model = Gguf(RECIPES["q4_k_m"]), tied(llama_8b())
    for pattern in (
        "model.layers.{}.laurel.linear_left.weight",
        "model.altup_projections.{}.weight",
        "model.per_layer_model_projection.weight",
        "blk.{}.laurel_l.weight",
        "blk.{}.altup_router.weight",
        "altup_proj.weight",
        "per_layer_model_proj.weight",
    ):
        assert layout.group_bytes(block_row(Slot.OTHER, pattern=pattern), model) == 2 * ROW


def test_draft_layers_stay_where_the_converter_keeps_them() -> None:
    draft = block_row(Slot.UP, part=Part.MTP, layers=(32,))
    table = replace(draft, kind=Kind.EMBEDDING)
    with_drafts = replace(DENSE, keeps_drafts=True)
    assert Gguf(RECIPES["q8_0"]).group_bytes(draft, with_drafts) == 272
    assert Gguf(RECIPES["q8_0"]).group_bytes(table, with_drafts) == 272
    glm = build_profile(llama(model_type="glm4_moe"))
    assert model_shape(glm).keeps_drafts
    assert not model_shape(llama_8b()).keeps_drafts


def test_the_latent_of_mla_is_split_into_keys_and_values() -> None:
    """R1: 128 heads, keys of 128 and values of 128; rows of 128 do not fill blocks of 256."""
    model = model_shape(build_profile(deepseek_r1()))
    assert (model.attention_heads, model.latent_key_dim) == (128, 128)
    kv_b = block_row(Slot.KV_B, shape=(128 * (128 + 128), 512))
    keys, values = 128 * 512 * (128 // 32 * 22), 128 * 128 * (512 // 256 * 144)
    assert Gguf(RECIPES["q4_k_m"]).group_bytes(kv_b, model) == keys + values
    # MXFP4_MOE takes matrices of three sides for experts: 4 blocks of 17 bytes for 128 values
    narrow = 128 * 512 * (128 // 32 * 17) + 128 * 128 * (512 // 32 * 17)
    assert Gguf(RECIPES["mxfp4_moe"]).group_bytes(kv_b, model) == narrow


def test_the_header_follows_the_vocabulary() -> None:
    # 7.83 MB in published Llama-3 files, 0.74 in Llama 2's, 6.53 in Gemma 3's, 5.96 in Qwen's,
    # 13.01 in those of gpt-oss; Qwen3.5 has 44 bytes a token
    for size, tokens, kind in (
        (7.83, 128_256, "llama"),
        (0.74, 32_000, "llama"),
        (6.53, 262_144, "gemma3"),
        (5.96, 151_936, "qwen3"),
        (13.01, 201_088, "gpt_oss"),
        (10.93, 248_320, "qwen3_5_text"),
    ):
        facts = build_profile(llama(vocab=tokens, model_type=kind)).architecture
        assert header_bytes(facts) / 1e6 == pytest.approx(size, rel=0.06)
    assert header_bytes(None) == 0
