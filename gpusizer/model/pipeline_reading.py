"""Reader of a PipelineShape from the configurations of a diffusers repository."""

# The files are untrusted: absent and absurd values are replaced by the most common ones.

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.hub.snapshot import Component, Config, RepoSnapshot
from gpusizer.model.pipeline_shape import (
    Decoder,
    Denoiser,
    PipelineShape,
    TextEncoder,
    module_rules,
)
from gpusizer.model.unet_levels import COUNTED_KIND, unet_levels

INDEX = "model_index.json"
_DEFAULT_PIXELS = 1024
_LARGEST = 1_000_000  # larger numbers of a configuration are ignored
_MLP_RATIO = 4.0
_DEFAULT_TEXT_TOKENS = 512
_DEFAULT_LATENT_SCALE = 8
_TEXT_ENCODERS = "text_encoder"
# Blocks of a transformer. Z-Image refines picture and text separately first, which together costs
# as much as one block on both.
_LAYERS = "num_layers", "num_single_layers", "n_layers", "n_refiner_layers"
_UNET_CHANNELS = (320, 640, 1280, 1280)


@dataclass(frozen=True, slots=True)
class PipelineRules:
    """Rules of a class of pipeline: one row of `data/pipelines.csv`."""

    # names of its classes: "Flux" and "- Img2Img" are FluxPipeline and FluxImg2ImgPipeline
    family: str = ""
    forms: str = ""
    # word in the repository name that the row requires, "" for none. Models distilled to few steps
    # without guidance keep the class of their base model.
    word: str = ""
    # 2 if each step runs with and without the prompt in one batch, None if unknown
    guidance_batches: int | None = None
    # tokens of the prompt, None if unknown
    text_tokens: int | None = None
    # pixels and frames of the default picture or video, None if unknown
    width: int | None = None
    height: int | None = None
    frames: int | None = None
    # default steps of the denoiser, None if unknown
    steps: int | None = None
    # consecutive runs of the denoiser in a step, None for one
    passes: int | None = None
    # a float16 VAE decodes in 32 bits
    upcasts_vae: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(f"{self.family}{form.strip('-')}Pipeline" for form in self.forms.split())


@cache
def _rules_by_class() -> Mapping[str, tuple[PipelineRules, ...]]:
    # rows with a word come first
    rows = read_table(
        DATA_DIR / "pipelines.csv",
        lambda row: row.record(PipelineRules, upcasts_vae=row.flag("upcast_fp16_vae")),
    )
    by_class: dict[str, tuple[PipelineRules, ...]] = {}
    for rules in sorted(rows, key=lambda rules: not rules.word):
        for name in rules.classes:
            by_class[name] = (*by_class.get(name, ()), rules)
    return by_class


def pipeline_shape(snapshot: RepoSnapshot) -> PipelineShape:
    """Return the shape of the pipeline in a diffusers repository."""
    index = snapshot.extra_configs.get(INDEX) or {}
    kind = _text(index, "_class_name")
    words = {"", *re.split(r"\W|_", snapshot.repo_id.lower())}
    matching = (rules for rules in _rules_by_class().get(kind, ()) if rules.word in words)
    known = next(matching, None)
    rules = known or PipelineRules()
    tokens = rules.text_tokens or _DEFAULT_TEXT_TOKENS
    parts = snapshot.components
    decoders = (_decoder(part, rules.upcasts_vae) for part in parts)
    decoder = next(filter(None, decoders), None)
    denoisers = tuple(d for d in map(_denoiser, parts) if d is not None)
    side = _default_side(parts, decoder.scale if decoder else _DEFAULT_LATENT_SCALE)
    return PipelineShape(
        kind=kind,
        width=rules.width or side,
        height=rules.height or side,
        frames=rules.frames or 1,
        # Of an unlisted class, UNets usually run both prompts in one batch.
        guidance_batches=rules.guidance_batches or (2 if any(d.channels for d in denoisers) else 1),
        text_tokens=tokens,
        encoders=tuple(e for e in (_encoder(c, tokens) for c in parts) if e is not None),
        denoisers=denoisers,
        decoder=decoder,
        steps=rules.steps,
        passes=rules.passes or 1,
        is_known=known is not None,
        unknown_classes=_unknown_classes("" if known else kind or INDEX, denoisers, decoder),
    )


def _unknown_classes(
    pipeline: str, denoisers: Sequence[Denoiser], decoder: Decoder | None
) -> tuple[str, ...]:
    # classes whose working memory no table has; `pipeline` is "" if it is known
    names = [pipeline, *(d.kind for d in denoisers if not d.channels)]
    names += [] if decoder is None else [decoder.kind]
    return tuple(dict.fromkeys(n for n in names if n and n not in module_rules()))


def _default_side(parts: Sequence[Component], scale: int) -> int:
    # in pixels: the denoiser's `sample_size` is in latents, as the pipelines compute it
    for part in parts:
        if part.name in ("unet", "transformer"):
            size = _number(part.config or {}, "sample_size", 0)
            if size and size * scale <= _LARGEST:
                return size * scale
    return _DEFAULT_PIXELS


def _encoder(part: Component, tokens: int) -> TextEncoder | None:
    if not part.name.startswith(_TEXT_ENCODERS):
        return None
    config = part.config or {}
    nested = config.get("text_config")
    config = {**config, **nested} if isinstance(nested, Mapping) else config
    family = _text(config, "model_type")
    hidden = _number(config, "hidden_size", _number(config, "d_model", 4096))
    limit = _number(config, "max_position_embeddings", tokens)
    return TextEncoder(
        component=part.name,
        tokens=min(tokens, limit),
        hidden=hidden,
        intermediate=_number(config, "intermediate_size", _number(config, "d_ff", 4 * hidden)),
        heads=_number(config, "num_attention_heads", _number(config, "num_heads", 64)),
        keeps_float32="t5" in family,
    )


def _denoiser(part: Component) -> Denoiser | None:
    if not part.name.startswith(("unet", "transformer", "prior", "denoiser")):
        return None
    config = part.config or {}
    kind = _text(config, "_class_name")
    matrices = sum(group.count for group in part.tensors if len(group.shape) > 1)
    if kind.startswith("UNet"):
        return _unet(part, kind, config, matrices)
    heads = _number(config, "num_attention_heads", 0)
    hidden = heads * _number(config, "attention_head_dim", 0)
    hidden = hidden or _number(config, "hidden_size", _number(config, "dim", 0))
    rules = module_rules().get(kind)
    patch, patch_frames = _patch(config)
    return Denoiser(
        component=part.name,
        kind=kind,
        patch=(rules and rules.patch) or patch,
        patch_frames=patch_frames,
        hidden=hidden,
        mlp_ratio=(rules and rules.mlp_ratio) or _mlp_ratio(config, hidden),
        mlp_matrices=(rules and rules.mlp_matrices) or 2,
        layers=sum(_number(config, name, 0) for name in _LAYERS),
        attention=rules.attention if rules else "",
        matrices=matrices,
    )


def _patch(config: Config) -> tuple[int, int]:
    # latent pixels along one side of a token, and latent frames of it
    size = config.get("patch_size")
    if isinstance(size, list) and len(size) == 3 and all(isinstance(n, int) for n in size):
        return max(1, size[1]), max(1, size[0])
    return _number(config, "patch_size", 1), _number(config, "patch_size_t", 1)


def _mlp_ratio(config: Config, hidden: int) -> float:
    ratio = config.get("mlp_ratio")
    if isinstance(ratio, int | float) and not isinstance(ratio, bool) and 0 < ratio < 64:
        return float(ratio)
    width = _number(config, "ffn_dim", 0)
    return width / hidden if width and hidden else _MLP_RATIO


def _unet(part: Component, kind: str, config: Config, matrices: int) -> Denoiser:
    channels = _numbers(config, "block_out_channels") or _UNET_CHANNELS
    blocks = config.get("down_block_types")
    names = [str(name) for name in blocks] if isinstance(blocks, list) else ["CrossAttn"]
    levels = [i for i, name in enumerate(names[: len(channels)]) if "Attn" in name]
    # An upscaler's first attention of each block reads the text, too.
    is_counted = kind == COUNTED_KIND and not config.get("only_cross_attention")
    return Denoiser(
        component=part.name,
        kind=kind,
        patch=1,
        patch_frames=1,
        hidden=0,
        mlp_ratio=_MLP_RATIO,
        channels=channels,
        attention_level=levels[0] if levels else None,
        layers_per_block=_number(config, "layers_per_block", 2),
        matrices=matrices,
        levels=unet_levels(part.tensors, len(channels)) if is_counted else (),
    )


def _decoder(part: Component, upcast: bool) -> Decoder | None:
    if part.name not in ("vae", "vqvae", "movq"):
        return None
    config = part.config or {}
    kind = _text(config, "_class_name")
    rules = module_rules().get(kind)
    blocks = _numbers(config, "block_out_channels") or _numbers(
        config, "decoder_block_out_channels"
    )
    patch = _number(config, "patch_size", 1)
    stages = 2 ** (len(blocks) - 1) if 0 < len(blocks) < 8 else _DEFAULT_LATENT_SCALE
    usual = (rules and rules.scale) or stages
    usual_temporal = (rules and rules.temporal_scale) or 1
    return Decoder(
        component=part.name,
        kind=kind,
        channels=_widest(config, blocks, kind),
        scale=_number(
            config, "scale_factor_spatial", _number(config, "spatial_compression_ratio", usual)
        ),
        temporal_scale=_number(config, "scale_factor_temporal", usual_temporal),
        spatial_patch=patch,
        upcast=upcast and config.get("force_upcast") is True,
    )


def _widest(config: Config, blocks: tuple[int, ...], kind: str) -> int:
    # Channels at full resolution: the output of the last block but one, which the last narrows. LTX
    # and Mochi unfold pixels into the first width; Wan states a base and its multiples.
    base = _number(config, "decoder_base_dim", _number(config, "base_dim", 0))
    if base:
        multiples = _numbers(config, "dim_mult") or (1, 2, 4, 4)
        return base * (multiples[1] if len(multiples) > 1 else 1)
    if kind.endswith(("LTXVideo", "Mochi")):
        return blocks[0] if blocks else 128
    return blocks[1] if len(blocks) > 1 else 256


def _number(config: Config, name: str, default: int) -> int:
    value = config.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST:
        return value
    return default


def _numbers(config: Config, name: str) -> tuple[int, ...]:
    values = config.get(name)
    if not isinstance(values, list) or not 0 < len(values) <= 16:
        return ()
    integers = tuple(v for v in values if isinstance(v, int) and 0 < v <= _LARGEST)
    return integers if len(integers) == len(values) else ()


def _text(config: Config, name: str) -> str:
    value = config.get(name)
    return value[:80] if isinstance(value, str) else ""
