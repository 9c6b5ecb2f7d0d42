"""Repositories of one model at one size: names, facts, and the laws of folding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.usecases.models_for.families import KINDS, Kind, Member, fold, read_name
from tests.sizers import embedded_sizer

LLAMA = (32, 4096)
PACKED = ("FP8", "AWQ", "GPTQ-Int4", "bnb-4bit", "quantized.w4a16", "NVFP4", "GGUF", "MLX-4bit")


def member(
    repo_id: str,
    parameters: int = 8_030_261_248,
    shape: tuple[int, int | None] | None = LLAMA,
    model_type: str | None = "llama",
) -> Member:
    name = read_name(repo_id)
    return Member(repo_id, name.stem, name.kind, parameters, shape, model_type)


def folded(*members: Member) -> list[list[str]]:
    return [[item.repo_id for item in family] for family in fold(members, lambda item: item)]


@pytest.mark.parametrize(
    "repo_id, stem, kind",
    [
        ("Qwen/Qwen3-8B", "qwen3-8b", "plain"),
        ("Qwen/Qwen3-8B-Base", "qwen3-8b", "base"),
        ("nvidia/Qwen3-8B-NVFP4", "qwen3-8b", "quantized"),
        ("google/gemma-2-9b-it", "gemma-2-9b", "instruct"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b", "instruct"),
        ("unsloth/mistral-7b-instruct-v0.3-bnb-4bit", "mistral-7b", "quantized"),
        ("cpatonn/Qwen3-30B-A3B-Thinking-2507-AWQ-4bit", "qwen3-30b-a3b", "quantized"),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b", "thinking"),
        ("RedHatAI/Qwen2.5-7B-Instruct-fp8-dynamic", "qwen2.5-7b", "quantized"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b", "plain"),
        ("OpenGVLab/InternVL2_5-8B", "internvl2.5-8b", "plain"),
        # What names a model or a version of its own stays.
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3", "plain"),
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3-vl-30b-a3b", "instruct"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "deepseek-r1-distill-llama-8b", "plain"),
        ("teknium/OpenHermes-2.5-Mistral-7B", "openhermes-2.5-mistral-7b", "plain"),
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b", "plain"),
        # Names of nothing but words that are left out.
        ("a/it", "it", "plain"),
        ("a/4bit", "4bit", "quantized"),
    ],
)
def test_what_names_say(repo_id: str, stem: str, kind: Kind) -> None:
    assert (read_name(repo_id).stem, read_name(repo_id).kind) == (stem, kind)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_copy_has_the_stem_of_its_original(suffix: str) -> None:
    """For every embedded original: the name with a packing behind it is a copy of the same stem."""
    for candidate in embedded_sizer().library.candidates:
        name = read_name(f"{candidate.profile.repo_id}-{suffix}")
        assert name.stem == read_name(candidate.profile.repo_id).stem
        assert name.kind == "quantized"


def test_base_instruct_and_copies_are_one_family() -> None:
    names = ["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"]
    names += ["nvidia/Llama-3.1-8B-Instruct-FP8", "x/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"]
    assert folded(*map(member, names)) == [[names[1], names[0], names[2], names[3]]]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (member("evil/Llama-3.1-8B-Instruct", 1_000_000_000), "another number of parameters"),
        (member("evil/Llama-3.1-8B-Instruct", shape=(16, 4096)), "other layers"),
        (member("evil/Llama-3.1-8B-Instruct", model_type="chatglm"), "another class"),
        (member("evil/Llama-3.1-8B-AWQ", 4_000_000_000), "half of the parameters, packed"),
    ],
)
def test_a_name_alone_does_not_make_a_copy(other: Member, why: str) -> None:
    assert len(folded(member("meta-llama/Llama-3.1-8B"), other)) == 2, why


def test_a_copy_may_be_of_another_class_and_store_a_tied_matrix_twice() -> None:
    original = member("microsoft/phi-4", 14_659_507_200, (40, 5120), "phi3")
    llama = member("unsloth/phi-4-bnb-4bit", 14_659_507_200, (40, 5120), "llama")
    assert len(folded(original, llama)) == 1
    small = member("Qwen/Qwen2-1.5B-Instruct", 1_543_714_304, (28, 1536), "qwen2")
    untied = member("Qwen/Qwen2-1.5B-Instruct-AWQ", 1_777_088_000, (28, 1536), "qwen2")
    assert len(folded(small, untied)) == 1


@given(st.lists(st.sampled_from([c.member for c in embedded_sizer().library.candidates])))
def test_every_member_is_in_one_family_whatever_the_order(members: list[Member]) -> None:
    families = fold(members, lambda item: item)
    assert sorted(m.repo_id for f in families for m in f) == sorted(m.repo_id for m in members)
    assert families == fold(reversed(members), lambda item: item)
    for family in families:
        assert len({item.stem for item in family}) == 1
        assert [item.kind == "quantized" for item in family] == sorted(
            item.kind == "quantized" for item in family
        )


def test_families_of_the_library() -> None:
    members = [candidate.member for candidate in embedded_sizer().library.candidates]
    families = {f[0].repo_id: {m.repo_id for m in f} for f in fold(members, lambda item: item)}
    assert len(families["meta-llama/Llama-3.1-8B-Instruct"]) == 8
    assert families["Qwen/Qwen3.6-35B-A3B"] == {
        "Qwen/Qwen3.6-35B-A3B",
        "Qwen/Qwen3.6-35B-A3B-FP8",
    }
    # glm-4-9b-chat and GLM-4-9B-0414 share a name and a size, and are two generations.
    assert {"THUDM/glm-4-9b-chat", "zai-org/GLM-4-9B-0414"} <= families.keys()
    assert "google-bert/bert-base-uncased" in families
    assert {m.kind for m in members} <= set(KINDS)


def test_long_and_odd_names_are_read() -> None:
    for name in ("a/" + "x-" * 5000, "", "/", "a/" + "q" * 9999, "a/\u202e-fp8", "-", "a/--__"):
        assert len(read_name(name).stem) <= 200
