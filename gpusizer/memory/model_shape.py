"""Facts of a model that quantization recipes depend on, from its profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.memory.quants.layouts import FUSED_GATE, ModelShape, feed_forward_rank
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot

ANY_FILE = Workload()  # no facts about how a GGUF file was made
_FIRST_MONTH = "2023-08"  # of GGUF
# Month of llama.cpp's pull request 19770: since then attn_qkv is treated as attn_v, and the table
# of one row a layer as the embedding.
_ONE_CATEGORY = "2026-03"
_TRAINED_FOR_Q4_0 = "-qat-q4_0"  # how releases of quantization-aware training are named
_TIED_HEADS = ("", "written", "dropped")
_QUERIES = ("q_b_proj.weight", "wq_b.weight", "q_proj.weight")


@dataclass(frozen=True, slots=True)
class ConversionRules:
    """Unusual rules of llama.cpp for one kind of model: a row of data/gguf_conversion.csv.

    The attributes are those of ModelShape, but for the first.
    """

    drafts_since: str = ""  # month or day since which files hold draft layers; "" for never
    doubles_head: bool = False
    drops_head: bool = False
    wide_head: bool = False
    narrow_layer_table: bool = False
    early_qkv: bool = False


@cache
def _conversion() -> Mapping[str, ConversionRules]:
    return dict(read_table(DATA_DIR / "gguf_conversion.csv", _conversion_rules))


def _conversion_rules(row: TableRow) -> tuple[str, ConversionRules]:
    return row.text("model_type"), ConversionRules(
        drafts_since=_FIRST_MONTH if row.text("drafts") == "always" else row.text("drafts"),
        doubles_head=row.one_of("tied_head", _TIED_HEADS) == "written",
        drops_head=row.one_of("tied_head", _TIED_HEADS) == "dropped",
        wide_head=row.one_of("head", ("", "q8_0")) == "q8_0",
        narrow_layer_table=row.one_of("layer_table", ("", "base")) == "base",
        early_qkv=row.one_of("fused_qkv", ("", "early")) == "early",
    )


def model_shape(profile: ModelProfile, workload: Workload = ANY_FILE) -> ModelShape:
    """Return the facts of a model, and of its file as the workload describes it."""
    return _model_shape(profile, workload.gguf_date, workload.importance_matrix)


@lru_cache(maxsize=64)
def _model_shape(profile: ModelProfile, made: str | None, matrix: bool | None) -> ModelShape:
    arch = profile.architecture
    if arch is None:
        return ModelShape(layers=1, heads_per_kv_head=1, experts=0, tied_embeddings=False)
    model_type = model_type_of(arch.model_type)
    rules = _conversion().get(model_type, ConversionRules())
    return ModelShape(
        layers=arch.layers,
        heads_per_kv_head=(arch.attention_heads or 1) // (arch.kv_heads or 1),
        experts=arch.experts or 0,
        tied_embeddings=arch.tied_embeddings,
        keeps_drafts=bool(rules.drafts_since) and (not made or made >= rules.drafts_since),
        doubles_head=rules.doubles_head,
        drops_head=rules.drops_head,
        stores_head=any(g.duplicate and g.kind is Kind.OUTPUT for g in profile.groups),
        wide_head=rules.wide_head,
        narrow_layer_table=made < _ONE_CATEGORY if made else rules.narrow_layer_table,
        trained_for_q4_0=_TRAINED_FOR_Q4_0 in profile.repo_id.lower(),
        early_qkv=made < _ONE_CATEGORY if made else rules.early_qkv,
        gate_rows=_gate_rows(profile),
        down_layers=_down_layers(profile),
        importance_matrix=matrix,
        model_type=model_type,
        **_latent(profile),
    )


def _down_layers(profile: ModelProfile) -> tuple[tuple[int, ...], ...]:
    layers: tuple[set[int], ...] = (set(), set(), set())
    for group in profile.groups:
        if group.part is Part.TEXT and group.slot is Slot.DOWN:
            layers[feed_forward_rank(group)].update(group.layers or ())
    return tuple(tuple(sorted(numbers)) for numbers in layers) if any(layers) else ()


def _gate_rows(profile: ModelProfile) -> int:
    shapes = {
        name: group.shape[0]
        for group in profile.groups
        for name in (FUSED_GATE, "linear_attn.conv1d.weight")
        if group.part is Part.TEXT and group.pattern.endswith(name)
    }
    return shapes[FUSED_GATE] - min(shapes.values()) if len(shapes) == 2 else 0


def _latent(profile: ModelProfile) -> dict[str, int]:
    heads = profile.architecture.attention_heads if profile.architecture else None
    width = {
        group.slot: group.shape
        for group in profile.groups
        if group.part is Part.TEXT
        and group.kind is Kind.LINEAR
        and len(group.shape) == 2
        and (group.slot in (Slot.KV_A, Slot.KV_B) or group.pattern.endswith(_QUERIES))
    }
    if not heads or not {Slot.Q, Slot.KV_A, Slot.KV_B} <= width.keys():
        return {}
    # Queries are heads x (key + rotary) wide, kv_a compresses to latent + rotary, and kv_b expands
    # the latent (MLA).
    rotary = width[Slot.KV_A][0] - width[Slot.KV_B][1]
    key_dim = width[Slot.Q][0] // heads - rotary
    if key_dim <= 0 or key_dim * heads >= width[Slot.KV_B][0]:
        return {}
    return {"attention_heads": heads, "latent_key_dim": key_dim}


@cache
def spellings() -> Mapping[str, str]:
    """Return the map of GGUF's `general.architecture` to the configuration's model_type."""
    rows = read_table(
        DATA_DIR / "gguf_architectures.csv",
        lambda row: (row.text("architecture"), row.text("model_type")),
    )
    return dict(rows)


def model_type_of(name: str) -> str:
    """Return the model_type for a name of either kind; the name itself if it has one spelling.

    >>> model_type_of("gptneox"), model_type_of("gpt_neox")
    ('gpt_neox', 'gpt_neox')
    """
    return spellings().get(name, name)
