"""Seconds for a picture or a clip, by hand and against published runs."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from statistics import median
from typing import Any

import pytest

from bench.front_door import report
from bench.measurements import load_profile, load_snapshot
from bench.pictures import predictions
from gpusizer.advice.ranking import Ranked
from gpusizer.fit.picture_time import kind_of_denoiser, picture_runs, step_flops
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.hub.snapshot import Component
from gpusizer.memory.engines.pipeline_steps import Canvas
from gpusizer.model.pipeline_reading import INDEX, pipeline_shape
from gpusizer.model.pipeline_shape import PipelineShape
from gpusizer.model.profile import build_profile
from tests.asking import size
from tests.builders import snapshot
from tests.documents import written
from tests.sizers import embedded_sizer

FLUX, WAN = "black-forest-labs/FLUX.1-dev", "Wan-AI/Wan2.1-T2V-14B-Diffusers"
SDXL, SD15 = "stabilityai/stable-diffusion-xl-base-1.0", "runwayml/stable-diffusion-v1-5"


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
    timed = {run.tflop for run in picture_runs() if 70 < run.tflop < 80}
    assert timed == {74.362}


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


def unet_seconds(model: str, gpu: str, **fields: Any) -> float | None:
    """Return the seconds of a model with a UNet on one card."""
    asked = {"model": model, "gpu": gpu, "gpu_count": 1, "card": False, "quant": "bf16", **fields}
    answer = report(asked)
    assert answer is not None
    drawn = answer.ranking[0].drawn
    return None if drawn is None else drawn.likely


@pytest.mark.parametrize(
    ("model", "side", "linear", "attended"),
    [
        # diffusers/benchmarks counts 5,979.1 GFLOP, without what attentions compare. These are 10
        # blocks of width 640 at 64 x 64 and 60 of width 1,280 at 32 x 32.
        (SDXL, 1024, 5979.1, 4 * (10 * 640 * 4096**2 + 60 * 1280 * 1024**2) / 1e9),
        # Its source states 340 GMAC. 5 blocks of width 320, 640 and 1,280 each, one of them below.
        (SD15, 512, 680, 4 * (5 * 320 * 4096**2 + 5 * 640 * 1024**2 + 5 * 1280 * 256**2) / 1e9),
    ],
)
def test_a_pass_of_a_unet_by_hand(model: str, side: int, linear: float, attended: float) -> None:
    shape = load_profile(model).pipeline
    assert shape is not None and shape.guidance_batches == 2 and shape.steps == 50
    flops = step_flops(shape.denoisers[0], shape, Canvas(side, side, 1, 1))
    assert flops is not None
    assert flops / 2 / 1e9 == pytest.approx(linear + attended, rel=0.01)
    kind = {SDXL: "unet", SD15: "fine_unet"}[model]
    assert kind_of_denoiser(shape.denoisers[0]) == kind
    steps = {round(run.tflop * 1e12 / flops, 3) for run in picture_runs() if run.kind == kind}
    assert steps <= {0.5, 1.0, 4.0}  # without guidance, as usual, four pictures


def test_a_step_of_a_unet_takes_as_long_as_its_kernels_take_to_start() -> None:
    """The 794 weights of SDXL start in 0.11 ms each, more than an H100 computes for; an A100 takes
    as long as it computes."""
    steps = 50
    assert unet_seconds(SDXL, "h100-sxm-80gb") == pytest.approx(794 * steps * 1.1e-4, rel=0.02)
    assert unet_seconds(SDXL, "h200-sxm-141gb") == unet_seconds(SDXL, "h100-sxm-80gb")
    computed = 13.522 * steps / (0.365 * 312)
    assert unet_seconds(SDXL, "a100-sxm-80gb") == pytest.approx(computed, rel=0.01)


def test_unets_in_32_bits_take_longer_and_few_steps_have_no_time() -> None:
    wide = unet_seconds(SDXL, "a100-sxm-80gb", quant="fp32")
    usual = unet_seconds(SDXL, "a100-sxm-80gb")
    assert wide is not None and usual is not None
    assert wide / usual == pytest.approx(2.2, rel=0.01)
    assert unet_seconds(SDXL, "a100-sxm-80gb", steps=4) is None  # 52 MFLOP a pixel
    assert unet_seconds(SDXL, "a100-sxm-80gb", steps=8) is not None


def test_a_unet_of_other_tensors_has_no_time() -> None:
    shape = load_profile(SDXL).pipeline
    assert shape is not None
    uncounted = replace(shape.denoisers[0], levels=())
    assert step_flops(uncounted, shape, Canvas(1024, 1024, 1, 1)) is None


@pytest.mark.parametrize("model", [SDXL, SD15])
def test_more_pixels_and_steps_are_never_faster(model: str) -> None:
    for gpu in ("h100-sxm-80gb", "rtx-3090-24gb"):
        sizes = [unet_seconds(model, gpu, width=n, height=512) for n in (512, 520, 768, 1024)]
        steps = [unet_seconds(model, gpu, steps=n) for n in (20, 21, 40, 80)]
        for times in (sizes, steps):
            known = [seconds for seconds in times if seconds is not None]
            assert len(known) == len(times) and known == sorted(known)


def test_bands_hold_most_runs_of_other_sources() -> None:
    """Each source is left out of the band that is to hold its runs."""
    every = predictions()
    assert len(every) == len(picture_runs()) and len({p.run.source for p in every}) >= 10
    for kind, most_error in (("dit", 0.1), ("fine_unet", 0.19), ("unet", 0.1)):
        of_kind = [p for p in every if p.run.kind == kind]
        assert sum(p.in_band for p in of_kind) >= 0.8 * len(of_kind)
        assert median(p.high / p.low for p in of_kind) <= 2.5
        assert median(p.error for p in of_kind if not p.run.compiled) <= most_error


@pytest.mark.parametrize("run", picture_runs(), ids=lambda run: f"{run.gpu} {run.seconds}")
def test_rates_of_published_runs_are_the_catalogues(run: Any) -> None:
    gpu = load_catalogue().find(run.gpu)
    full = max(gpu.fp16_flops, gpu.fp16_tensor_fp16acc_flops or 0)
    assert run.gpu_tflops == pytest.approx(full / 1e12, rel=0.001)
    assert 0 < run.share < 1 and run.matrices in (282, 794, None)


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


def ranked(rank_by: str) -> tuple[Ranked, ...]:
    """All places of FLUX in an order."""
    asked = {"model": FLUX, "card": False, "top": 0, "rank_by": rank_by}
    return size(embedded_sizer(), asked).ranking


def test_the_fastest_draw_first_and_what_has_no_time_follows() -> None:
    places = [place for place in ranked("fastest") if place.fit.verdict is Verdict.FITS]
    times = [place.drawn.likely if place.drawn else inf for place in places]
    assert times == sorted(times) and times[0] < 5 and times[-1] == inf
    known = {place.fit.gpu.vendor for place in places if place.drawn}
    assert known == {"NVIDIA"}


def test_a_recommendation_goes_by_what_a_picture_costs() -> None:
    places = ranked("recommended")
    good = [place for place in places if not place.score.missed()]
    assert len(good) > 15 and all(place.drawn is not None for place in good)
    assert places[: len(good)] == tuple(good)
    prices = [place.score.usd_per_thousand_pictures for place in good]
    paid = [usd for usd in prices if usd is not None]
    assert len(paid) > 15 and paid == sorted(paid)
    untimed = [place for place in places if place.fit.gpu.slug == "rx-7900-xtx-24gb"]
    assert [note.code for note in untimed[0].score.missed()] == ["why_unmeasured"]


def test_a_thousand_pictures_by_hand() -> None:
    """An hour of an H100 over the pictures that it draws in it."""
    drawn = place("h100-sxm-80gb")
    rent, seconds = drawn.costs.rent_usd_per_hour, drawn.drawn
    assert rent is not None and seconds is not None
    by_hand = rent * 1000 / (3600 / seconds.likely)
    assert drawn.costs.usd_per_thousand_pictures == pytest.approx(by_hand, rel=0.005)
    answer = size(embedded_sizer(), {"model": FLUX, "gpu": "h100-sxm-80gb", "card": False})
    price = written(answer)["ranking"][0]["price"]
    assert price["usd_per_thousand_pictures"] == drawn.costs.usd_per_thousand_pictures
    assert price["usd_per_million_tokens"] is None


def test_cards_beyond_the_fastest_timed_one_are_surely_no_slower_than_it() -> None:
    h100, b200 = place("h100-sxm-80gb").drawn, place("b200-sxm-180gb").drawn
    assert h100 is not None and b200 is not None
    assert b200.likely < h100.likely and b200.high == h100.high


def test_models_in_few_steps_are_told_by_their_names() -> None:
    steps = {}
    for name in ("FLUX.1-schnell", "FLUX.1-dev", "turboflux"):
        renamed = replace(load_snapshot(FLUX), repo_id=f"someone/{name}")
        shape = build_profile(renamed).pipeline
        assert shape is not None
        steps[name] = shape.steps, shape.text_tokens
    assert steps["FLUX.1-schnell"] == (4, 256)
    assert steps["FLUX.1-dev"] == steps["turboflux"] == (28, 512)


def newer(pipeline: str, name: str, **config: Any) -> PipelineShape:
    """Return the shape of a pipeline with one transformer; latents are an eighth of a picture."""
    parts = (
        Component("transformer", config, (), ()),
        Component(
            "vae", {"_class_name": "AutoencoderKL", "block_out_channels": [1, 1, 1, 1]}, (), ()
        ),
    )
    named = {INDEX: {"_class_name": pipeline}}
    repo = snapshot([], components=parts, format="diffusers", extra_configs=named, repo_id=name)
    return pipeline_shape(repo)


def test_gated_blocks_by_hand() -> None:
    """Three matrices of an MLP: FLUX.2's is three times as wide as a token, Z-Image's 8/3 times.
    Their weights make up the 32 and the 6 billion that the models are named for."""
    flux = {"num_layers": 8, "num_single_layers": 48, "num_attention_heads": 48, "mlp_ratio": 3.0}
    flux |= {"attention_head_dim": 128, "_class_name": "Flux2Transformer2DModel"}
    image = {"dim": 3840, "n_heads": 30, "n_layers": 30, "n_refiner_layers": 2}
    image |= {"_class_name": "ZImageTransformer2DModel"}
    tokens = 64 * 64 + 512
    for pipeline, name, config, blocks, width, matrices, steps in (
        ("Flux2Pipeline", "a/FLUX.2-dev", flux, 56, 6144, 4 + 9, 50),
        ("ZImagePipeline", "a/Z-Image-Turbo", image, 32, 3840, 4 + 8, 8),
    ):
        shape = newer(pipeline, name, **config)
        by_hand = blocks * (2 * matrices * width**2 * tokens + 4 * tokens**2 * width)
        flops = step_flops(shape.denoisers[0], shape, Canvas(1024, 1024, 1, 1))
        assert flops == pytest.approx(by_hand, rel=0.001)
        assert (shape.steps, shape.passes, shape.guidance_batches) == (steps, 1, 1)
    assert pytest.approx(32, rel=0.03) == (8 * 2 + 48) * 13 * 6144**2 / 1e9
    assert pytest.approx(6, rel=0.01) == (30 + 4) * 12 * 3840**2 / 1e9


def test_a_distilled_model_and_its_base_share_a_class() -> None:
    distilled = newer("Flux2KleinPipeline", "a/FLUX.2-klein-4B")
    base = newer("Flux2KleinPipeline", "a/FLUX.2-klein-base-4B")
    assert (distilled.steps, distilled.passes) == (4, 1)
    assert (base.steps, base.passes) == (50, 2)
    assert newer("StableDiffusionXLPipeline", "a/sdxl-turbo").guidance_batches == 1
    assert newer("StableDiffusionXLPipeline", "a/sdxl").guidance_batches == 2
