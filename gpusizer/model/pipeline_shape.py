"""PipelineShape: the facts of a diffusers pipeline that its working memory depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import records_by
from gpusizer.model.unet_levels import UNetLevel


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """A component that reads `tokens` of the prompt, padded to that length."""

    component: str
    tokens: int
    hidden: int
    intermediate: int
    heads: int
    # output projections stay in 32 bits in float16 (`_keep_in_fp32_modules` of transformers' T5)
    keeps_float32: bool


@dataclass(frozen=True, slots=True)
class Denoiser:
    """A component that runs at every step.

    Attributes:
        kind: class in diffusers.
        patch, patch_frames: latent pixels along one side of a token, and latent frames of it.
        hidden: width of a token; 0 for a UNet or if unknown.
        mlp_ratio: width of the MLP divided by that of a token.
        mlp_matrices: matrices of an MLP: three if it is gated.
        channels: of a UNet by level, finest first.
        attention_level: finest level of a UNet that attends, or None.
        layers_per_block: of a UNet.
        layers: blocks of a transformer, 0 if unknown.
        attention: "joint" if text tokens attend together with those of the picture, "cross" if a
            second attention of each block reads them, "" if unknown.
        matrices: weights that a pass multiplies by, one after the other.
        levels: multiplied elements of a UNet at each resolution, empty if unknown.
    """

    component: str
    kind: str
    patch: int
    patch_frames: int
    hidden: int
    mlp_ratio: float
    channels: tuple[int, ...] = ()
    attention_level: int | None = None
    layers_per_block: int = 2
    layers: int = 0
    attention: str = ""
    mlp_matrices: int = 2
    matrices: int = 0
    levels: tuple[UNetLevel, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoder:
    """The VAE's decoder.

    Attributes:
        kind: class in diffusers.
        channels: of the widest tensor at full resolution.
        scale, temporal_scale: pixels and frames of one latent, along one side.
        spatial_patch: pixels that the last layer unfolds from one, along one side.
        upcast: pipelines of this class decode a float16 VAE in 32 bits.
    """

    component: str
    kind: str
    channels: int
    scale: int
    temporal_scale: int
    spatial_patch: int
    upcast: bool


@dataclass(frozen=True, slots=True)
class PipelineShape:
    """The steps of a pipeline, and the size of its default picture.

    Attributes:
        kind: class of the pipeline, "" if `model_index.json` does not state it.
        width, height: pixels of its default picture.
        frames: of its default video, 1 for pictures.
        guidance_batches: 2 if each step runs with and without the prompt in one batch.
        text_tokens: tokens of the prompt that reach the denoiser.
        decoder: None if there is no VAE of a known kind.
        steps: default steps of the denoiser, None if unknown.
        passes: consecutive runs of the denoiser in a step.
        is_known: the class of the pipeline has rules, so the output of one run is known.
        unknown_classes: the pipeline, denoisers and decoders with unknown working memory.
    """

    kind: str
    width: int
    height: int
    frames: int
    guidance_batches: int
    text_tokens: int
    encoders: tuple[TextEncoder, ...]
    denoisers: tuple[Denoiser, ...]
    decoder: Decoder | None
    steps: int | None = None
    passes: int = 1
    is_known: bool = True
    unknown_classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleRules:
    """Needs of a class of denoiser or decoder: one row of `data/pipeline_modules.csv`.

    Attributes:
        units, units_fp32: tensors of the widest size that are alive at once, in 16 and in 32 bits.
        patch: latent pixels of one token along one side, None if the configuration states it.
        frames: frames decoded at once, None for all.
        scale, temporal_scale: pixels and frames of one latent, None for the configured or usual
            value.
        attention: as in `Denoiser`, if its blocks are known, else "".
        mlp_matrices, mlp_ratio: as in `Denoiser`; None for two and for the configured ratio.
    """

    units: float
    units_fp32: float
    patch: int | None
    frames: int | None
    scale: int | None
    temporal_scale: int | None
    attention: str
    mlp_matrices: int | None
    mlp_ratio: float | None


@cache
def module_rules() -> Mapping[str, ModuleRules]:
    """Return the rows of `data/pipeline_modules.csv` by class of diffusers."""
    return records_by(DATA_DIR / "pipeline_modules.csv", "class", ModuleRules)
