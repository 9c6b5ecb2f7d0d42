"""Seconds for a picture or a clip, by hand and against published runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.measurements import load_profile
from gpusizer.fit.picture_time import picture_runs, step_flops
from gpusizer.fit.ranking import Ranked
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines.pipeline_steps import Canvas
from gpusizer.text import say_note
from tests.asking import size
from tests.sizers import embedded_sizer

FLUX, WAN = "black-forest-labs/FLUX.1-dev", "Wan-AI/Wan2.1-T2V-14B-Diffusers"


def place(gpu: str = "h100-sxm-80gb", **fields: Any) -> Ranked:
    """FLUX on one card."""
    asked = {"model": FLUX, "gpu": gpu, "gpu_count": 1, "card": False, **fields}
    return size(embedded_sizer(), asked).ranking[0]


def seconds(gpu: str = "h100-sxm-80gb", **fields: Any) -> float:
    drawn = place(gpu, **fields).drawn
    assert drawn is not None
    return drawn.likely


def test_a_step_of_flux_by_hand() -> None:
    """64 x 64 patches and 512 tokens of text through 57 blocks of width 3,072: 24 x d^2 for each
    token and 4 x d for each pair of them."""
    shape = load_profile(FLUX).pipeline
    assert shape is not None and shape.steps == 28
    tokens, width = 64 * 64 + 512, 3072
    by_hand = 57 * (24 * width**2 * tokens + 4 * tokens**2 * width)
    flops = step_flops(shape.denoisers[0], shape, Canvas(1024, 1024, 1, 1))
    assert flops == by_hand
    assert by_hand / 1e12 == pytest.approx(74.4, abs=0.05)
    assert {run.tflop for run in picture_runs()} == {74.4}


def test_a_step_of_wan_runs_twice_over_a_whole_clip() -> None:
    """81 frames are 21 latents of 30 x 52 patches; 512 tokens of text are read by a second
    attention, and guidance runs the denoiser a second time."""
    shape = load_profile(WAN).pipeline
    assert shape is not None and shape.steps == 50
    tokens, text, width, mlp = 21 * 30 * 52, 512, 5120, 13_824
    own = 2 * (4 * width**2 + 2 * width * mlp) * tokens + 4 * tokens**2 * width
    of_text = 4 * width**2 * (tokens + text) + 4 * tokens * text * width
    flops = step_flops(shape.denoisers[0], shape, Canvas(832, 480, 81, 1))
    assert flops == pytest.approx(2 * 40 * (own + of_text))


@pytest.mark.parametrize("run", picture_runs(), ids=lambda run: f"{run.gpu} {run.source}")
def test_published_runs_lie_in_the_band(run: Any) -> None:
    gpu = load_catalogue().find(run.gpu)
    assert run.gpu_tflops == pytest.approx(gpu.fp16_flops / 1e12, rel=0.001)
    quant = "bf16" if gpu.memory_bytes > 40e9 else "bnb-nf4"  # where it is whole on the card
    drawn = place(run.gpu, steps=run.steps, quant=quant).drawn
    assert drawn is not None
    assert drawn.low < run.seconds < drawn.high
    assert drawn.high / drawn.low < 2.6


def test_time_grows_with_steps_and_size() -> None:
    assert seconds(steps=56) == pytest.approx(2 * seconds(), rel=0.01)
    small, wide = seconds(width=512, height=512), seconds(width=2048, height=1024)
    assert 0.2 < small / seconds() < 0.3  # 1,536 tokens of 4,608
    assert 2 < wide / seconds() < 3


def test_geforce_cards_reach_what_their_chips_do_elsewhere() -> None:
    """AD102 adds in 32 bits at 165 of 330 TFLOPS on an RTX 4090, at 362 on an L40S."""
    ratio = seconds("rtx-4090-24gb") / seconds("l40s-48gb")
    assert ratio == pytest.approx(362.05 / 330.3, rel=0.01)


def test_what_is_fetched_for_its_turn_has_no_time() -> None:
    assert place(cpu_offload="sequential").drawn is None


def test_cards_of_vendors_that_nobody_timed_have_no_time() -> None:
    assert place("rx-7900-xtx-24gb").drawn is None
    assert place("rtx-4090-24gb").drawn is not None


def test_several_cards_have_no_time() -> None:
    assert place("8x h100-sxm-80gb", gpu_count=None).drawn is None


@pytest.mark.parametrize(("quant", "known"), [("fp8", True), ("bnb-nf4", True), ("fp32", False)])
def test_widths_that_nobody_timed_have_no_time(quant: str, known: bool) -> None:
    assert (place(quant=quant).drawn is not None) == known
    assert place(quant="bnb-int8").drawn is None


def test_blocks_that_nobody_counted_have_no_time() -> None:
    shape = load_profile(FLUX).pipeline
    assert shape is not None
    unknown = replace(shape.denoisers[0], attention="")
    assert step_flops(unknown, shape, Canvas(1024, 1024, 1, 1)) is None


def test_the_answer_says_how_long() -> None:
    report = size(embedded_sizer(), {"model": FLUX, "gpu": "h100-sxm-80gb", "card": False})
    answer = report.to_json(say_note)
    assert (
        "A picture of 1,024 × 1,024 takes about 5.41 s (3.46 to 8.88)."
        in answer["answer"]["sentence"]
    )
    assert answer["ranking"][0]["picture_seconds"] == {"low": 3.46, "likely": 5.41, "high": 8.88}
    assert answer["ranking"][0]["decode_tokens_per_second"] is None
