"""What quantization recipes need to know about a model, from its profile."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from typing import Any

from gpusizer.paths import DATA_DIR
from gpusizer.profile import ModelProfile
from gpusizer.quants.layouts import FUSED_GATE, ModelShape, feed_forward_rank
from gpusizer.quants.spellings import model_type_of
from gpusizer.roles import Kind, Part, Slot

_TRAINED_FOR_Q4_0 = "-qat-q4_0"  # how releases of quantization-aware training are named
_QUERIES = ("q_b_proj.weight", "wq_b.weight", "q_proj.weight")


@cache
def _conversion() -> Mapping[str, Mapping[str, str]]:
    """model_type -> what llama.cpp's converter does with its models, where it is unusual."""
    with (DATA_DIR / "gguf_conversion.csv").open(encoding="utf-8", newline="") as file:
        return {row["model_type"]: row for row in csv.DictReader(file)}


def model_shape(profile: ModelProfile) -> ModelShape:
    """The facts that decide about the type of a tensor beyond the tensor itself."""
    arch = profile.architecture
    if arch is None:
        return ModelShape(layers=1, heads_per_kv_head=1, experts=0, tied_embeddings=False)
    model_type = model_type_of(arch.model_type)
    rules = _conversion().get(model_type, {})
    return ModelShape(
        layers=arch.layers,
        heads_per_kv_head=(arch.attention_heads or 1) // (arch.kv_heads or 1),
        experts=arch.experts or 0,
        tied_embeddings=arch.tied_embeddings,
        keeps_drafts=rules.get("drafts") == "kept",
        doubles_head=rules.get("tied_head") == "written",
        stores_head=any(g.duplicate and g.kind is Kind.OUTPUT for g in profile.groups),
        wide_head=rules.get("head") == "q8_0",
        narrow_layer_table=rules.get("layer_table") == "base",
        trained_for_q4_0=_TRAINED_FOR_Q4_0 in profile.repo_id.lower(),
        early_qkv=rules.get("fused_qkv") == "early",
        gate_rows=_gate_rows(profile),
        down_layers=_down_layers(profile),
        model_type=model_type,
        **_latent(profile),
    )


def _down_layers(profile: ModelProfile) -> tuple[tuple[int, ...], ...]:
    """Layers with a down-projection, of each rank."""
    layers: tuple[set[int], ...] = (set(), set(), set())
    for group in profile.groups:
        if group.part is Part.TEXT and group.slot is Slot.DOWN:
            layers[feed_forward_rank(group)].update(group.layers or ())
    return tuple(tuple(sorted(found)) for found in layers) if any(layers) else ()


def _gate_rows(profile: ModelProfile) -> int:
    """What in_proj_qkvz has beyond queries, keys and values, which alone are convolved."""
    shapes = {
        name: group.shape[0]
        for group in profile.groups
        for name in (FUSED_GATE, "linear_attn.conv1d.weight")
        if group.part is Part.TEXT and group.pattern.endswith(name)
    }
    return shapes[FUSED_GATE] - min(shapes.values()) if len(shapes) == 2 else 0


def _latent(profile: ModelProfile) -> dict[str, Any]:
    """Heads and their key width without rotary part, off the projections of a latent (MLA).

    Queries are heads x (key + rotary) wide, kv_a compresses to latent + rotary, and kv_b
    expands the latent.
    """
    heads = profile.architecture.attention_heads if profile.architecture else None
    width = {
        group.slot: group.shape
        for group in profile.groups
        if group.part is Part.TEXT and group.kind is Kind.LINEAR and len(group.shape) == 2
        and (group.slot in (Slot.KV_A, Slot.KV_B) or group.pattern.endswith(_QUERIES))
    }  # fmt: skip
    if not heads or not {Slot.Q, Slot.KV_A, Slot.KV_B} <= width.keys():
        return {}
    rotary = width[Slot.KV_A][0] - width[Slot.KV_B][1]
    key_dim = width[Slot.Q][0] // heads - rotary
    if key_dim <= 0 or key_dim * heads >= width[Slot.KV_B][0]:
        return {}
    return {"attention_heads": heads, "latent_key_dim": key_dim}
