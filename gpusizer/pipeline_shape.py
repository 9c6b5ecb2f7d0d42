"""PipelineShape: what the configurations of a diffusers pipeline say about its working memory."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from gpusizer.paths import DATA_DIR


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
        channels: of a UNet by level, finest first.
        attention_level: finest level of a UNet that attends, None for none.
        layers_per_block: of a UNet.
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
    """A pipeline's steps, and the picture it makes unless told otherwise.

    Attributes:
        kind: class of the pipeline, "" where `model_index.json` does not say.
        width, height: pixels of its default picture.
        frames: of its default video, 1 for pictures.
        guidance_batches: 2 where every step runs with and without the prompt in one batch.
        text_tokens: tokens of the prompt that reach the denoiser.
        decoder: None where there is no VAE of a known kind.
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

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PipelineShape:
        """Inverse of `to_json`."""
        denoisers = tuple(
            Denoiser(**{**one, "channels": tuple(one["channels"])}) for one in data["denoisers"]
        )
        encoders = tuple(TextEncoder(**one) for one in data["encoders"])
        decoder = Decoder(**data["decoder"]) if data["decoder"] else None
        return cls(**{**data, "encoders": encoders, "denoisers": denoisers, "decoder": decoder})


@cache
def module_rules() -> dict[str, Mapping[str, str]]:
    """Rows of `data/pipeline_modules.csv` by class."""
    with (DATA_DIR / "pipeline_modules.csv").open(encoding="utf-8", newline="") as file:
        return {row["class"]: row for row in csv.DictReader(file)}
