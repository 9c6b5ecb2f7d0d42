"""Working memory of a diffusers pipeline, step by step: encode the prompt, denoise, decode.

A step's largest moment is counted in units, tensors that are as large as its widest one. The
units of a class are rows of `data/pipeline_modules.csv`: the tensors alive at once in diffusers,
and what published peaks add for the workspace of convolutions.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from gpusizer.pipeline_shape import (
    Decoder,
    Denoiser,
    PipelineShape,
    TextEncoder,
    module_rules,
)
from gpusizer.units import GIB
from gpusizer.workload import Workload

Bytes = tuple[float, float, float]
"""Low, likely and high."""

UNKNOWN: Bytes = (1.0 * GIB, 3.0 * GIB, 8.0 * GIB)
"""For a decoder or denoiser of which nothing is known."""

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
    """What is made at once.

    Attributes:
        width, height: pixels.
        frames: of each video, 1 for pictures.
        images: pictures or videos in one batch.
    """

    width: int
    height: int
    frames: int
    images: int


def canvas(shape: PipelineShape, workload: Workload) -> Canvas:
    """What is asked for, the pipeline's own size where nothing is said."""
    return Canvas(
        workload.width or shape.width,
        workload.height or shape.height,
        workload.frames or shape.frames,
        workload.concurrency,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        together: components that it needs on the GPU at the same time, set by set.
        need: its working memory.
        upcast: a component whose weights are made 32 bits wide for it.
    """

    together: tuple[frozenset[str], ...]
    need: Bytes
    upcast: str | None = None


def steps(
    shape: PipelineShape, workload: Workload, widths: Mapping[str, int], bfloat16: Container[str]
) -> list[Step]:
    """The pipeline's steps, in order.

    `widths` are bytes of one number by component; `bfloat16` names components stored as that.
    """
    made = canvas(shape, workload)
    found = [_encoding(shape, widths)]
    for denoiser in shape.denoisers:
        need = _denoising(denoiser, shape, made, widths.get(denoiser.component, 2))
        found.append(Step((frozenset({denoiser.component}),), need))
    decoder = shape.decoder
    if decoder is None:
        return [*found, Step((), UNKNOWN)]
    upcast = decoder.upcast and decoder.component not in bfloat16
    return [*found, _decoding(decoder, made, widths.get(decoder.component, 2), upcast)]


def _encoding(shape: PipelineShape, widths: Mapping[str, int]) -> Step:
    """All encoders in turn. One prompt is encoded however many pictures it is for.

    Under guidance the empty prompt comes after: the last encoder is still on the GPU while the
    others run again, so that it meets each of them (`encode_prompt` of SDXL and SD3).
    """
    need = max((_text_bytes(one, widths.get(one.component, 2)) for one in shape.encoders),
               default=0.0)  # fmt: skip
    names = sorted(one.component for one in shape.encoders)
    last = set(names[-1:]) if shape.guidance_batches > 1 else set()
    together = tuple(frozenset({name, *last}) for name in names)
    return Step(together, _banded(need, _ENCODER_BAND))


def _banded(need: float, band: Bytes) -> Bytes:
    low, likely, high = (need * share for share in band)
    return low, likely, high


def _text_bytes(encoder: TextEncoder, width: int) -> float:
    """Hidden states, one MLP, and the scores and position bias of one layer."""
    forward = encoder.tokens * (8 * encoder.hidden + 3 * encoder.intermediate) * width
    return forward + 2 * encoder.heads * encoder.tokens**2 * width


def _denoising(of: Denoiser, shape: PipelineShape, made: Canvas, width: int) -> Bytes:
    if not (of.channels or of.hidden):
        return UNKNOWN
    batch = made.images * shape.guidance_batches
    decoder = shape.decoder
    scale = decoder.scale if decoder else 8
    rows, columns = -(-made.height // scale), -(-made.width // scale)
    if of.channels:
        need = _unet_elements(of, rows, columns) * _WORKSPACE_OF_UNETS
    else:
        temporal = decoder.temporal_scale if decoder else 1
        frames = -(-((made.frames - 1) // temporal + 1) // of.patch_frames)
        tokens = -(-rows // of.patch) * -(-columns // of.patch) * frames + shape.text_tokens
        need = tokens * of.hidden * _units(of)
    return _banded(need * batch * width, _DENOISER_BAND)


def _units(of: Denoiser) -> float:
    """Tokens' hidden states alive at once: attention's, or the MLP's where that is wider."""
    row = module_rules().get(of.kind)
    attention = float(row["units"]) if row else _UNITS_UNKNOWN
    return max(attention, _MLP_UNITS + 2 * of.mlp_ratio)


def _unet_elements(of: Denoiser, rows: int, columns: int) -> int:
    """What every level keeps for its way up, and the finest attention's gated MLP."""
    kept = of.channels[0] * rows * columns
    for level, width in enumerate(of.channels):
        kept += of.layers_per_block * width * (rows >> level) * (columns >> level)
        if level + 1 < len(of.channels):
            kept += width * (rows >> level + 1) * (columns >> level + 1)
    if of.attention_level is None:
        return kept
    level = of.attention_level
    return kept + _ATTENTION_UNITS * of.channels[level] * (rows >> level) * (columns >> level)


def _decoding(decoder: Decoder, made: Canvas, width: int, upcast: bool) -> Step:
    """Units of the widest tensor at full resolution, for the frames decoded at once.

    The video itself is there twice: so far, and with the frames that follow.
    """
    row = module_rules().get(decoder.kind)
    together = (frozenset({decoder.component}),)
    if row is None:
        return Step(together, UNKNOWN)
    upcast = upcast and width < _FLOAT32
    width = _FLOAT32 if upcast else width
    frames = min(made.frames, int(row["frames"] or made.frames))
    pixels = made.width * made.height * made.images
    unit = decoder.channels * pixels / decoder.spatial_patch**2 * frames
    video = 2 * _COLOURS * pixels * made.frames if made.frames > 1 else 0
    units = float(row["units_fp32" if width == _FLOAT32 else "units"])
    need = _banded(width * (unit * units + video), _DECODER_BAND)
    return Step(together, need, decoder.component if upcast else None)
