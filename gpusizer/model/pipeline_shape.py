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
    """A component that reads the prompt: `tokens` of it, whatever its length.

    Attributes:
        keeps_float32: its output projections stay in 32 bits when it is loaded in float16, as
            `_keep_in_fp32_modules` of transformers' T5 says.
    """

    component: str
    tokens: int
    hidden: int
    intermediate: int
    heads: int
    keeps_float32: bool


@dataclass(frozen=True, slots=True)
class Denoiser:
    """A component that runs at every step.

    Attributes:
        kind: class in diffusers.
        patch, patch_frames: latent pixels and frames of one token, along one side.
        hidden: width of a token, 0 for a UNet or where it is not known.
        mlp_ratio: width of the MLP by that of a token.
        mlp_matrices: of an MLP: three where it is gated.
        channels: of a UNet by level, finest first.
        attention_level: finest level of a UNet that attends, None for none.
        layers_per_block: of a UNet.
        layers: blocks of a transformer, 0 where not known.
        attention: "joint" where tokens of the text attend beside those of the picture, "cross"
            where a second attention of each block reads them, "" where not known.
        matrices: weights that a pass multiplies by, one after the other.
        levels: what a UNet multiplies at each resolution, none where that is not known.
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
        kind: class of the pipeline, "" where `model_index.json` does not say.
        width, height: pixels of its default picture.
        frames: of its default video, 1 for pictures.
        guidance_batches: 2 where every step runs with and without the prompt in one batch.
        text_tokens: tokens of the prompt that reach the denoiser.
        decoder: None where there is no VAE of a known kind.
        steps: of the denoiser unless told otherwise, None where not known.
        passes: times that the denoiser runs one after the other in a step.
        is_known: the class of the pipeline has rules, so that what one run draws is known.
        unknown_classes: the pipeline, denoisers and decoders whose working memory is not known.
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
    """What a class of denoiser or decoder needs: one row of `data/pipeline_modules.csv`.

    Attributes:
        units, units_fp32: tensors as large as the widest one that are alive at once, computing
            in 16 and in 32 bits.
        patch: latent pixels of one token along one side, None where the configuration says it.
        frames: frames decoded at once, None for all.
        scale, temporal_scale: pixels and frames of one latent, None where the configuration or
            the usual value says it.
        attention: of a transformer of known blocks, as `Denoiser` has it, else "".
        mlp_matrices, mlp_ratio: as `Denoiser` has them, None for two and for what the configuration
            says.
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
    """Rows of `data/pipeline_modules.csv` by class of diffusers."""
    return records_by(DATA_DIR / "pipeline_modules.csv", "class", ModuleRules)
