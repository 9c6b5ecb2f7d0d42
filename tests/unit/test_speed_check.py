"""Checks of actual runs: speeds of benchmarks, and unverified logs."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusizer.api.logs import ParsedLogInfo
from gpusizer.core.errors import GpusizerError, InvalidRequest, UnknownGpu
from gpusizer.logs.contribution import issue_of
from gpusizer.logs.lines import MAX_CHARS, MAX_LINE_CHARS, clean
from gpusizer.logs.llama_bench import parse_llama_bench
from gpusizer.logs.log_checks import SpeedCheck, check, check_llama_bench
from gpusizer.logs.log_comparison import Prediction, compare_log
from gpusizer.logs.parse import parse_log
from gpusizer.logs.rules import ENGINE_LOGS, LogRule
from tests import engine_logs
from tests.asking import size
from tests.bench_outputs import CARD, llama_bench
from tests.counting import steps_of
from tests.documents import part, written
from tests.nightly import some
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
TESTS = ((512, 0, 0, 9000.0), (0, 128, 0, 130.0), (0, 128, 8000, 110.0))
README = Path(__file__).resolve().parents[2] / "data" / "measurements" / "README.md"


def checked(*tests: tuple[int, int, int, float], gpu: str = "", **changes: Any) -> SpeedCheck:
    bench = parse_llama_bench(llama_bench(*tests or TESTS, **changes))
    return check_llama_bench(embedded_sizer(), bench, MODEL, gpu)


def test_settings_of_llama_bench_are_read() -> None:
    bench = parse_llama_bench("ggml_cuda_init: found 1 device\n" + llama_bench(*TESTS))
    assert (bench.build, bench.gpus, bench.backend) == ("b6200", (CARD,), "cuda")
    assert (bench.quant, bench.kv_dtype, bench.gpu_layers) == ("q4_k_m", "f16", None)
    assert bench.file == "Qwen3-8B-Q4_K_M.gguf"
    assert [test.name for test in bench.tests] == ["pp512", "tg128", "tg128 @ d8000"]


@pytest.mark.parametrize(
    "change, field, value",
    [
        ({"flash_attn": False}, "flash_attention", False),
        ({"flash_attn": 0}, "flash_attention", False),
        ({"flash_attn": -1}, "flash_attention", True),
        ({"flash_attn": True}, "flash_attention", True),
        ({"n_gpu_layers": 20}, "gpu_layers", 20),
        ({"n_gpu_layers": -1}, "gpu_layers", None),
        ({"type_k": "q8_0", "type_v": "q4_0"}, "kv_dtype", "q8_0/q4_0"),
        ({"gpu_info": f"{CARD}, {CARD}"}, "split", "layer"),
        ({"gpu_info": f"{CARD}, {CARD}", "split_mode": "none"}, "gpus", (CARD,)),
        ({"backends": "BLAS,Vulkan,RPC"}, "backend", "vulkan"),
        ({"model_type": "llama 7B mostly Q4_0"}, "quant", "q4_0"),
        ({"model_type": "gpt-oss 20B MXFP4 MoE"}, "quant", "mxfp4_moe"),
    ],
)
def test_older_and_newer_builds(change: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(parse_llama_bench(llama_bench(*TESTS, **change)), field) == value


@pytest.mark.parametrize(
    "output",
    [
        "",
        "error: failed to load model",
        "[]",
        "[1, 2]",
        "[" * 100_000 + "]" * 100_000,
        '[{"build_number": 1}]',
        llama_bench(*TESTS, avg_ts=float("nan")),
        llama_bench(*TESTS, avg_ts="fast"),
        llama_bench(*TESTS, n_gpu_layers=None),
        llama_bench(*[TESTS[0]] * 300),
    ],
)
def test_anything_else_is_refused(output: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_llama_bench(output)
    assert caught.value.fields["reason"] == "not_llama_bench"


def test_a_run_on_the_processor_has_no_prediction() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_llama_bench(llama_bench(*TESTS, backends="CPU"))
    assert caught.value.fields["reason"] == "no_gpu_used"


def test_each_test_is_compared_with_the_answer_at_its_context() -> None:
    result = checked()
    assert (result.gpu, result.count, result.model) == ("rtx-4090-24gb", 1, MODEL)
    assert [speed.quantity for speed in result.compared] == ["prefill", "decode", "decode"]
    asked = {"model": MODEL, "gpu": "4090", "quant": "q4_k_m", "engine": "llama.cpp"}
    settings = {"engine_version": "b6200", "backend": "cuda", "context": 8064}
    at_depth = size(embedded_sizer(), {**asked, **settings}).ranking[0].decode
    assert result.compared[2].predicted == at_depth
    shallow = result.compared[1].predicted
    assert shallow is not None and at_depth is not None and shallow.likely > at_depth.likely


def test_a_measurement_lies_below_in_or_above_its_band() -> None:
    predicted = checked().compared[1].predicted
    assert predicted is not None
    rates = (predicted.low / 2, predicted.likely, predicted.high * 2)
    verdicts = [checked((0, 128, 0, rate)).compared[0].verdict for rate in rates]
    assert verdicts == ["below", "in_band", "above"]


def test_only_a_slow_card_is_told_where_to_look() -> None:
    assert [note.code for note in checked((0, 128, 0, 5.0)).when_less][:2] == [
        "look_power_limit",
        "look_slot_width",
    ]
    assert checked((0, 128, 0, 5000.0)).when_less == ()


def test_the_cards_are_those_that_computed() -> None:
    two = checked((0, 128, 0, 100.0), gpu_info=f"{CARD}, {CARD}")
    assert (two.gpu, two.count, two.row["split"]) == ("rtx-4090-24gb", 2, "layer")
    named = checked((0, 128, 0, 100.0), gpu="rtx 3090", gpu_info="A card of its own name")
    assert (named.gpu, named.count) == ("rtx-3090-24gb", 1)
    with pytest.raises(InvalidRequest) as caught:
        checked((0, 128, 0, 100.0), gpu_info=f"{CARD}, NVIDIA GeForce RTX 3090")
    assert caught.value.fields["reason"] == "different_gpus"
    with pytest.raises(UnknownGpu):
        checked((0, 128, 0, 100.0), gpu_info="A card of its own name")


def test_layers_in_system_memory_have_no_predicted_speed() -> None:
    for changes in ({"n_gpu_layers": 10}, {"n_gpu_layers": 36}, {"n_cpu_moe": 4}):
        result = checked((0, 128, 0, 20.0), **changes)
        (speed,) = result.compared
        assert (speed.predicted, speed.verdict) == (None, "unknown")
        assert [note.code for note in result.when_less] == ["look_layers_on_gpu"]
    assert checked((0, 128, 0, 20.0), n_gpu_layers=37).compared[0].predicted is not None


def test_a_prompt_behind_another_is_not_compared() -> None:
    result = checked((512, 0, 0, 9000.0), (512, 0, 8000, 5000.0))
    assert [speed.name for speed in result.compared] == ["pp512"]


def test_the_row_has_the_form_of_the_measurements() -> None:
    row = checked().row
    assert row["kind"] == "throughput" and row["source_url"] == "unpublished"
    assert row["measured"] == {
        "decode_tokens_per_second": 130.0,
        "prefill_tokens_per_second": 9000.0,
    }
    assert (row["context"], row["generated_tokens"], row["prompt_tokens"]) == (64, 128, 512)
    assert (row["repo"], row["quant"], row["gpu_slug"]) == (MODEL, "q4_k_m", "rtx-4090-24gb")
    assert (row["engine"], row["engine_version"], row["backend"]) == ("llama.cpp", "b6200", "CUDA")
    described = README.read_text("utf-8")
    assert [name for name in row if f"`{name}`" not in described] == []
    assert "/home/ann" not in json.dumps(row)


def test_a_row_is_named_by_what_it_says() -> None:
    assert checked().row == checked().row
    assert checked().row["id"] != checked((0, 128, 0, 131.0)).row["id"]


RULES: list[LogRule] = [rule for log in ENGINE_LOGS.values() for rule in log.rules]
LINES = [line for log in engine_logs.ALL.values() for line in log.splitlines()]

ODD = st.text(st.characters(codec="utf-8"), max_size=60)
NUMBERS = st.sampled_from(["0", "-1", "9" * 30, "1e9", "NaN", "1,0,0", "0.0001", "99999999.99"])


@st.composite
def mangled_logs(draw: st.DrawFn) -> str:
    """Known lines with numbers, words and pieces exchanged for others."""
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=12))
    mangled = []
    for line in lines:
        choice = draw(st.integers(0, 3))
        if choice == 1:
            number = draw(NUMBERS)
            line = re.sub(r"\d[\d.,]*", lambda _, number=number: number, line)  # type: ignore[misc]
        elif choice == 2:
            at = draw(st.integers(0, len(line)))
            line = line[:at] + draw(ODD) + line[at:]
        elif choice == 3:
            line = line[draw(st.integers(0, len(line))) :]
        mangled.append(line)
    return "\n".join(mangled)


@given(mangled_logs())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_reading_never_fails_but_by_its_own_errors(log: str) -> None:
    try:
        parsed = parse_log(log)
    except GpusizerError:
        return
    for reading in (*parsed.facts, *parsed.settings, *parsed.measured):
        assert clean(reading.quote) == reading.quote
        assert 1 <= reading.lines[0] <= log.count("\n") + 1
        assert reading.step >= 0
    json.dumps(part(ParsedLogInfo, parsed), allow_nan=False)


@given(mangled_logs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_comparing_never_fails_but_by_its_own_errors(log: str) -> None:
    try:
        log_check = check(embedded_sizer(), log, "Qwen/Qwen3-0.6B")
    except GpusizerError:
        return
    json.dumps(written(log_check), allow_nan=False)


def test_a_card_without_memory_is_ignored() -> None:
    """An engine may print nonsense; a card with nothing or less cannot be predicted for."""
    for amount in ("-1GiB", "0.00GiB"):
        log = engine_logs.VLLM_V0.replace("(24.00GiB)", f"({amount})")
        assert log != engine_logs.VLLM_V0
        assert parse_log(log).get("gpu_memory_bytes") is None
        check(embedded_sizer(), log, "Qwen/Qwen3-0.6B")


@given(ODD, st.sampled_from(sorted({rule.word for rule in RULES})), ODD)
@settings(max_examples=50, deadline=None)
def test_a_row_cannot_break_out_of_a_code_block(before: str, word: str, after: str) -> None:
    hostile = "```\n# <img src=x onerror=alert(1)> @everyone `code` | cell |\n```"
    log = engine_logs.VLLM_V1 + f"{before}{word} {hostile}{after}\n"
    parsed = parse_log(log.replace("Qwen3-8B", "Qwen3-8B`|"))
    prediction = Prediction("a/b`", "bf16", True, "", True, ())
    issue = issue_of(parsed, compare_log(parsed, lambda _: prediction, "a/b", "``` GPU\n# x"))
    assert "\n" not in issue.title
    assert json.loads(issue.body) == issue.row
    assert "`" not in issue.body and "\n" not in issue.body
    assert issue.body.isascii()


def most_repeats(tokens: Any) -> float:
    """How often the innermost part of a parsed pattern can be tried at one place."""
    most = 1.0
    for operation, argument in tokens:
        name = str(operation)
        if name.endswith("_REPEAT"):
            _, largest, part = argument
            unbounded = str(largest) == "MAXREPEAT"
            most = max(most, (math.inf if unbounded else largest) * most_repeats(part))
        elif name == "BRANCH":
            most = max([most, *map(most_repeats, argument[1])])
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
            most = max(most, most_repeats(argument[-1]))
    return most


def test_every_repetition_is_bounded() -> None:
    """Python parses patterns in a private module: there is no public one."""
    for rule in RULES:
        tokens = re._parser.parse(rule.pattern.pattern, rule.pattern.flags)  # type: ignore[attr-defined]
        assert most_repeats(tokens) <= 400, rule.pattern.pattern
    nested = re._parser.parse("(a{1,30}){1,30}|b+")  # type: ignore[attr-defined]
    assert most_repeats(nested) == math.inf
    assert most_repeats(re._parser.parse("(?:a{1,30}){1,30}")) == 900  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "filler", some(["a", " ", "1", "CUDA0 ", ".", "'", "= ", "/a", "x=1, ", "0.0"], of=4)
)
def test_long_lines_take_few_steps(filler: str) -> None:
    """Each word of a rule on a line of its own, with as much around it as a line may have."""
    half = (filler * MAX_LINE_CHARS)[: MAX_LINE_CHARS // 2 - 100]
    words = dict.fromkeys(rule.word for rule in RULES)
    log = "vLLM server_args= llama_model_loader level=INFO source=\n" + "\n".join(
        half + word + half for word in words
    )

    def read() -> None:
        with suppress(GpusizerError):  # nothing has to be recognised
            parse_log(log)

    assert steps_of(read) < 1_000_000


def test_of_a_paste_of_any_length_only_the_beginning_is_read() -> None:
    line = (
        "llama_kv_cache:      CUDA0 KV buffer size =    97.50 MiB vLLM server_args= msg=offload\n"
    )
    log = line * (3 * MAX_CHARS // len(line))
    parsed = parse_log(log)
    assert parsed.cut
    assert parsed.measured[-1].lines[0] <= MAX_CHARS // len(line)
