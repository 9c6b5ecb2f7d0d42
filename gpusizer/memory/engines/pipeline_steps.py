"""Working memory of a diffusers pipeline, step by step: encode the prompt, denoise, decode.

The peak of a step is counted in units, tensors as large as its widest one. The
units of a class are rows of `data/pipeline_modules.csv`: the tensors alive at once in diffusers,
and the workspace of convolutions that published peaks add.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from gpusizer.core.units import GIB
from gpusizer.memory.workload import Workload
from gpusizer.model.pipeline_shape import (
    Decoder,
    Denoiser,
    PipelineShape,
    TextEncoder,
    module_rules,
)

Bytes = tuple[float, float, float]  # low, likely and high

# Working memory of a decoder or denoiser of an unknown class, or of an unknown pipeline.
UNKNOWN: Bytes = (1.0 * GIB, 3.0 * GIB, 8.0 * GIB)

_DENOISER_BAND = (0.85, 1.0, 2.4)  # published for FLUX with model offload, 2025
_DECODER_BAND = (0.6, 1.0, 1.9)  # tensors without workspace; published for FLUX, 2025
_ENCODER_BAND = (0.5, 1.0, 2.0)
_WORKSPACE_OF_UNETS = 1.75  # SDXL: 0.27 GiB published for 0.154 GiB of tensors
_UNITS_UNKNOWN = 16.0
_MLP_UNITS = 4.4  # beside the MLP's input and output; SD3, Wan 1.3B and CogVideoX-2b alike
_ATTENTION_UNITS = 21  # of a UNet's finest attention: its gated MLP, and what it adds to
_COLOURS = 3
_FLOAT32 = 4  # bytes


@dataclass(frozen=True, slots=True)
class Canvas:
    """Size of the pictures or videos of one run."""

    # width, height: pixels.
    width: int
    height: int
    frames: int  # frames of each video, 1 for pictures
    images: int  # pictures or videos in one batch


def canvas_of(shape: PipelineShape, workload: Workload) -> Canvas:
    """Return the canvas of a request; the pipeline's default size where unset."""
    return Canvas(
        workload.width or shape.width,
        workload.height or shape.height,
        workload.frames or shape.frames,
        workload.concurrency,
    )


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One step of a pipeline."""

    # Sets of components that have to be on the GPU at the same time.
    together: tuple[frozenset[str], ...]
    need: Bytes  # its working memory
    upcast: str | None = None  # a component whose weights are made 32 bits wide for it


def pipeline_steps(
    shape: PipelineShape, workload: Workload, widths: Mapping[str, int], bfloat16: Container[str]
) -> list[PipelineStep]:
    """Return the pipeline's steps, in order.

    `widths` are bytes of one number by component; `bfloat16` names components stored as that.
    """
    canvas = canvas_of(shape, workload)
    steps = [_encoding(shape, widths)]
    for denoiser in shape.denoisers:
        need = _denoising(denoiser, shape, canvas, widths.get(denoiser.component, 2))
        steps.append(PipelineStep((frozenset({denoiser.component}),), need))
    decoder = shape.decoder
    if decoder is None:
        return [*steps, PipelineStep((), UNKNOWN)]
    upcast = decoder.upcast and decoder.component not in bfloat16
    if not shape.is_known:
        return [*steps, PipelineStep((frozenset({decoder.component}),), UNKNOWN)]
    return [*steps, _decoding(decoder, canvas, widths.get(decoder.component, 2), upcast)]


def _encoding(shape: PipelineShape, widths: Mapping[str, int]) -> PipelineStep:
    need = max(
        (_text_bytes(encoder, widths.get(encoder.component, 2)) for encoder in shape.encoders),
        default=0.0,
    )
    # All encoders run one after another for one prompt, whatever the batch. Under guidance the
    # empty prompt is encoded afterwards: the last encoder is still on the GPU while the others run
    # again, so each of them shares the GPU with it (`encode_prompt` of SDXL and SD3).
    names = sorted(encoder.component for encoder in shape.encoders)
    last = set(names[-1:]) if shape.guidance_batches > 1 else set()
    together = tuple(frozenset({name, *last}) for name in names)
    return PipelineStep(together, _banded(need, _ENCODER_BAND))


def _banded(need: float, band: Bytes) -> Bytes:
    low, likely, high = (need * share for share in band)
    return low, likely, high


def _text_bytes(encoder: TextEncoder, width: int) -> float:
    """Return bytes of hidden states, one MLP, and one layer's scores and position bias."""
    forward = encoder.tokens * (8 * encoder.hidden + 3 * encoder.intermediate) * width
    return forward + 2 * encoder.heads * encoder.tokens**2 * width


def _denoising(denoiser: Denoiser, shape: PipelineShape, canvas: Canvas, width: int) -> Bytes:
    if not shape.is_known or not (denoiser.channels or denoiser.hidden):
        return UNKNOWN
    batch = canvas.images * shape.guidance_batches
    rows, columns, _ = latents_of(shape, canvas)
    if denoiser.channels:
        need = _unet_elements(denoiser, rows, columns) * _WORKSPACE_OF_UNETS
    else:
        tokens = tokens_of_picture(denoiser, shape, canvas) + shape.text_tokens
        need = tokens * denoiser.hidden * _units(denoiser)
    return _banded(need * batch * width, _DENOISER_BAND)


def latents_of(shape: PipelineShape, canvas: Canvas) -> tuple[int, int, int]:
    """Return rows, columns and frames of the latents that are denoised."""
    decoder = shape.decoder
    scale, temporal = (decoder.scale, decoder.temporal_scale) if decoder else (8, 1)
    frames = (canvas.frames - 1) // temporal + 1
    return -(-canvas.height // scale), -(-canvas.width // scale), frames


def tokens_of_picture(denoiser: Denoiser, shape: PipelineShape, canvas: Canvas) -> int:
    """Return the tokens of one picture or video in a transformer, without the prompt's."""
    rows, columns, frames = latents_of(shape, canvas)
    patches = -(-rows // denoiser.patch) * -(-columns // denoiser.patch)
    return patches * -(-frames // denoiser.patch_frames)


def _units(denoiser: Denoiser) -> float:
    rules = module_rules().get(denoiser.kind)
    attention = rules.units if rules else _UNITS_UNKNOWN
    return max(attention, _MLP_UNITS + 2 * denoiser.mlp_ratio)


def _unet_elements(unet: Denoiser, rows: int, columns: int) -> int:
    """Return elements of skip connections on every level and of the finest attention's MLP."""
    elements = unet.channels[0] * rows * columns
    for level, width in enumerate(unet.channels):
        elements += unet.layers_per_block * width * (rows >> level) * (columns >> level)
        if level + 1 < len(unet.channels):
            elements += width * (rows >> level + 1) * (columns >> level + 1)
    if unet.attention_level is None:
        return elements
    level = unet.attention_level
    return elements + _ATTENTION_UNITS * unet.channels[level] * (rows >> level) * (columns >> level)


def _decoding(decoder: Decoder, canvas: Canvas, width: int, upcast: bool) -> PipelineStep:
    rules = module_rules().get(decoder.kind)
    together = (frozenset({decoder.component}),)
    if rules is None:
        return PipelineStep(together, UNKNOWN)
    upcast = upcast and width < _FLOAT32
    width = _FLOAT32 if upcast else width
    # Units of the widest tensor at full resolution, for the frames decoded at once. The decoded
    # video exists twice, before and after new frames are appended to it.
    frames = min(canvas.frames, rules.frames or canvas.frames)
    pixels = canvas.width * canvas.height * canvas.images
    unit = decoder.channels * pixels / decoder.spatial_patch**2 * frames
    video = 2 * _COLOURS * pixels * canvas.frames if canvas.frames > 1 else 0
    units = rules.units_fp32 if width == _FLOAT32 else rules.units
    need = _banded(width * (unit * units + video), _DECODER_BAND)
    return PipelineStep(together, need, decoder.component if upcast else None)
