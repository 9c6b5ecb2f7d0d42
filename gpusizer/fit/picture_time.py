"""Seconds that a picture or a clip takes: what the steps of its denoiser compute, over the share of
a card's 16-bit rate that published runs reach (`data/picture_runs.csv`).

A block of a transformer of width d multiplies each token by 4 d^2 weights of attention and by those
of its MLP, two operations each, and compares all tokens with each other: 4 x tokens^2 x d.
Modulation by time is computed once for a picture and left out, as are text encoders and the
decoder, which the shares of whole pictures hold. FLUX.1-dev at 1024 x 1024: 57 blocks, 4,608
tokens, 74.4 TFLOP.

The runs are of cards that add in 32 bits at their full rate. GeForce cards do so at half of it, and
no run of theirs that states its steps was found: their shares are of the full rate, which the same
chips have as L40S or RTX A6000, as far as the half allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import median

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.fit.speed import Rate
from gpusizer.fit.study import Study
from gpusizer.fit.way import Way
from gpusizer.gpus import Gpu
from gpusizer.memory.engines.pipeline_steps import Canvas, canvas_of, tokens_of_picture
from gpusizer.model.pipeline_shape import Denoiser, PipelineShape

_ALL_BUT_ALL = 0.95
"""Share of a rate that nothing is computed beyond."""
_AS_FAST_AS_BF16 = frozenset({"bf16", "fp8", "bnb-nf4", "bnb-nf4-dq"})
"""Quantizations whose pictures take as long: FP8 in the table's runs of BenchmarkFlux, NF4 in
"Exploring Quantization Backends in Diffusers" (huggingface.co/blog/diffusers-quantization), where
eight bits of bitsandbytes take longer. 32 bits are multiplied at another rate."""
_MARGIN = 1.25
"""By which the band goes beyond the shares of the table: they are few, and all of one model."""


@dataclass(frozen=True, slots=True)
class PictureRun:
    """A published run: one row of the table, of 16-bit weights without a cache of steps.

    Attributes:
        gpu: slug of the catalogue.
        tflop: of one step.
        seconds: of all steps, with encoders and decoder where `whole`.
        source: whose run it is, with its address.
    """

    gpu: str
    gpu_tflops: float
    tflop: float
    steps: int
    seconds: float
    source: str
    address: str

    @property
    def share(self) -> float:
        """Of the card's dense 16-bit rate."""
        return self.tflop * self.steps / self.seconds / self.gpu_tflops


@cache
def picture_runs() -> tuple[PictureRun, ...]:
    """Every row of the table."""
    return tuple(read_table(DATA_DIR / "picture_runs.csv", lambda row: row.record(PictureRun)))


@cache
def _shares() -> tuple[float, float, float]:
    """Lowest, likely and highest share: ends of all runs with a margin, the median of sources."""
    shares = [run.share for run in picture_runs()]
    sources = {run.source for run in picture_runs()}
    middle = median(
        median(run.share for run in picture_runs() if run.source == source) for source in sources
    )
    return min(shares) / _MARGIN, middle, max(shares) * _MARGIN


def _computed_per_second(gpu: Gpu) -> tuple[float, float, float] | None:
    """Operations of a denoiser in a second: least, likely, most; None where no rate is known, and
    of vendors whose cards nobody has timed."""
    rate = gpu.fp16_flops
    if rate is None or gpu.vendor != "NVIDIA":
        return None
    full = max(rate, gpu.fp16_tensor_fp16acc_flops or 0.0)
    low, likely, high = (min(share * full, _ALL_BUT_ALL * rate) for share in _shares())
    return low, likely, high


def step_flops(denoiser: Denoiser, shape: PipelineShape, canvas: Canvas) -> float | None:
    """What one step of one picture or clip computes; None for a denoiser of unknown blocks."""
    if not (denoiser.layers and denoiser.hidden and denoiser.attention):
        return None
    width, text = denoiser.hidden, shape.text_tokens
    tokens = tokens_of_picture(denoiser, shape, canvas)
    joint = denoiser.attention == "joint"
    own = tokens + text if joint else tokens
    linear = 2 * (4 + 2 * denoiser.mlp_ratio) * width**2 * own
    attention = 4 * own**2 * width
    if not joint:
        linear += 2 * 2 * width**2 * (tokens + text)
        attention += 4 * tokens * text * width
    passes = shape.guidance_batches * shape.passes
    return denoiser.layers * (linear + attention) * passes


def picture_seconds(study: Study, way: Way) -> Rate | None:
    """Seconds that one picture or clip of the workload's size takes on one card; None for other
    models, where blocks, steps or the card's rate are not known, where components are fetched from
    system memory, and in widths that nobody has timed.
    """
    shape, workload = study.profile.pipeline, study.workload
    if shape is None or way.boards != 1 or not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    steps, rates = workload.steps or shape.steps, _computed_per_second(way.gpu)
    if steps is None or rates is None or workload.cpu_offload != "none":
        return None
    if way.estimate.quant.slug not in _AS_FAST_AS_BF16:
        return None
    canvas = canvas_of(shape, workload)
    each = [step_flops(denoiser, shape, canvas) for denoiser in shape.denoisers]
    known = [flops for flops in each if flops is not None]
    if not known or len(known) < len(each):
        return None
    # Of several denoisers, as Wan 2.2 has them, one runs at each step.
    low, likely, high = (max(known) * steps / rate for rate in reversed(rates))
    return Rate(low, likely, high).times(1)
