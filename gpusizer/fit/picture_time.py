"""Seconds of a picture or clip: the denoiser's FLOP over a share of the card's 16-bit rate.

Published runs give the shares (`data/picture_runs.csv`, `bench/pictures.py`). PyTorch starts the
kernels of one weight after the other: a small picture on a fast card takes as long as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median, quantiles

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.core.units import TERA
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.study import ScopedCache, Study
from gpusizer.memory.engines.pipeline_steps import Canvas, canvas_of, latents_of, tokens_of_picture
from gpusizer.model.pipeline_shape import Denoiser, PipelineShape
from gpusizer.speed import Rate

# Quantizations whose pictures take as long: FP8 in the table's runs of BenchmarkFlux, NF4 in
# "Exploring Quantization Backends in Diffusers" (huggingface.co/blog/diffusers-quantization), where
# eight bits of bitsandbytes take longer.
_AS_FAST_AS_BF16 = frozenset({"bf16", "fp8", "bnb-nf4", "bnb-nf4-dq"})
# For UNets, whose convolutions PyTorch multiplies as TF32 by default: 2.1 (Lambda's A10, A100 and
# A6000, pictures in fours), 2.2 (diffusion-fast, SDXL on A100; SD.Next, RTX 4090) and 2.5 times as
# long (ONNX Runtime, RTX 3060); the addresses are the table's. No such run of transformers is
# known.
_SLOWER_IN_32_BITS = 2.2
# Operations of all steps per pixel. A decoder of Stable Diffusion or FLUX takes 1e7 for each pixel,
# and more time for each of them. If the steps take at most ten times as much, they do not determine
# the time, as of SDXL in four (UNet 192 ms, decoder 228 ms on an A100:
# huggingface.co/stabilityai/stable-diffusion-xl-1.0-tensorrt).
_LEAST_PER_PIXEL = 1e8
# The least, in tenths, with which the band of other sources holds 80 % of a source's runs of each
# kind (`python -m bench.pictures`).
_MARGIN = 1.1
_TRANSFORMER = "dit"
# Transformers reach a third less of the rate of faster cards: the table's runs on H100 next to
# those on A100, L40S, L20 and H20, whose rates are 120 to 362 TFLOPS.
_FAST_TFLOPS = 500.0


@dataclass(frozen=True, slots=True)
class PictureRun:
    """A published run with 16-bit weights and without a cache of steps: one row of the table."""

    gpu: str  # slug of the catalogue
    gpu_tflops: float  # full dense 16-bit rate of the GPU
    kind: str  # kind of the denoiser (`kind_of_denoiser`)
    tflop: float  # of one step, guidance and all pictures included
    matrices: int | None  # weights of the denoiser, None if the run is not used for starting times
    steps: int
    seconds: float  # of all steps, with encoders and decoder if the remark says whole pictures
    compiled: bool  # by torch.compile, TensorRT and the like
    # Hosted: four pictures at once, or compiled kernels, reach a share higher by a fifth or more.
    hosted: bool  # the program that starts the kernels sets the pace, not the card
    source: str  # author of the run; `address` is where it was published
    address: str

    @property
    def share(self) -> float:
        """Fraction of the card's rate that the run reached."""
        return self.tflop * self.steps / self.seconds / self.gpu_tflops

    @property
    def start_seconds(self) -> float:
        """Seconds to start the kernels of one weight."""
        return self.seconds / self.steps / (self.matrices or 1)


# Least, likely and most.
Band = tuple[float, float, float]


@cache
def picture_runs() -> tuple[PictureRun, ...]:
    """Return every row of the table."""
    rows = read_table(
        DATA_DIR / "picture_runs.csv",
        lambda row: row.record(
            PictureRun, compiled=row.flag("compiled"), hosted=row.flag("hosted")
        ),
    )
    return tuple(rows)


def kind_of_denoiser(denoiser: Denoiser) -> str:
    """Return the kind of a denoiser; kinds reach different shares of a card's rate."""
    if not denoiser.channels:
        return _TRANSFORMER
    # "fine_unet" attends between all latent pixels, as SD 1.5 does with 40 values each.
    return "unet" if denoiser.attention_level else "fine_unet"


@dataclass(frozen=True, slots=True)
class PictureSpeed:
    """Speed of published runs of one kind."""

    fastest_flops: float  # rate of the fastest card in the runs; a faster one is surely no slower
    shares: Band  # fractions of a card's rate
    start_seconds: Band  # seconds to start the kernels of one weight

    def seconds(self, flops: float, starts: int, full: float, most: float) -> Band:
        """Return the seconds for `flops` operations and `starts` kernels, the longer of the two.

        Shares are reached of `full` FLOP/s, and never more than `most` FLOP/s.
        """
        computing = (flops / min(share * full, most) for share in reversed(self.shares))
        starting = (seconds * starts for seconds in self.start_seconds)
        least, likely, most_seconds = map(max, computing, starting)
        return least, likely, most_seconds


def picture_speed(runs: Iterable[PictureRun], kind: str, fast: bool) -> PictureSpeed | None:
    """Return the speed of a kind of denoiser, on fast cards or others; None with too few runs."""
    known = list(runs)
    alike = [run for run in known if run.kind == kind and not run.hosted]
    if kind == _TRANSFORMER:
        alike = [run for run in alike if is_fast(run.gpu_tflops) == fast]
    shares = _band(alike, lambda run: run.share)
    starts = _band([run for run in known if run.hosted], lambda run: run.start_seconds)
    if shares is None or starts is None:
        return None
    return PictureSpeed(max(run.gpu_tflops for run in alike) * TERA, shares, starts)


@cache
def _speed(kind: str, fast: bool) -> PictureSpeed | None:
    return picture_speed(picture_runs(), kind, fast)


def is_fast(tflops: float) -> bool:
    """Whether a card is too fast for transformers to reach the usual share of its rate."""
    return tflops > _FAST_TFLOPS


def _band(runs: Sequence[PictureRun], figure: Callable[[PictureRun], float]) -> Band | None:
    # The first and the last decile of runs and a margin; likely is the median over the sources'
    # medians of uncompiled runs.
    plain = [run for run in runs if not run.compiled]
    if len(runs) < 2 or not plain:
        return None
    sources = dict.fromkeys(run.source for run in plain)
    medians = (median(figure(run) for run in plain if run.source == s) for s in sources)
    deciles = quantiles(map(figure, runs), n=10, method="inclusive")
    return deciles[0] / _MARGIN, median(medians), deciles[-1] * _MARGIN


def step_flops(denoiser: Denoiser, shape: PipelineShape, canvas: Canvas) -> float | None:
    """Return the FLOP of one step of one picture or clip; None for a denoiser of unknown blocks."""
    # Modulation by time, text encoders and the decoder are not counted; the shares of whole
    # pictures include them.
    each = _unet_flops if denoiser.levels else _transformer_flops
    flops = each(denoiser, shape, canvas)
    return None if flops is None else flops * shape.guidance_batches * shape.passes


def _unet_flops(unet: Denoiser, shape: PipelineShape, canvas: Canvas) -> float:
    # Tensor by tensor (`model/unet_levels.py`): SDXL at 1024 x 1024, 6.76 TFLOP.
    rows, columns, _ = latents_of(shape, canvas)
    return sum(
        level.flops(-(-rows // 2**n) * -(-columns // 2**n), shape.text_tokens)
        for n, level in enumerate(unet.levels)
    )


def _transformer_flops(denoiser: Denoiser, shape: PipelineShape, canvas: Canvas) -> float | None:
    if not (denoiser.layers and denoiser.hidden and denoiser.attention):
        return None
    width, text = denoiser.hidden, shape.text_tokens
    tokens = tokens_of_picture(denoiser, shape, canvas)
    joint = denoiser.attention == "joint"
    own = tokens + text if joint else tokens
    # A block of width d multiplies each token by 4 d^2 weights of attention and by those of its
    # MLP, two operations each, and compares all tokens with each other: 4 x tokens^2 x d.
    # FLUX.1-dev at 1024 x 1024: 57 blocks, 4,608 tokens, 74.4 TFLOP.
    linear = 2 * (4 + denoiser.mlp_matrices * denoiser.mlp_ratio) * width**2 * own
    attention = 4 * own**2 * width
    if not joint:
        linear += 2 * 2 * width**2 * (tokens + text)
        attention += 4 * tokens * text * width
    return denoiser.layers * (linear + attention)


@dataclass(frozen=True, slots=True)
class PictureWork:
    """Work of one picture or clip of a workload, on any card."""

    kind: str  # of the denoiser
    flops: float  # FLOP of all steps
    starts: int  # weights that the steps multiply by, in sequence


_PICTURES: ScopedCache[None, PictureWork | None] = ScopedCache()


def picture_work(study: Study) -> PictureWork | None:
    """Return the work of a picture or clip, None if it does not determine the time.

    None for other models, unknown blocks or steps, short runs in which the decoder takes much of
    the time, and components in system memory.
    """
    return _PICTURES.get(study.workload_scope, None, lambda: _picture_work(study))


def _picture_work(study: Study) -> PictureWork | None:
    shape, workload = study.profile.pipeline, study.workload
    steps = None if shape is None else workload.steps or shape.steps
    if shape is None or steps is None or workload.cpu_offload != "none" or not shape.is_known:
        return None
    canvas = canvas_of(shape, workload)
    each = [(step_flops(denoiser, shape, canvas), denoiser) for denoiser in shape.denoisers]
    known = [(flops, denoiser) for flops, denoiser in each if flops is not None]
    if not known or len(known) < len(each):
        return None
    # Of several denoisers, as Wan 2.2 has them, one runs at each step.
    flops, denoiser = max(known, key=lambda pair: pair[0])
    if flops * steps < _LEAST_PER_PIXEL * canvas.width * canvas.height * canvas.frames:
        return None
    starts = denoiser.matrices * shape.passes * steps
    return PictureWork(kind_of_denoiser(denoiser), flops * steps, starts)


def picture_seconds(study: Study, config: RunConfig) -> Rate | None:
    """Return the seconds of one picture or clip on one card.

    None also for widths without published runs, for cards of unknown rate and for vendors other
    than NVIDIA.
    """
    work, rate = picture_work(study), config.gpu.fp16_flops if config.machine.gpus else None
    if work is None or rate is None or config.boards != 1 or not config.verdict.all_on_gpu:
        return None
    flops, quant = work.flops, config.estimate.quant.slug
    if quant == "fp32" and work.kind != _TRANSFORMER:
        flops *= _SLOWER_IN_32_BITS
    elif quant not in _AS_FAST_AS_BF16:
        return None
    # GeForce cards add in 32 bits at half of the rate that their chips have as L40S or RTX A6000.
    # Their shares are of the full rate, at which their runs of UNets agree with other cards.
    full = max(rate, config.gpu.fp16_tensor_fp16acc_flops or 0.0)
    speed = _speed(work.kind, is_fast(full / TERA))
    # Runs on Apple's chips use other programs only; on AMD's they reach between 7 and 48 % of the
    # rate.
    if speed is None or config.gpu.vendor != "NVIDIA":
        return None
    least, likely, _ = speed.seconds(flops, work.starts, full, rate)
    # One source has timed transformers on cards of half the rate, where that may count in full.
    timed = min(rate if work.kind == _TRANSFORMER else full, speed.fastest_flops)
    most = speed.seconds(flops, work.starts, timed, rate)[2]
    return Rate(least, likely, most).times(1)
