"""Runs whose requests are all sent at once, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.measurements import Row
from bench.serving_bursts import burst
from bench.serving_cases import read_cases
from tests.servers import server

_NOTHING = dict.fromkeys(("cache", "product", "host", "launches", "sequence", "request"), 0.0)

_ONE = server(
    100, 101, order="prompts_first", step_tokens=1000, dense=0.01, attention=1e-4, **_NOTHING
)


def test_prompts_are_read_and_then_all_answers_go_on() -> None:
    """20 prompts of 100 tokens are two full steps, 100 steps of 10 ms follow: 0.22 + 1.00 s.

    A prompt is read in 11 ms, so that first tokens come after 0.11 s x (1 + 1 / 20) on average."""
    run = burst(_ONE, 20, spread=False)
    assert run.rate == pytest.approx(20 * 101 / 1.22)
    assert run.ttft == pytest.approx(0.11 * (1 + 1 / 20))
    assert run.step_seconds == pytest.approx((1.22 - run.ttft) / 100)


def test_those_without_room_wait_for_those_who_have_it() -> None:
    """Two waves of ten: each 0.11 s of prompts and a second of answers."""
    run = burst(replace(_ONE, most=10), 20, spread=False)
    assert run.rate == pytest.approx(20 * 101 / 2.22)


def test_the_longest_answers_end_a_run_alone() -> None:
    """Exponential lengths of a mean of 101 end after some 400 tokens, those of a limit at it."""
    alike, unlike = burst(_ONE, 200, spread=False), burst(_ONE, 200, spread=True)
    limited = burst(_ONE, 200, spread=True, longest=150)
    assert unlike.rate < limited.rate < alike.rate
    assert unlike.rate < alike.rate / 2


def run_of(tokens_per_second: float = 100.0, **fields: object) -> Row:
    """Return a run of one user of Llama 3.1 8B on an H100."""
    row = {
        "kind": "serving_load",
        "id": "one-user",
        "source_group": "nobody",
        "repo": "meta-llama/Llama-3.1-8B-Instruct",
        "profile": "meta-llama/Llama-3.1-8B-Instruct",
        "engine": "vllm",
        "engine_version": "0.11.0",
        "quant": "bf16",
        "gpu_slug": "h100-sxm-80gb",
        "gpu_count": 1,
        "tensor_parallel": 1,
        "prompt_tokens": 1000,
        "answer_tokens": 100,
        "lengths": "fixed",
        "arrival": "closed_loop",
        "concurrency": 1,
        "measured": {"output_tokens_per_second": tokens_per_second},
    }
    return {**row, **fields}


def test_runs_faster_than_data_sheets_are_left_out() -> None:
    """A card of 3.35 TB/s reads 16 GB of weights in 4.8 ms: no token comes each millisecond."""
    slow, fast = run_of(100.0), run_of(1000.0)
    assert [case.row for case in read_cases([slow, fast])] == [slow]
