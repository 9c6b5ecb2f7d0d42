"""A second model that guesses tokens: its memory by hand, its notes, its place in the answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.errors import ModelUnreadable
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.memory.draft import draft_split
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.model.draft import method_of
from gpusizer.model.profile import DraftModel, build_profile
from gpusizer.text import LANGUAGES, say_note
from gpusizer.usecases.derivation import derivation
from gpusizer.usecases.report import Report
from scrapers.readme.model_card import read_card
from tests.asking import size
from tests.documents import written
from tests.drafts import EAGLE3, eagle3, fetching
from tests.sizers import embedded_sizer

MODEL, SIBLING = "Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"
LAYERS, KV_WIDTH, CONTEXT = 28, 8 * 128, 8192  # of Qwen3-0.6B
PARTS = ("weights", "kv_cache", "activations", "overhead", "outside")


def report(**fields: Any) -> Report:
    request = {"model": MODEL, "quant": "native", "engine": "vllm", **fields}
    return size(fetching(eagle3()), request)


def codes(sized: Report) -> set[str]:
    return {note.code for note in sized.notes}


def test_a_sibling_adds_its_weights_and_its_cache() -> None:
    """Without graphs: those of the model grow with the tokens that are guessed."""
    estimate = report(draft_model=SIBLING, enforce_eager=True).estimates[0].estimate
    plain = report(enforce_eager=True).estimates[0].estimate
    assert estimate.draft is not None and plain.draft is None
    stored = build_profile(embedded_sizer().fetch(embedded_sizer().parse(SIBLING)))
    weights = estimate.draft.per_gpu.weights.likely
    assert weights == pytest.approx(stored.parameters * 2, rel=0.01)
    assert estimate.draft.per_gpu.kv_cache.likely == LAYERS * 2 * KV_WIDTH * 2 * CONTEXT
    for part in PARTS:
        whole, own = getattr(estimate.all_gpus, part), getattr(plain.all_gpus, part)
        assert whole.likely == own.likely + getattr(estimate.draft.all_gpus, part).likely
    assert estimate.stored_bytes == plain.stored_bytes + estimate.draft.sizes.total
    assert estimate.host_bytes == plain.host_bytes == 0


@pytest.mark.parametrize("gpus", [1, 2, 4])
@pytest.mark.parametrize(
    "engine, quant", [("vllm", "bf16"), ("sglang", "bf16"), ("llama.cpp", "q4_k_m")]
)
def test_a_draft_adds_bytes_to_every_card(engine: str, quant: str, gpus: int) -> None:
    fields = {"engine": engine, "quant": quant, "gpu_count": gpus, "gpu": "a100 sxm4 80gb"}
    plain, drafted = (report(**fields, draft_model=draft).ranking[0].fit for draft in ("", SIBLING))
    for name in ("low", "likely", "high"):
        assert getattr(drafted.estimate.per_gpu.total, name) > getattr(
            plain.estimate.per_gpu.total, name
        )
    assert drafted.headroom_bytes < plain.headroom_bytes
    assert drafted.max_context is not None and plain.max_context is not None
    assert drafted.max_context <= plain.max_context
    assert drafted.max_concurrency is not None and plain.max_concurrency is not None
    assert drafted.max_concurrency < plain.max_concurrency


def test_more_cards_divide_a_draft_under_vllm() -> None:
    one, four = (
        report(draft_model=SIBLING, gpu=f"{count}xh100 sxm").ranking[0].fit.estimate.draft
        for count in (1, 4)
    )
    assert one is not None and four is not None
    assert (one.split.gpus, four.split.gpus) == (1, 4)
    assert four.per_gpu.kv_cache.likely * 4 == one.per_gpu.kv_cache.likely
    assert four.per_gpu.weights.likely < one.per_gpu.weights.likely / 2


def test_a_draft_has_no_stages_of_its_own() -> None:
    draft = DraftModel(build_profile(eagle3()), "eagle3")
    assert draft_split(draft, ENGINES["vllm"], Split(2, 4)) == Split(2)
    assert draft_split(draft, ENGINES["llama.cpp"], Split(1, 4)) == Split()


def test_an_eagle_head_by_hand() -> None:
    """fc 4096 x 12288, a head of 32,000 x 4096, and a layer of 218,103,808 weights, in 16 bits;
    one layer of cache."""
    estimate = report(draft_model=EAGLE3).estimates[0].estimate
    assert estimate.draft is not None
    layer = 2 * 4096 * (4096 + 1024 + 1024) + 4096 * 4096 + 3 * 4096 * 12_288
    parameters = 4096 * 12_288 + 32_000 * 4096 + layer
    assert estimate.draft.sizes.total == 2 * parameters
    assert estimate.draft.per_gpu.kv_cache.likely == 2 * KV_WIDTH * 2 * CONTEXT
    assert estimate.draft.per_gpu.weights.low > 0.9 * 2 * parameters


def test_a_copied_embedding_is_a_band() -> None:
    """vLLM shares an embedding that is the model's, which headers do not tell."""
    request = {"model": MODEL, "quant": "native", "engine": "vllm", "draft_model": EAGLE3}
    draft = size(fetching(eagle3(embedding=True)), request).estimates[0].estimate.draft
    weights = draft.per_gpu.weights
    assert weights.likely - weights.low >= 151_936 * 4096 * 2
    assert weights.provenance is Provenance.DERIVED


def test_llama_cpp_gives_a_draft_a_context_of_its_own() -> None:
    """In 16 bits, whatever the model's cache is in, with a compute buffer."""
    fields = {"engine": "llama.cpp", "quant": "q4_k_m", "draft_model": SIBLING}
    wide, narrow = (
        report(**fields, kv_dtype=kind).estimates[0].estimate.draft for kind in ("auto", "q8_0")
    )
    assert wide is not None and narrow is not None
    assert wide.quant.slug == "gguf-f16" and not wide.native
    assert wide.per_gpu.kv_cache == narrow.per_gpu.kv_cache
    assert wide.per_gpu.kv_cache.likely == LAYERS * 2 * KV_WIDTH * 2 * CONTEXT
    assert wide.per_gpu.activations.likely > 0


def test_own_draft_layers_are_not_loaded_beside_a_draft_model() -> None:
    fields = {"model": "deepseek-ai/DeepSeek-R1", "gpu_count": 8, "draft_tokens": 2}
    own = report(**fields).estimates[0].estimate
    drafted = report(**fields, draft_model=SIBLING).estimates[0].estimate
    assert drafted.draft is not None
    other = drafted.all_gpus.weights.likely - drafted.draft.all_gpus.weights.likely
    assert other < own.all_gpus.weights.likely
    assert (
        other
        == report(**{**fields, "draft_tokens": 0}).estimates[0].estimate.all_gpus.weights.likely
    )


def test_the_parts_of_a_derivation_add_up() -> None:
    sized = report(draft_model=SIBLING)
    row = sized.estimates[0]
    steps = derivation(row)
    for part in ("weights", "kv_cache"):
        lines = [step for step in steps if step.part == part]
        total = sum(step.correction or step.amount.likely for step in lines)
        assert total == getattr(row.estimate.all_gpus, part).likely
        assert [step.rule for step in lines].count("draft") == 1


def test_methods_are_told_by_name_and_class() -> None:
    assert method_of("yuhuili/EAGLE-LLaMA3-Instruct-8B", None) == "eagle"
    assert method_of("RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3", None) == "eagle3"
    assert method_of("z-lab/Qwen3-8B-DFlash-b16", ["DFlashDraftModel"]) == "dflash"
    assert method_of("org/head", ["LlamaForCausalLMEagle3"]) == "eagle3"
    assert method_of("org/head", ["EagleLlamaForCausalLM"]) == "eagle"
    assert method_of("org/small", [3, None, "Qwen3ForCausalLM"]) == "draft_model"


def test_a_block_says_how_many_tokens_are_guessed() -> None:
    for value, tokens in ((16, 15), (True, 3), ("16", 3), (10**9, 3)):
        sizer = fetching(eagle3(block_size=value))
        sized = size(sizer, {"model": MODEL, "engine": "vllm", "draft_model": EAGLE3})
        assert sized.workload.draft_tokens == tokens
        assert "draft_tokens_assumed" in codes(sized)


def test_notes() -> None:
    assert "draft_vocabulary_differs" not in codes(report(draft_model=SIBLING))
    assert "draft_vocabulary_differs" in codes(report(draft_model="meta-llama/Llama-3.2-1B"))
    assert "draft_not_a_language_model" in codes(report(draft_model="BAAI/bge-small-en-v1.5"))
    assert "draft_run_by" in codes(report(engine=None, draft_model=SIBLING))
    assert "draft_converted" in codes(report(engine="llama.cpp", quant="q8_0", draft_model=SIBLING))
    assert "draft_not_in_rig" in codes(
        report(engine="llama.cpp", quant="q8_0", draft_model=SIBLING, rig="3090 + 3060")
    )
    elsewhere = report(engine="transformers", draft_model=SIBLING)
    assert "draft_not_run" in codes(elsewhere)
    assert elsewhere.estimates[0].estimate.draft is None
    assert "acceptance_needs_a_draft" in codes(report(acceptance_rate=0.5))
    head = eagle3(architectures=["EagleLlamaForCausalLM"])
    sizer = fetching(replace(head, repo_id="org/head"))
    asked = {"model": MODEL, "draft_model": "org/head", "quant": "q8_0", "engine": "llama.cpp"}
    assert "draft_not_run" in codes(size(sizer, asked))
    assert "not_modelled" not in codes(report(engine=None, draft_model=SIBLING, draft_tokens=4))


def test_a_draft_that_cannot_be_read_is_an_error_about_it() -> None:
    with pytest.raises(ModelUnreadable) as refusal:
        report(draft_model="nobody/nothing")
    assert refusal.value.fields["repo_id"] == "nobody/nothing"


def carded(draft: str) -> Report:
    """Qwen3-8B as a card states it whose command names this draft model."""
    config = json.dumps({"model": draft, "num_speculative_tokens": 5})
    command = f"vllm serve {MODEL} --max-model-len 8192 --speculative-config '{config}'"
    sizer = fetching(eagle3())
    card = read_card(f"```\n{command}\n```".encode(), MODEL, "https://huggingface.co/x")

    def fetch(ref: ModelRef) -> RepoSnapshot:
        snapshot = sizer.fetch(ref)
        return replace(snapshot, card=card) if ref.repo_id == MODEL else snapshot

    return size(sizer.reading(fetch), {"model": MODEL, "as_card": True, "top": 1})


@pytest.mark.parametrize("draft", [EAGLE3, SIBLING])
def test_as_the_card_states_it_counts_the_draft_of_the_command(draft: str) -> None:
    sized = carded(draft)
    asked = report(draft_model=draft, draft_tokens=5)
    assert sized.estimates == asked.estimates
    assert sized.estimates[0].estimate.draft is not None
    assert written(sized)["workload"]["draft_model"] == draft


@pytest.mark.parametrize("draft", ["./draft", "/models/draft", "nobody/no-such-draft"])
def test_a_draft_of_a_card_that_cannot_be_read_is_left_out(draft: str) -> None:
    sized = carded(draft)
    (note,) = (note for note in sized.notes if note.code == "card_draft_left_out")
    assert note.fields["draft"] == draft
    assert sized.estimates[0].estimate.draft is None
    assert sized.estimates == carded("").estimates
    for language in LANGUAGES:
        assert draft in say_note(note, language)
