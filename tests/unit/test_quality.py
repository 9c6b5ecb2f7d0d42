"""Loss of a quantization: laws, bases, caveats and words."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import expm1
from statistics import median

import pytest

from bench.measurements import load_profile
from gpusizer.memory.quants import all_quants, find_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.estimate import quality_of
from gpusizer.quality.evidence import Evidence, evidence_of, kin_of
from gpusizer.quality.kv_loss import cache_loss
from gpusizer.quality.prediction import MEASURED, predict
from gpusizer.quality.quality import LIMITS, WORDS, LossWord, Quality, tokens_changed, word_of
from gpusizer.quality.relation import LossCase, fitted, recipe_of

CHAINS = (
    "q8_0 q6_k q5_k_m q5_k_s q4_k_m q4_k_s q3_k_l q3_k_m q3_k_s q2_k q2_k_s",
    "iq4_nl iq4_xs iq3_m iq3_s iq3_xs iq3_xxs iq2_m iq2_s iq2_xs iq2_xxs iq1_m iq1_s",
    "q5_1 q5_0 q4_1 q4_0",
    "gptq-int8-g128 gptq-int4-g128",
    "mlx-8bit mlx-6bit mlx-4bit",
    "exl3-8.0 exl3-6.0 exl3-4.0 exl3-3.0",
    "exl2-8.0 exl2-6.5 exl2-5.0 exl2-4.25 exl2-3.0",
)
MODELS = (
    "Qwen/Qwen3.5-9B",  # measured in full
    "Qwen/Qwen3.5-0.8B",
    "meta-llama/Meta-Llama-3-8B",
    "mistralai/Mistral-7B-v0.1",
    "Qwen/Qwen3-32B",  # never measured
    "microsoft/phi-4",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-R1",
)


def ask(model: str | ModelProfile, slug: str, **options: object) -> Quality:
    """Return the quality of a row of the table, with the sizes that it has."""
    profile = load_profile(model) if isinstance(model, str) else model
    quant = find_quant(slug)
    sizes = weight_sizes(profile, quant, native=False)
    return quality_of(profile, quant, sizes, **options)  # type: ignore[arg-type]


def likely(quality: Quality) -> float:
    assert quality.increase is not None
    return quality.increase.likely


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chain", CHAINS)
def test_fewer_bits_of_a_family_never_lose_less(model: str, chain: str) -> None:
    qualities = [ask(model, slug) for slug in chain.split()]
    for wider, narrower in pairwise(qualities):
        assert likely(wider) <= likely(narrower) + 1e-9
        assert wider.word.rank <= narrower.word.rank


@pytest.mark.parametrize("model", MODELS)
def test_every_quantization_of_a_text_model_has_an_answer(model: str) -> None:
    for quant in all_quants():
        quality = ask(model, quant.slug)
        assert quality.increase is not None
        low, high = quality.increase.low, quality.increase.high
        assert 0 <= low <= likely(quality) <= high, quant.slug
        assert quality.word is word_of(likely(quality))


def one_row(**fields: object) -> dict[str, object]:
    row: dict[str, object] = {
        "id": "r",
        "source_group": "me",
        "source_url": "https://example.org/table",
        "date": "2026-01",
        "repo": "org/Other-9B",
        "parameters": 9_000_000_000,
        "released": "2025-01",
        "about": "weights",
        "quant": "q4_k_m",
        "family": "k",
        "bits_per_weight": 4.9,
        "bits_scope": "file",
        "metric": "ppl_wikitext2",
        "ln_ratio": 0.08,
    }
    return row | fields


def case(slug: str) -> LossCase:
    return LossCase(recipe_of(slug, 4, gguf=True), None, 9_000_000_000, None, recent=True)


def evidence(*rows: dict[str, object]) -> Evidence:
    return evidence_of(rows, fitted())


def test_a_measured_row_wins_over_the_relation() -> None:
    known = evidence(one_row())
    found = predict(case("q4_k_m"), known, [kin_of("org/Other-9B")])
    assert found.basis == MEASURED and found.likely == pytest.approx(expm1(0.08))
    expected = predict(case("q4_k_m"), known, [kin_of("org/Never-9B")])
    assert expected.basis == "estimated" and expected.likely < 0.06


def test_other_files_of_a_model_carry_its_level_over() -> None:
    before = predict(case("q3_k_m"), evidence(one_row()), ["never-9b"]).likely
    after = predict(case("q3_k_m"), evidence(one_row()), ["other-9b"])
    assert after.basis == "measured_model" and after.likely > 1.2 * before
    # And it stays between what is measured of the chain.
    both = evidence(one_row(), one_row(id="s", quant="q3_k_s", ln_ratio=0.09))
    assert 0.0832 < predict(case("q3_k_m"), both, ["other-9b"]).likely < 0.0943


def test_the_word_of_the_maker_counts_where_he_is_named() -> None:
    rows = (one_row(maker="unsloth"), one_row(id="s", maker="bartowski", ln_ratio=0.02))
    by_maker = {
        maker: predict(case("q4_k_m"), evidence(*rows), ["other-9b"], maker).likely
        for maker in ("unsloth", "bartowski", "nobody")
    }
    assert by_maker["unsloth"] == pytest.approx(expm1(0.08))
    assert by_maker["bartowski"] == pytest.approx(expm1(0.02))
    assert by_maker["bartowski"] < by_maker["nobody"] < by_maker["unsloth"]


def test_sources_weigh_the_same_however_many_rows_they_have() -> None:
    many = [one_row(id=f"m{n}", ln_ratio=0.01) for n in range(9)]
    other = one_row(id="o", source_group="you", ln_ratio=0.04)
    found = predict(case("q4_k_m"), evidence(*many, other), ["other-9b"])
    assert found.likely == pytest.approx(expm1(0.02), rel=1e-6)  # the geometric mean


def test_below_its_baseline_nothing_is_lost() -> None:
    found = predict(case("q4_k_m"), evidence(one_row(ln_ratio=-0.01)), ["other-9b"])
    assert (found.low, found.likely) == (0.0, 0.0) and found.high >= 0.003


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("openai/gpt-oss-20b", "mxfp4"),
        ("deepseek-ai/DeepSeek-R1", "fp8"),
        ("deepseek-ai/DeepSeek-R1", "q8_0"),
        ("Qwen/Qwen3-8B", "bf16"),
    ],
)
def test_a_release_is_its_own_reference(model: str, slug: str) -> None:
    quality = ask(model, slug, native=True)
    assert (quality.word, quality.basis, likely(quality)) == (LossWord.NONE, "native", 0.0)


def test_a_quantized_copy_is_compared_with_what_it_was_made_of() -> None:
    quality = ask("Qwen/Qwen2-1.5B-Instruct-AWQ", "awq-int4-g128", native=True)
    assert quality.basis != "native" and quality.word.rank >= LossWord.SMALL.rank


def test_bigger_models_lose_less() -> None:
    sizes = [load_profile("Qwen/Qwen3-32B").parameters // part for part in (1, 4, 16, 32)]
    profile = replace(load_profile("Qwen/Qwen3-32B"), repo_id="org/unknown")
    quant = find_quant("q4_k_m")
    increases = [likely(quality_of(replace(profile, parameters=n), quant, None)) for n in sizes]
    assert increases == sorted(increases) and increases[-1] > 2 * increases[0]


def test_the_importance_matrix_is_said_or_the_band_widens() -> None:
    said = {
        matrix: ask("microsoft/phi-4", "q3_k_m", workload=Workload(importance_matrix=matrix))
        for matrix in (True, False, None)
    }
    codes = {m: {note.code for note in each.caveats} for m, each in said.items()}
    assert "quality_matrix_yes" in codes[True]
    assert "quality_matrix_no" in codes[False]
    assert "quality_matrix_unknown" in codes[None]
    assert likely(said[True]) < likely(said[None]) < likely(said[False])
    widths = {m: e.increase.high / e.increase.low for m, e in said.items() if e.increase}
    assert widths[None] > 2 * widths[True]


def test_what_a_reader_is_warned_of() -> None:
    tiny = ask("Qwen/Qwen2.5-0.5B-Instruct", "iq2_xxs")
    codes = {note.code for note in tiny.caveats}
    assert {"quality_tools", "quality_small_model", "quality_reasoning"} <= codes
    assert {note.code for note in ask("microsoft/phi-4", "q6_k").caveats} == set()


def test_a_small_model_is_advised_one_step_more() -> None:
    small = ask("Qwen/Qwen3.5-0.8B", "q4_k_m")
    assert small.word is LossWord.SMALL and small.advised_word is LossWord.NOTICEABLE
    big = ask("microsoft/phi-4", "q4_k_m")
    assert big.advised_word is big.word and big.word.rank <= LossWord.SMALL.rank
    lossless = ask("Qwen/Qwen3.5-0.8B", "bf16")
    assert lossless.advised_word is LossWord.NONE


def test_losses_of_keys_and_values_add_up_at_both_ends() -> None:
    """Q5_1 raises perplexity by 0.22 % as keys and 0.11 % as values (pull request 7412), by three
    times as much at most."""
    for kv_dtype, likely in (("q5_1", 0.0033), ("q5_1/f16", 0.0022), ("f16/q5_1", 0.0011)):
        loss = cache_loss(kv_dtype, "llama.cpp", rotated=False)
        assert (loss.likely, loss.high) == pytest.approx((likely, 3 * likely)), kv_dtype


def test_a_cache_in_few_bits_is_counted_in() -> None:
    plain = ask("microsoft/phi-4", "bf16")
    eight, four = (ask("microsoft/phi-4", "bf16", kv_dtype=kv) for kv in ("q8_0", "q4_0"))
    assert likely(plain) < likely(eight) < likely(four)
    assert (plain.word, eight.word) == (LossWord.NONE, LossWord.NONE)
    assert four.word is LossWord.SMALL
    rotated = ask("microsoft/phi-4", "q8_0", kv_dtype="q4_0", engine="llama.cpp")
    assert likely(rotated) < likely(four)
    assert "quality_kv_sensitive" in {
        note.code for note in ask("openai/gpt-oss-20b", "mxfp4", kv_dtype="q8_0").caveats
    }


def test_pictures_have_a_distance_and_no_perplexity() -> None:
    flux = "black-forest-labs/FLUX.1-dev"
    measured, eight, narrow = (ask(flux, slug) for slug in ("bnb-nf4", "int8", "q3_k_m"))
    assert measured.increase is None and measured.tokens_changed is None
    assert (measured.basis, measured.picture_distance) == ("measured", 0.272)
    assert measured.word is LossWord.SMALL and eight.word is LossWord.VERY_SMALL
    assert narrow.word is LossWord.NOTICEABLE


def test_words_have_fixed_limits() -> None:
    assert [word_of(limit) for limit in LIMITS] == list(WORDS[1:])
    assert [word_of(limit - 1e-6) for limit in LIMITS] == list(WORDS[:-1])
    assert LossWord.LARGE.stepped(3) is LossWord.BROKEN


@pytest.mark.parametrize(("increase", "share"), [(0.01, 0.05), (0.03, 0.08), (0.105, 0.15)])
def test_share_of_tokens_that_change(increase: float, share: float) -> None:
    assert tokens_changed(increase) == pytest.approx(share, rel=0.06)


def test_a_measured_model_repeats_its_table() -> None:
    values = [0.0588, 0.0578, 0.1911]  # Q3_K_S of three makers, as published
    found = likely(ask("Qwen/Qwen3.5-9B", "q3_k_s"))
    assert found == pytest.approx(median(values), rel=0.15)


def rows_of(source: str, quant: str, family: str, loss: float) -> dict[str, object]:
    return {
        "repo": "org/model-70b",
        "source_group": source,
        "parameters": 70e9,
        "released": "2024-07",
        "about": "weights",
        "quant": quant,
        "family": family,
        "bits_per_weight": 4.0,
        "ln_ratio": loss,
    }


def test_one_source_of_other_files_counts_half() -> None:
    """AWQ above the relation raises a GGUF file by half of that distance, two sources by all."""
    case = LossCase(recipe_of("q4_k_m", 4.0, gguf=True), None, int(70e9), None, recent=True)
    awq = [rows_of("a", "awq-int4-g128", "calibrated", 0.14)]
    others = [rows_of("b", "gptq-int4-g128", "calibrated", 0.14)]
    names = [kin_of("org/model-70b")]

    def raised(*rows: dict[str, object]) -> float:
        usual = predict(case, evidence_of([], fitted()), names).logged
        return predict(case, evidence_of(list(rows), fitted()), names).logged - usual

    evidence = evidence_of(awq, fitted())
    assert raised(*awq) == pytest.approx(evidence.level(names[0]).level / 2, rel=0.05)
    assert raised(*awq, *others) == pytest.approx(
        evidence_of([*awq, *others], fitted()).level(names[0]).level, rel=0.05
    )
