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
    """A component that runs at every step."""

    component: str
    # class in diffusers
    kind: str
    # latent pixels along one side of a token, and latent frames of it
    patch: int
    patch_frames: int
    # width of a token; 0 for a UNet or if unknown
    hidden: int
    # width of the MLP divided by that of a token
    mlp_ratio: float
    # channels of a UNet by level, finest first
    channels: tuple[int, ...] = ()
    # finest level of a UNet that attends, or None
    attention_level: int | None = None
    layers_per_block: int = 2
    # blocks of a transformer, 0 if unknown
    layers: int = 0
    # "joint" if text tokens attend together with those of the picture, "cross" if a second
    # attention of each block reads them, "" if unknown
    attention: str = ""
    # matrices of an MLP: three if it is gated
    mlp_matrices: int = 2
    # weights that a pass multiplies by, one after the other
    matrices: int = 0
    # multiplied elements of a UNet at each resolution, empty if unknown
    levels: tuple[UNetLevel, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoder:
    """The VAE's decoder."""

    component: str
    kind: str  # class in diffusers
    channels: int  # of the widest tensor at full resolution
    scale: int  # `scale`, `temporal_scale`: pixels and frames of one latent, along one side
    temporal_scale: int
    spatial_patch: int  # pixels that the last layer unfolds from one, along one side
    upcast: bool  # pipelines of this class decode a float16 VAE in 32 bits


@dataclass(frozen=True, slots=True)
class PipelineShape:
    """The steps of a pipeline, and the size of its default picture."""

    # class of the pipeline, "" if `model_index.json` does not state it
    kind: str
    # pixels of its default picture
    width: int
    height: int
    # frames of its default video, 1 for pictures
    frames: int
    # 2 if each step runs with and without the prompt in one batch
    guidance_batches: int
    # tokens of the prompt that reach the denoiser
    text_tokens: int
    encoders: tuple[TextEncoder, ...]
    denoisers: tuple[Denoiser, ...]
    # None if there is no VAE of a known kind
    decoder: Decoder | None
    # default steps of the denoiser, None if unknown
    steps: int | None = None
    # consecutive runs of the denoiser in a step
    passes: int = 1
    # the class of the pipeline has rules, so the output of one run is known
    is_known: bool = True
    # the pipeline, denoisers and decoders with unknown working memory
    unknown_classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleRules:
    """Needs of a class of denoiser or decoder: one row of `data/pipeline_modules.csv`."""

    # tensors of the widest size that are alive at once, in 16 and in 32 bits
    units: float
    units_fp32: float
    # latent pixels of one token along one side, None if the configuration states it
    patch: int | None
    # frames decoded at once, None for all
    frames: int | None
    # pixels and frames of one latent, None for the configured or usual value
    scale: int | None
    temporal_scale: int | None
    # as in `Denoiser`, if its blocks are known, else ""
    attention: str
    # as in `Denoiser`; None for two and for the configured ratio
    mlp_matrices: int | None
    mlp_ratio: float | None


@cache
def module_rules() -> Mapping[str, ModuleRules]:
    """Return the rows of `data/pipeline_modules.csv` by class of diffusers."""
    return records_by(DATA_DIR / "pipeline_modules.csv", "class", ModuleRules)
