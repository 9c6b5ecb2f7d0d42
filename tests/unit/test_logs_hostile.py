"""Untrusted logs: parsing any text takes few steps, and no text breaks out of its code block."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusizer.answers.logs import parse_log
from gpusizer.answers.logs.contribution import issue_of
from gpusizer.answers.logs.lines import MAX_CHARS, MAX_LINE_CHARS
from gpusizer.answers.logs.log_checks import check
from gpusizer.answers.logs.log_comparison import Prediction, compare_log
from gpusizer.answers.logs.redaction import clean
from gpusizer.answers.logs.rules import ENGINE_LOGS, LogRule
from gpusizer.core.errors import GpusizerError
from tests import engine_logs
from tests.counting import steps_of
from tests.each import each
from tests.sizers import embedded_sizer

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
    json.dumps(parsed.to_json(), allow_nan=False)


@given(mangled_logs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_comparing_never_fails_but_by_its_own_errors(log: str) -> None:
    try:
        log_check = check(embedded_sizer(), log, "Qwen/Qwen3-0.6B")
    except GpusizerError:
        return
    json.dumps(log_check.to_json(), allow_nan=False)


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


@each("filler", ["a", " ", "1", "CUDA0 ", ".", "'", "= ", "/a", "x=1, ", "0.0"])
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
