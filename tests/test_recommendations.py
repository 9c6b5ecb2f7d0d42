"""Agreement with published recommendations: what is a set-up, what breaks a rule, what is counted.

`tests/data/test_recommendation_rows.py` is about the rows.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import agreement, recommendations
from bench.agreement import ALL, Counts
from bench.embedded_answers import offline_answers
from bench.recommendation_rules import RULES, Advice, broken
from bench.recommendations import Judgement, asked, groups_of, judge, table
from bench.recommended_setups import (
    HOME,
    MANY,
    PICTURE,
    TUNE,
    WORKSTATION,
    Recommendation,
    Setup,
    Suggestion,
    read_recommendations,
)
from gpusizer.ui.server.answer_cache import Answers

OPTION = {
    "classes": ["h80", "mac:96"],
    "boards": [2, 4],
    "precision": ["fp8"],
    "engine": ["server"],
}
ROW: dict[str, Any] = {
    "id": "a",
    "source_url": "https://example.org",
    "model": "org/model",
    "use": MANY,
    "recommended": [OPTION],
}
H100 = Suggestion("headline", "h100-sxm-80gb", 2, "fp8", "vllm")


@pytest.mark.parametrize(
    "quant, words, bits",
    [
        ("bf16", {"16"}, 16),
        ("gguf-f16", {"16"}, 16),
        ("gguf-f32", {"32"}, 32),
        ("fp8", {"fp8"}, 8),
        ("gptq-int8-g128", {"int8"}, 8),
        ("nvfp4", {"nvfp4"}, 4),
        ("mxfp4_moe", {"mxfp4"}, 4),
        ("compressed-tensors-w4a16", {"int4"}, 4),
        ("awq-int4-g128", {"awq", "int4"}, 4),
        ("gptq-int4-g32", {"gptq", "int4"}, 4),
        ("bnb-nf4-dq", {"nf4"}, 4),
        ("mlx-6bit", {"mlx6"}, 6),
        ("exl3-4.0", {"exl", "q4"}, 4),
        ("iq3_xxs", {"iq3", "q3"}, 3),
        ("tq1_0", {"q1"}, 1),
        ("q4_k_m", {"q4"}, 4),
        ("", {""}, 16),
    ],
)
def test_words_of_a_quantization(quant: str, words: set[str], bits: int) -> None:
    item = replace(H100, quant=quant)
    assert (set(item.precision), item.bits) == (words, bits)


@pytest.mark.parametrize(
    "changed, missed",
    [
        ({}, ()),
        ({"gpu": "h100-nvl-94gb", "count": 4}, ()),
        ({"gpu": "apple-m3-ultra-96gb"}, ()),
        ({"gpu": "apple-m4-max-64gb"}, ("card",)),
        ({"gpu": "gb10-dgx-spark-128gb"}, ("card",)),
        ({"count": 1}, ("boards",)),
        ({"count": 5}, ("boards",)),
        ({"quant": "bf16", "engine": "llama.cpp"}, ("precision", "engine")),
    ],
)
def test_parts_that_miss(changed: dict[str, Any], missed: tuple[str, ...]) -> None:
    assert Setup.of(OPTION).missed_by(replace(H100, **changed), tunes=False) == missed


def test_any_is_met_and_a_training_has_neither_precision_nor_engine() -> None:
    item = replace(H100, quant="q4_k_m", engine="llama.cpp")
    anyhow = {**OPTION, "precision": ["any"], "engine": ["any"]}
    assert Setup.of(anyhow).missed_by(item, tunes=False) == ()
    assert Setup.of(OPTION).missed_by(item, tunes=True) == ()


def test_the_nearest_of_several_set_ups_counts() -> None:
    one = {**OPTION, "classes": ["n24"], "boards": [1, 1], "precision": ["q4"]}
    wanted = Recommendation.of({**ROW, "recommended": [one, OPTION]})
    assert wanted.missed_by(replace(H100, count=8)) == ("boards",)
    tied = {**OPTION, "boards": [8, 8]}, {**OPTION, "classes": ["b200"]}
    assert Recommendation.of({**ROW, "recommended": tied[::-1]}).missed_by(H100) == ("boards",)


@pytest.mark.parametrize(
    "row, command, fields",
    [
        (
            {},
            "size",
            {"concurrency": "64", "prompt_tokens": "1024", "answer_tokens": "1024"},
        ),
        (
            {"constraint": {"latency": "least", "gpu": "H100"}},
            "size",
            {
                "concurrency": "4",
                "prompt_tokens": "1024",
                "answer_tokens": "1024",
                "rank_by": "fastest",
                "gpu": "H100",
            },
        ),
        (
            {"constraint": {"users": 8}},
            "size",
            {"concurrency": "8", "prompt_tokens": "1024", "answer_tokens": "1024"},
        ),
        ({"use": HOME, "constraint": {"budget_usd": 400}}, "size", {"max_usd": "400"}),
        ({"use": WORKSTATION, "constraint": {"ram_gb": 64}}, "size", {"ram_gb": "64"}),
        ({"use": TUNE, "constraint": {"method": "qlora"}}, "train", {"method": "qlora"}),
        ({"use": PICTURE}, "size", {}),
    ],
)
def test_a_row_becomes_a_question(
    row: dict[str, Any], command: str, fields: dict[str, str]
) -> None:
    question = Recommendation.of({**ROW, **row}).question()
    assert question == (command, {"model": "org/model", **fields})


def test_a_model_without_a_snapshot_is_asked_as_another() -> None:
    _, fields = Recommendation.of({**ROW, "asked_as": "org/other"}).question()
    assert fields["model"] == "org/other"


def advice(
    use: str,
    item: Suggestion,
    billions: float = 8,
    published_in: str = "",
    **constraint: Any,
) -> Advice:
    wanted = Recommendation.of({**ROW, "use": use, "constraint": constraint})
    return Advice(wanted, item, billions * 1e9, published_in)


def way(gpu: str, count: int = 1, quant: str = "q4_k_m", engine: str = "llama.cpp") -> Suggestion:
    return Suggestion("headline", gpu, count, quant, engine)


def served(gpu: str, count: int = 1, quant: str = "fp8") -> Suggestion:
    return way(gpu, count, quant, "vllm")


def as_kind(kind: str, item: Suggestion) -> Suggestion:
    return replace(item, kind=kind)


H, RTX_3090, RTX_3060 = "h100-sxm-80gb", "rtx-3090-24gb", "rtx-3060-12gb"
B570, PRO_6000 = "arc-b580-12gb", "rtx-pro-6000-blackwell-96gb"

BREACHES: dict[str, list[Advice]] = {
    "takes_gguf_on_a_server": [
        advice(HOME, way(H), 70),
        advice(MANY, way(PRO_6000)),
    ],
    "requantizes_a_native_format": [
        advice(HOME, way(RTX_3090, quant="q4_k_m"), 20, "mxfp4"),
        advice(HOME, way(PRO_6000), 30, "fp8"),
    ],
    "takes_a_server_for_a_small_model": [advice(WORKSTATION, served(H), 40)],
    "is_fastest_in_16_bits": [
        advice(HOME, as_kind("fastest", served("rtx-4090-24gb", quant="bf16"))),
        advice(MANY, served(H, quant="bf16"), latency="least"),
    ],
    "begins_with_another_make": [
        advice(HOME, way(B570), 3),
        advice(PICTURE, way("rx-7900-xtx-24gb", quant="bf16", engine="diffusers"), 12),
        advice(TUNE, Suggestion("headline", "apple-m4-max-64gb", 1), 8, method="lora"),
    ],
    "takes_a_pack_of_small_cards": [
        advice(HOME, way(RTX_3060, 2)),
        advice(HOME, as_kind("cheapest", way("rtx-3070-8gb", 2))),
        advice(WORKSTATION, way(RTX_3090, 5), 120),
    ],
    "takes_few_bits": [advice(HOME, way(RTX_3090, quant="iq3_xxs"), 70, gpu="RTX 3090")],
    "serves_with_a_desktop": [
        advice(MANY, served("gb10-dgx-spark-128gb")),
        advice(MANY, served(RTX_3090, 4), 70),
    ],
    "divides_oddly": [
        advice(MANY, served(H, 3), 70),
        advice(MANY, served("h100-pcie-80gb", 8), 235),
    ],
    "serves_4_bits_where_8_are_computed": [advice(MANY, served(H, quant="awq-int4-g128"), 70)],
    "trains_without_links": [
        advice(TUNE, Suggestion("headline", "l40s-48gb", 4), 8, method="full"),
    ],
    "takes_a_weak_card": [advice(TUNE, Suggestion("rent", "tesla-t4-16gb", 1), 7, method="lora")],
}

PASSES = [
    advice(MANY, served(H, 2), 70),
    advice(HOME, way(RTX_3090)),
    advice(HOME, way(RTX_3060, quant="mxfp4_moe"), 20, "mxfp4"),
    advice(TUNE, Suggestion("headline", H, 1), 20, "mxfp4", method="lora"),
    advice(HOME, served(H), 41),
    advice(WORKSTATION, served(H), gpu="H100"),
    advice(HOME, as_kind("fastest", served(RTX_3090, quant="bf16"))),
    advice(HOME, as_kind("fastest", served("rtx-4090-24gb", quant="bf16")), 6),
    advice(MANY, served(H, quant="bf16")),
    advice(PICTURE, as_kind("fastest", way(H, quant="bf16", engine="diffusers")), 12),
    advice(HOME, as_kind("cheapest", way(B570)), 3),
    advice(HOME, way(B570), 3, gpu="Arc B580"),
    advice(HOME, as_kind("cheapest", way(RTX_3060, 2)), 24),
    advice(HOME, way(RTX_3060, 2), gpu="2x RTX 3060"),
    advice(WORKSTATION, way(RTX_3090, 4), 120),
    advice(HOME, way(RTX_3090, quant="iq3_xxs"), 100),
    advice(MANY, served(RTX_3090), 40),
    advice(HOME, way("gb10-dgx-spark-128gb", quant="q8_0"), 70),
    advice(MANY, served(H, 8), 235),
    advice(MANY, served(PRO_6000, 8), 235),
    advice(MANY, served(H, quant="awq-int4-g128"), 70, "awq"),
    advice(MANY, served("a40-48gb", quant="awq-int4-g128"), 70),
    advice(TUNE, Suggestion("headline", H, 8), 8, method="full"),
    advice(TUNE, Suggestion("headline", "l40s-48gb", 4), 8, method="lora"),
    advice(HOME, way("tesla-t4-16gb"), 3),
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_broken_alone(rule: Any) -> None:
    for case in BREACHES[rule.__name__]:
        assert broken(case) == (rule.__name__,), case


@pytest.mark.parametrize("case", PASSES)
def test_what_breaks_no_rule(case: Advice) -> None:
    assert broken(case) == ()


def test_facts_of_the_model_are_read_from_the_answer() -> None:
    wanted = Recommendation.of(ROW)
    model = {"parameters": 7, "quantization": {"method": "fp8"}}
    assert Advice.of(wanted, H100, {"model": model}) == Advice(wanted, H100, 7, "fp8")
    plain = {"model": {"parameters": None, "quantization": None}}
    assert Advice.of(wanted, H100, plain) == Advice(wanted, H100, 0, "")


def item(gpu: str, count: int = 2, **other: Any) -> dict[str, Any]:
    return {
        "gpu": gpu,
        "count": count,
        "quant": "fp8",
        "engine": "vllm",
        "verdict": "fits",
        **other,
    }


def answer(*ranking: dict[str, Any], beside: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "answer": {"sentence": "So."},
        "model": {"parameters": 70e9, "quantization": None},
        "ranking": list(ranking),
        "alternatives": list(beside),
    }


def test_an_answer_by_hand() -> None:
    wanted = Recommendation.of(ROW)
    hit = judge(wanted, answer(item(H, verdict="does_not_fit", count=1), item(H)))
    assert (hit.first, hit.of_three, hit.sensible) == (True, True, True)
    others = [item("h200-sxm-141gb"), item("h200-sxm-141gb", 4), item("b200-sxm-180gb")]
    third = judge(wanted, answer(*others, item(H)))
    assert (third.first, third.of_three, third.missed) == (False, True, ("card",))
    fourth = judge(wanted, answer(*others, item("l40s-48gb"), item(H)))
    assert (fourth.first, fourth.of_three, fourth.sensible) == (False, False, True)
    beside = judge(wanted, answer(*others, beside=(item(H, kind="rent"),)))
    assert (beside.first, beside.of_three) == (False, True)
    odd = judge(wanted, answer(item(H), beside=(item(H, 3, kind="fastest"),)))
    assert (odd.first, odd.broken) == (True, (("divides_oddly", "fastest"),))
    assert not odd.sensible
    none = judge(wanted, answer(item(H, verdict="not_supported")))
    assert (none.headline, none.first, none.of_three, none.sensible) == (None, False, False, False)


def test_counts_by_hand(tmp_path: Path) -> None:
    home = Recommendation.of({**ROW, "use": HOME, "constraint": {"gpu": "H100"}})
    many = Recommendation.of(ROW)
    met = Judgement(many, "", H100, (H100,))
    judged = [met, Judgement(home, "code"), Judgement(many, "", H100, (H100,), ("card",))]
    groups = groups_of(judged)
    assert groups == {
        "one person at home, this card": Counts(1, 0, 0, 0),
        "many users, which card": Counts(2, 1, 2, 2),
        ALL: Counts(3, 1, 2, 2),
    }
    shown = table(judged)
    assert "33%" in shown and "67%" in shown and "{'card': 1}" in shown
    path = tmp_path / "counts.json"
    first = agreement.publish(groups, path)
    assert agreement.read(path) == first
    path.write_text(path.read_text("utf-8").replace(first.as_of, "2020-01-01"), "utf-8")
    assert agreement.publish(groups, path).as_of == "2020-01-01"
    assert agreement.publish({ALL: Counts(3, 2, 2, 2)}, path).as_of == first.as_of
    lines = list(agreement.section(first))
    assert lines[-2:] == [
        "| many users, which card | 2 | 50% | 100% | 100% |",
        "| all | 3 | 33% | 67% | 67% |",
    ]


def test_published_counts_are_of_the_rows() -> None:
    """`python -m bench.recommendations --write-docs` after rows were added."""
    wanted = read_recommendations()
    groups = agreement.read().groups
    titles = [agreement.title_of(row) for row in wanted]
    assert list(groups) == [title for title in agreement.titles() if title in {*titles, ALL}]
    for title, counts in groups.items():
        assert counts.rows == (len(wanted) if title == ALL else titles.count(title))
        assert counts.first <= counts.of_three <= counts.rows >= counts.sensible
    for name in ("rows", "first", "of_three", "sensible"):
        parts = [getattr(counts, name) for title, counts in groups.items() if title != ALL]
        assert sum(parts) == getattr(groups[ALL], name)


@pytest.fixture(scope="module")
def answers() -> Answers:
    return offline_answers()


WRITTEN = {
    # What a source says, and whether first row, one of three and all suggestions agree with it.
    "vllm-recipes-18": ("eight H200 for DeepSeek-V3", True, True, True),
    "vllm-recipes-06": ("one B200 in NVFP4 for a 70B", True, True, True),
    "llamafactory-05": ("QLoRA of a 72B on 48 GB", True, True, True),
    "specpicks-01": ("an RTX 3060 for an 8B within $400", True, True, True),
    "vllm-recipes-12": ("NVFP4 on one RTX 5090; here GGUF of six bits", False, False, True),
    "gpuprices-02": ("NF4 or INT8 on an RTX 3060", True, True, True),
    "llamacpp-guide-02": ("MXFP4 on an RX 7900 XT", True, True, True),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_some_rows_come_out_as_written(answers: Answers, name: str) -> None:
    (wanted,) = (row for row in read_recommendations() if row.id == name)
    judged = asked(answers, wanted)
    assert (judged.first, judged.of_three, judged.sensible) == WRITTEN[name][1:], judged.said


def test_a_refused_question_is_a_miss(answers: Answers) -> None:
    judged = asked(answers, Recommendation.of({**ROW, "model": "org/unknown"}))
    assert judged.headline is None and judged.said
    assert (judged.first, judged.of_three, judged.sensible) == (False, False, False)


def test_misses_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**ROW, "model": "org/unknown"}), "utf-8")
    recommendations.main(["--rows", str(path), "--misses"])
    shown = capsys.readouterr().out
    assert "a: no suggestion" in shown
    assert "accepts 2 to 4 of h80, mac:96; precision fp8; engine server" in shown
    with pytest.raises(SystemExit):
        recommendations.main(["--only", "a", "--write-docs"])
