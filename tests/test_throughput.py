"""Speeds: the fit of their constants, and the tables that it writes.

Bars that answers keep, and errors with each source left out, are held by `tests/test_accuracy.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench import speed_answers
from bench.errors import frame_of
from bench.evaluation import speed_scores
from bench.speed_cases import Case, read_cases
from bench.speed_fit import (
    DECODING,
    PROMPTS,
    Fits,
    Support,
    fit_moe_share,
    fit_pace,
    fit_routing_share,
    fit_throughput,
)
from bench.speed_samples import Left, Sample, decode_samples
from bench.speed_scores import Scores, group_errors
from bench.speed_tables import constants_without, tables
from gpusizer.speed.decode import step_cost, step_seconds
from gpusizer.speed.prefill import prompt_token_seconds
from gpusizer.speed.tables import DECODE, PREFILL, Pace, Throughput, decode_table, prefill_table

ROW: dict[str, Any] = {
    "kind": "throughput",
    "id": "a",
    "dup_group": "a",
    "source_group": "me/mine",
    "source_url": "https://example.org/bench",
    "engine": "llama.cpp",
    "front_end": "llama.cpp",
    "repo": "meta-llama/Llama-2-7b-hf",
    "profile": "meta-llama/Llama-2-7b-hf",
    "profile_basis": "id",
    "quant": "q4_0",
    "quantization": "q4_0",
    "gpu": "RTX 4090",
    "gpu_slug": "rtx-4090-24gb",
    "gpu_count": 1,
    "context": 64,
    "measured": {"decode_tokens_per_second": 150.0, "prefill_tokens_per_second": 9000.0},
}

MIXTURE, LARGE_CARD = "Qwen/Qwen3-30B-A3B", "rtx-pro-6000-blackwell-96gb"

FITS = (
    "decode llama.cpp NVIDIA GDDR",
    "decode llama.cpp NVIDIA HBM",
    "decode llama.cpp Apple",
    "decode llama.cpp AMD",
    "decode MoE",
)


@pytest.fixture(scope="module")
def scored() -> Scores:
    """Every published speed, fitted once."""
    return speed_scores()


def test_better_than_the_roofline_and_one_efficiency(scored: Scores) -> None:
    errors = group_errors(scored.predictions)
    for group in FITS:
        blind, roofline, flat = errors.loc[group, ["blind", "roofline", "flat"]]
        assert 0 < blind < min(roofline, flat)


def test_the_tables_are_those_of_the_measurements(scored: Scores) -> None:
    """`python -m bench.throughput --write` after a change to formulas or rows."""
    for path, text in tables(scored).items():
        assert text == path.read_text("utf-8"), path.name


@pytest.mark.parametrize("family", ["serving", "mlx", "llama.cpp"])
def test_constants_do_not_depend_on_the_order_of_the_questions(scored: Scores, family: str) -> None:
    """A fit is kept for all that ask for its class: the board, source or generation that another
    question leaves out is no part of it."""
    runs = {
        quantity: [s for s in samples if s.case.work.family == family]
        for quantity, samples in scored.samples.items()
    }
    asked = [
        (quantity, sample, frozenset(left))
        for quantity, samples in runs.items()
        for sample in samples[:: max(1, len(samples) // 20)]
        for left in ((), *((name,) for name in sorted(sample.belongs_to)))
    ]

    def answers(questions: Sequence[tuple[str, Sample, Left]]) -> list[Pace | Throughput | None]:
        fits = Fits(runs[DECODE], runs[PREFILL])
        return [
            (fits.pace if quantity == DECODE else fits.throughput)(
                s.classes, s.format, left, s.board
            )
            for quantity, s, left in questions
        ]

    assert answers(asked) == answers(asked[::-1])[::-1]


def test_rounding_does_not_choose_a_constant() -> None:
    """Two runs of one weight leave all constants between them level but for the last bit, which
    differs by processor."""
    (sample, *_) = made(Pace(0.8, 5e-5, 0), {"RTX 4090": "rtx-4090-24gb"})
    prompt = replace(sample, varying=1.0, other=0.0, fixed=0.0)
    found = set()
    for bits in range(8):
        reached = (0.3 * (1 + bits * 1e-15), 0.8)
        rows = [
            replace(prompt, measured=1 / share, case=replace(prompt.case, source=f"source/{share}"))
            for share in reached
        ]
        found.add(fit_throughput(rows, None))
    assert len(found) == 1
    (one,) = found
    assert 0.3 <= one.utilization <= 0.8


def test_constants_without_a_source_are_of_the_others(scored: Scores) -> None:
    """turboderp measured all that is known of ExLlama: without it llama.cpp's stand in."""
    apple = constants_without(scored, "ggml-org/llama.cpp")
    assert ("llama.cpp", "apple", "any") in constants_without(scored, "nobody").decode
    fewer = {key: pace.runs for key, pace in apple.decode.items()}
    everything = {key: p.runs for key, p in constants_without(scored, "nobody").decode.items()}
    assert sum(fewer.values()) < sum(everything.values())
    for (family, name, kind), runs in everything.items():
        in_any_format = everything.get((family, name, "any"), runs)
        assert fewer.get((family, name, kind), 0) <= max(runs, in_any_format)


def test_a_row_becomes_the_request_it_stands_for() -> None:
    fields = speed_answers.fields_of({**ROW, "prompt_tokens": 512, "generated_tokens": 128})
    assert (fields["gpu"], fields["quant"], fields["context"]) == ("rtx-4090-24gb", "q4_0", 64)
    lengths = {**ROW, "prompt_tokens": 512, "generated_tokens": 128}
    assert speed_answers.fields_of(lengths, "serving")["context"] == 640
    assert speed_answers.fields_of(lengths, "prefill")["context"] == 683  # 0.75 of it are 512
    assert speed_answers.fields_of(ROW, "prefill")["context"] == 64
    divided = {**ROW, "gpu_count": 2, "split": "layer"}
    assert speed_answers.fields_of(divided)["pipeline_parallel"] == 2
    comparisons = frame_of(speed_answers.compare(ROW)).set_index("component")
    entry = speed_answers.answer_to(ROW)
    assert entry is not None
    shown = entry["decode_tokens_per_second"]
    assert comparisons.loc["decode_gddr", "predicted"] == shown["likely"]
    assert comparisons.loc["decode_gddr", "low"] == shown["low"]
    assert comparisons.loc["prefill", "measured"] == 9000.0


def case(**changes: Any) -> Case:
    (one,) = read_cases([{**ROW, **changes}])
    return one


def test_a_row_becomes_the_work_that_is_fitted_on() -> None:
    """Llama-2-7B Q4_0: 3,825,065,984 bytes of tensors less 73,728,000 of the embedding."""
    one = case()
    assert one.work.dense_bytes == 3_825_065_984 - 32000 * 4096 // 32 * 18
    assert (one.work.facts.context, one.gpu.slug, one.split) == (64, "rtx-4090-24gb", "one")
    assert case(gpu_count=4, split="layer").work.pipeline == 4
    assert case(gpu_count=2, split="tensor", engine="vllm", quant="bf16").split == "tensor"
    assert case(file_bytes=2 * 3_825_065_984).work.dense_bytes == one.work.dense_bytes


@pytest.mark.parametrize("component", ["decode_gddr", "prefill"])
def test_constants_are_fitted_on_what_answers_reckon_with(component: str) -> None:
    """For one row, the class's constants and the work of its case give the public answer."""
    row = {**ROW, "repo": "gemma", "profile": "google/gemma-3-4b-it"}
    (answer,) = [c for c in speed_answers.compare(row) if c.component == component]
    (one,) = read_cases([row])
    decode = step_seconds(one.work, one.gpu, 1)
    prefill = prompt_token_seconds(one.prompt_work, one.gpu)
    seconds = decode if component == "decode_gddr" else prefill
    assert seconds is not None
    assert answer.predicted == pytest.approx(1 / seconds, rel=0.005)


def enough(rows: list[Sample], wanted: Support) -> bool:
    return len(rows) >= wanted.format_runs and len({s.case.source for s in rows}) >= 2


def test_constants_stand_on_the_runs_that_they_name(scored: Scores) -> None:
    """Constants of a class need two sources, else they are those that all classes share.

    They are two runs of a generation of cards in decoding and six of a format on one, ten in
    prompts, any of a kind of memory. A format that too few runs of a generation measured uses all
    of the generation's, if enough did on its relatives.
    """
    tables = ((DECODE, decode_table(), DECODING), (PREFILL, prefill_table(), PROMPTS))
    for quantity, table, wanted in tables:
        for (family, name, kind), constants in table.items():
            if name == "any" or constants.runs == 0:
                continue
            measured = [
                s
                for s in scored.samples[quantity]
                if s.case.work.family == family and s.case.split != "tensor" and name in s.classes
                if quantity == PREFILL or not s.case.work.is_moe
            ]
            rows = [s for s in measured if kind in ("any", s.format)]
            if kind != "any" and not enough(rows, wanted):
                wider = (family, measured[0].classes[1], kind)
                assert quantity == DECODE and table[wider].runs >= wanted.format_runs
                assert table[wider].sources >= 2
                rows, kind = measured, "any"
            assert len({s.case.source for s in rows}) >= 2, (family, name, kind)
            if kind != "any":
                assert len(rows) >= wanted.format_runs
            elif name not in rows[0].classes[-2:]:
                assert len(rows) >= wanted.runs
            assert constants.runs == sum(s.case.fitted for s in rows) > 0


def test_no_memory_is_read_faster_than_it_can_be() -> None:
    assert max(pace.efficiency for pace in decode_table().values()) <= 0.92


def test_a_source_weighs_the_root_of_its_rows() -> None:
    """Nine runs of one source at 0.8 of the bandwidth weigh three; another with one at 0.4 does not
    move them, four others do."""
    gpus = {"RTX 4090": "rtx-4090-24gb", "RTX 4080": "rtx-4080-16gb", "L40": "l40-48gb"}
    many, few = made(Pace(0.8, 5e-5, 0), gpus), made(Pace(0.4, 5e-5, 0), {"L4": "l4-24gb"})
    slow = [*few, few[0]]

    def others(count: int) -> list[Sample]:
        return [
            replace(s, case=replace(s.case, source=f"other/{number}"))
            for number, s in enumerate(slow[:count])
        ]

    assert fit_pace([*many, *others(1)], None).efficiency == pytest.approx(0.8, rel=0.1)
    assert fit_pace([*many, *others(4)], None).efficiency == pytest.approx(0.4, rel=0.1)


def test_what_routing_takes_is_fitted_beside_dense_models() -> None:
    """Mixtures that take 25 us a layer more than the constants of dense models say, half of one."""
    mixtures = made(Pace(0.8, 5e-5, 0, 2.5e-5), {"RTX PRO 6000": LARGE_CARD}, MIXTURE)
    rows = [(sample, Pace(0.8, 5e-5, 0, 5e-5)) for sample in mixtures]
    assert fit_routing_share(rows, None) == pytest.approx(0.5, rel=0.1)
    assert fit_routing_share([], 0.2) == 0.2 and fit_routing_share([], None) == 0.0


def made(pace: Pace, gpus: dict[str, str], model: str = "meta-llama/Llama-2-7b-hf") -> list[Sample]:
    """Return runs as a pace would make them, of three formats on every GPU."""
    rows = []
    for name, slug in gpus.items():
        for quant in ("q4_0", "q8_0", "bf16"):
            names = {"gpu": name, "gpu_slug": slug, "quant": quant, "dup_group": name + quant}
            row = {**ROW, **names, "repo": model, "profile": model}
            (one,) = read_cases([row])
            cost = step_cost(one.work, one.gpu, 1)
            assert cost is not None
            measured = {"decode_tokens_per_second": 1 / cost.seconds(pace)}
            rows.append({**row, "measured": measured})
    return decode_samples(read_cases(rows))


def test_a_fit_finds_the_constants_that_made_the_rows() -> None:
    gpus = {"RTX 4090": "rtx-4090-24gb", "RTX 4080": "rtx-4080-16gb", "L40": "l40-48gb"}
    samples = made(Pace(0.8, 5e-5, 0), gpus)
    found = fit_pace(samples, None)
    assert found.efficiency == pytest.approx(0.8, rel=0.02)
    assert found.seconds_per_layer == pytest.approx(5e-5, rel=0.2)
    assert found.runs == 9
    drawn = fit_pace(samples[:1], Pace(0.4, 5e-5, 0))
    assert drawn.efficiency < 0.8


def test_one_board_stands_for_itself_alone() -> None:
    """Two sources measured a class on one board: another of it has the constants of wider ones."""
    ada = made(Pace(0.8, 5e-5, 0), {"RTX 4090": "rtx-4090-24gb"})
    ampere = made(Pace(0.4, 5e-5, 0), {"RTX 3090": "rtx-3090-24gb", "A10": "a10-24gb"})
    rows = [
        replace(s, case=replace(s.case, source=source))
        for s in (*ada, *ampere)
        for source in ("one/source", "another/source")
    ]
    fits, classes = Fits(rows, []), ada[0].classes
    own, other = (fits.pace(classes, "any", board=board) for board in ("rtx-4090", "rtx-4080"))
    assert own and other and own.board == "rtx-4090" and other.board == ""
    assert own.efficiency == pytest.approx(0.8, rel=0.05) and other.efficiency < 0.7


def test_a_gpu_left_out_does_not_tell() -> None:
    """The odd one out is predicted by the others' constants."""
    odd = made(Pace(0.4, 5e-5, 0), {"L4": "l4-24gb"})
    rest = made(Pace(0.8, 5e-5, 0), {"RTX 4090": "rtx-4090-24gb", "RTX 4080": "rtx-4080-16gb"})
    fits = Fits([*odd, *rest], [])
    classes = odd[0].classes
    blind = fits.pace(classes, "4-bit", frozenset({"l4"}))
    assert blind is not None and blind.efficiency == pytest.approx(0.8, rel=0.05)
    assert odd[0].belongs_to == {ROW["source_group"], "l4", "nvidia_gddr_ada"}
    assert fits.pace(classes, "4-bit", frozenset({"nvidia_gddr_ada"})) is None
    assert fits.throughput(classes, "4-bit") is None
    assert fit_moe_share([]) == 0.5
