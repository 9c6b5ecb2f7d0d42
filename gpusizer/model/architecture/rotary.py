"""Tables of rotary positions: their size by a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gpusizer.core.loose_values import JsonObject, JsonValue
from gpusizer.model.architecture.config import MODEL_TYPES, ConfigView

_MOST_KINDS = 16  # of layers with positions of their own; models have two
# families whose positions have three sections (time, height, width), even if the configuration does
# not state it
_SECTIONED = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")


@dataclass(frozen=True, slots=True)
class Rotary:
    """One kind of rotary positions; layers of a kind share it.

    `width` elements of each head are rotated; `positions` is the longest sequence that the
    configuration allows. `kind` is "default" or the scaling ("linear", "yarn", "longrope", …) by
    `factor` from `original` positions. `sectioned` separates positions for time, height and width.
    """

    width: int
    positions: int
    kind: str = "default"
    factor: float = 1.0
    original: int = 0
    sectioned: bool = False


def scaled_positions(rotary: Rotary) -> int:
    """Return the positions after scaling, in tokens.

    >>> scaled_positions(Rotary(128, 32_768, "yarn", 4.0, 32_768))
    131072
    """
    # As vLLM derives its longest sequence (`_get_and_verify_max_len`): longrope and Llama 3 state
    # scaled positions already.
    if rotary.kind in ("default", "su", "longrope", "llama3"):
        return rotary.positions
    unscaled = rotary.original if rotary.kind == "yarn" and rotary.original else rotary.positions
    return int(unscaled * rotary.factor)


def rotary_of(cfg: ConfigView, head_dim: int | None, positions: int | None) -> tuple[Rotary, ...]:
    """Return the distinct kinds of rotary positions; empty without any or with unknown widths."""
    if cfg.model_type in MODEL_TYPES["without_rotary"] or not positions:
        return ()
    return tuple(dict.fromkeys(_rotaries(cfg, head_dim, positions)))


def _rotaries(cfg: ConfigView, head_dim: int | None, positions: int) -> Iterator[Rotary]:
    latent = cfg.number("qk_rope_head_dim")
    width = latent or head_dim
    if not width:
        return
    parameters = cfg.mapping("rope_parameters")
    per_kind = {k: v for k, v in islice(parameters.items(), _MOST_KINDS) if isinstance(v, dict)}
    if per_kind:  # one entry per kind of layer (transformers 5)
        for name, own in per_kind.items():
            wide = cfg.number("global_head_dim") if name == "full_attention" else None
            yield _rotary_of(cfg, own, wide or width, positions, share=1.0)
        return
    settings: JsonObject = parameters or cfg.mapping("rope_scaling")
    share = 1.0 if latent else _share(cfg, settings)
    yield _rotary_of(cfg, settings, width, positions, share)
    if cfg.has("rope_local_base_freq") or cfg.model_type == "gemma3_text":
        yield Rotary(width, positions)  # Gemma 3: sliding layers are not stretched


def _rotary_of(
    cfg: ConfigView, settings: JsonObject, width: int, positions: int, share: float
) -> Rotary:
    kind = settings.get("rope_type") or settings.get("type") or "default"
    original = settings.get("original_max_position_embeddings")
    sectioned = "mrope_section" in settings or cfg.model_type.startswith(_SECTIONED)
    return Rotary(
        width=int(width * share),
        positions=positions,
        kind=kind if isinstance(kind, str) else "default",
        factor=_number(settings.get("factor"), 1.0, 1e4),
        original=int(_number(original, 0, 1e9)),
        sectioned=sectioned,
    )


def _share(cfg: ConfigView, settings: JsonObject) -> float:
    # rotated share of a head: `partial_rotary_factor`, or GPT-NeoX's `rotary_pct`
    for place in (settings, cfg.text):
        for key in ("partial_rotary_factor", "rotary_pct"):
            share = _number(place.get(key), 0.0, 1.0)
            if share:
                return share
    return 1.0


def _number(value: JsonValue, default: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= highest:
        return default
    return float(value)
