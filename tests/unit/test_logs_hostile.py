"""Logs are anybody's text: reading ends soon whatever they hold, and nothing leaves its fence."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusizer.errors import GpusizerError
from gpusizer.logs import parse_log
from gpusizer.logs.check import check
from gpusizer.logs.compare import Prediction, compare_log
from gpusizer.logs.contribution import issue_of
from gpusizer.logs.lines import MAX_CHARS, MAX_LINE_CHARS
from gpusizer.logs.parse import ENGINES
from gpusizer.logs.redaction import clean
from gpusizer.logs.rules import Rule
from tests import engine_logs
from tests.sizers import embedded_sizer

RULES: list[Rule] = [rule for module in ENGINES.values() for rule in module.RULES]
LINES = [line for log in engine_logs.ALL.values() for line in log.splitlines()]
LIMIT_SECONDS = 20.0  # a slow and shared machine; a catastrophic pattern takes hours

ODD = st.text(st.characters(codec="utf-8"), max_size=60)
NUMBERS = st.sampled_from(["0", "-1", "9" * 30, "1e9", "NaN", "1,0,0", "0.0001", "99999999.99"])


@st.composite
def mangled_logs(draw: st.DrawFn) -> str:
    """Known lines with numbers, words and pieces exchanged for others."""
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=12))
    made = []
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
        made.append(line)
    return "\n".join(made)


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
        done = check(embedded_sizer(), log, "Qwen/Qwen3-0.6B")
    except GpusizerError:
        return
    json.dumps(done.to_json(), allow_nan=False)


@given(ODD, st.sampled_from(sorted({rule.word for rule in RULES})), ODD)
@settings(max_examples=50, deadline=None)
def test_nothing_leaves_its_fence(before: str, word: str, after: str) -> None:
    hostile = "```\n# <img src=x onerror=alert(1)> @everyone `code` | cell |\n```"
    log = engine_logs.VLLM_V1 + f"{before}{word} {hostile}{after}\n"
    parsed = parse_log(log.replace("Qwen3-8B", "Qwen3-8B`|"))
    prediction = Prediction("a/b`", "bf16", True, "", True, ())
    issue = issue_of(parsed, compare_log(parsed, lambda _: prediction, "a/b", "``` GPU\n# x"))
    assert "\n" not in issue.title
    outside = re.sub(r"^(`{3,})\w*\n.*?\n\1$", "", issue.body, flags=re.MULTILINE | re.DOTALL)
    assert "```" not in outside
    assert "<" not in outside and "@" not in outside
    assert not re.search(r"^#", outside, re.MULTILINE)
    assert issue.body.isascii()


@pytest.mark.parametrize("filler", ["a", " ", "1", "CUDA0 ", ".", "'", "= ", "/a", "x=1, ", "0.0"])
def test_long_lines_end_soon(filler: str) -> None:
    """Each word of a rule on a line of its own, with as much around it as a line may have."""
    half = (filler * MAX_LINE_CHARS)[: MAX_LINE_CHARS // 2 - 100]
    words = dict.fromkeys(rule.word for rule in RULES)
    log = "vLLM server_args= llama_model_loader level=INFO source=\n" + "\n".join(
        half + word + half for word in words
    )
    start = time.perf_counter()
    with suppress(GpusizerError):  # nothing has to be recognised
        parse_log(log)
    assert time.perf_counter() - start < LIMIT_SECONDS


def test_a_paste_of_any_length_ends_soon() -> None:
    line = (
        "llama_kv_cache:      CUDA0 KV buffer size =    97.50 MiB vLLM server_args= msg=offload\n"
    )
    log = line * (3 * MAX_CHARS // len(line))
    start = time.perf_counter()
    parsed = parse_log(log)
    assert parsed.cut
    assert time.perf_counter() - start < LIMIT_SECONDS
