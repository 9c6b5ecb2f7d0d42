"""The role of a tensor, derived from its name and shape.

A role has two independent facts: the *part* of the model it belongs to (text decoder, vision
tower, …) and its *kind* (linear weight, embedding, norm, …). Quantizers, parameter
counts and engines decide by these, never by a model's name. The names are those of
checkpoints on the Hub and of GGUF files (`blk.{}.attn_q.weight`), which do not collide.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Part(StrEnum):
    """Which sub-model a tensor belongs to."""

    TEXT = "text"
    VISION = "vision"
    AUDIO = "audio"
    PROJECTOR = "projector"
    MTP = "mtp"  # multi-token-prediction layers: drafts, not needed to generate
    ENCODER = "encoder"
    ADAPTER = "adapter"  # LoRA and the like: loaded beside the model, never quantized with it


class Kind(StrEnum):
    """What a tensor does."""

    EMBEDDING = "embedding"
    OUTPUT = "output"  # lm_head
    LINEAR = "linear"
    EXPERT = "expert"  # linear of a routed expert, per expert (2-D) or fused (3-D)
    ROUTER = "router"
    NORM = "norm"
    BIAS = "bias"
    CONV = "conv"
    POSITION = "position"
    VECTOR = "vector"  # other small parameters: A_log, sinks, layer scales
    QUANT_AUX = "quant_aux"  # scales, zero points, group indices: storage, not parameters
    BUFFER = "buffer"  # masks, rotary tables, position ids: neither loaded nor parameters


class Slot(StrEnum):
    """The projection of a transformer block that a linear is, where the name says it."""

    Q = "q"
    K = "k"
    V = "v"
    QKV = "qkv"
    KV_A = "kv_a"
    KV_B = "kv_b"
    O = "o"  # noqa: E741 - the field's own name for the output projection
    GATE = "gate"
    UP = "up"
    GATE_UP = "gate_up"
    DOWN = "down"
    OTHER = "other"


_PARTS: tuple[tuple[Part, re.Pattern[str]], ...] = tuple(
    (part, re.compile(pattern))
    for part, pattern in (
        (Part.MTP, r"(^|\.)(mtp|mtp_layers|nextn)\."),
        (
            Part.PROJECTOR,
            r"(^|\.)(multi_modal_projector|mm_projector|mlp1|merger|connector"
            r"|resampler|projector|embed_vision|embed_audio|visual_projection"
            r"|deepstack_merger_list|vision_embed_tokens|vision_language_adapter|patch_merger"
            r"|pre_mm_projector_norm)(\.|$)|image_newline|^(mm|resampler)\.",
        ),
        (
            Part.AUDIO,
            r"(^|\.)(audio_tower|audio_model|audio_encoder|audio|speech_encoder"
            r"|t2u_model|vocoder)\.|^a\.",
        ),
        (
            Part.VISION,
            r"(^|\.)(vision_tower|vision_model|visual|vision_encoder|vision|vpm"
            r"|vit|image_encoder|patch_embed)(\.|$)|^v\.",
        ),
        # ChatGLM calls its decoder `transformer.encoder`.
        (Part.ENCODER, r"(?<!^transformer)(^|\.)(encoder|text_encoder)\.|^enc\."),
    )
)

_BUFFER = re.compile(
    r"(^|\.)(inv_freq|rotary_emb\.(cos|sin)_cached|position_ids|masked_bias"
    r"|(input|output)_(max|min)|num_batches_tracked|act_fn\.(beta|eps))$"
    r"|^rope_(freqs|factors_(long|short))\.weight$|\.attn_rot_embd\.weight$"
)
_ATTENTION_MASK = re.compile(r"\.(attn|attention)\.bias$")
_EMBEDDING = re.compile(
    r"(^|\.)(embed_tokens|wte|tok_embeddings|word_embeddings|embed_in|shared|token_embedding"
    r"|embed_tokens_per_layer|token_type_embeddings|embeddings?|embed_char|token_embd"
    r"|per_layer_token_embd|token_types|(unit|speaker|language|tile|class)_embeddings?)\.weight$"
    r"|^embed\.weight$"
)
_OUTPUT = re.compile(
    r"(^|\.)(lm_head|embed_out|output_layer|shared_head\.head)\.(weight|qweight|weight_packed)$"
    r"|^(model\.)?(output|head)\.weight$|^language_model\.output\.weight$"
)
_POSITION = re.compile(
    r"(^|\.)(wpe|position_embeddings?|embed_positions|pos_embed|positional_embedding\w*"
    r"|pos_emb|position_embedding_table|position_embd|relative_attention_bias|compressor\.ape"
    r"|\w*positional_embedding\.embedding)(\.weight)?$"
)
# Matrices no layer multiplies its input with: state decays, mixing coefficients of a few
# rows (AltUp, DeepSeek-V4's hyper-connections and hash routing), learned queries.
_SMALL_MATRIX = re.compile(
    r"(^|\.)(A_log|altup\.\w+\.weight|hc_(attn|ffn|head)_fn|tid2eid|resampler\.query|probe"
    r"|class_embedding|cls_token|reg_token|register_tokens|mask_token)$"
)
_ROUTER = re.compile(
    r"(^|\.)(router(\.(layer|classifier|proj|gate))?|mlp\.gate|ffn\.gate|moe\.gate"
    r"|block_sparse_moe\.gate|feed_forward\.(gate|router)|layers\.\{\}\.gate|gate\.wg"
    r"|shared_expert_gate|mixer\.gate|ffn_gate_inp(_shexp)?)\.weight$"
)
_NORM = re.compile(r"(norm\d?|ln_\w+|ln\d?|bn\d?)(_[a-z\d]+)*\.(weight|gamma|beta)$", re.I)
_EXPERT = re.compile(
    r"(^|\.)(experts|local_experts|block_sparse_moe\.(input|output)_linear|ffn_\w+_(ch)?exps)(\.|$)"
)
# GGUF files store these with two or three sides.
_CONV = re.compile(r"\.(ssm_conv1d(_[qkv])?|shortconv\.conv)\.weight$")
_HEADWISE = re.compile(r"\.attn_[kv]_b\.weight$")
_SHARED_EXPERT = re.compile(r"shared_expert|shared_mlp|_shexp\.")
# What leaves a recurrent block is no output of attention.
_RECURRENT_OUT = re.compile(
    r"(^|\.)((linear_attn|mamba|mixer|conv|short_?conv)\.out_proj|ssm_out)\."
)
_LAYER_TABLE = re.compile(r"(^|\.)(embed_tokens_per_layer|per_layer_token_embd)\.")

_SLOT_NAMES: dict[Slot, str] = {
    Slot.Q: "q_proj q_b_proj q_a_proj wq wq_a wq_b query q to_q linear_q attn_q attn_q_a attn_q_b",
    Slot.K: "k_proj wk key k to_k linear_k attn_k",
    Slot.V: "v_proj wv value v to_v linear_v attn_v",
    Slot.QKV: "qkv_proj query_key_value c_attn Wqkv wqkv qkv in_proj_qkvz in_proj_qkv attn_qkv",
    Slot.KV_A: "kv_a_proj_with_mqa wkv attn_kv_a_mqa",
    Slot.KV_B: "kv_b_proj attn_kv_b attn_k_b attn_v_b",
    Slot.O: "o_proj wo wo_a wo_b out_proj to_out attn_out attn_output",
    Slot.GATE: "gate_proj w1 wi_0 ffn_gate ffn_gate_exps ffn_gate_shexp",
    Slot.UP: "up_proj w3 wi_1 fc1 c_fc dense_h_to_4h wi ffn_up ffn_up_exps ffn_up_shexp",
    Slot.GATE_UP: "gate_up_proj gate_up_proj_blocks input_linear ffn_gate_up_exps",
    Slot.DOWN: "down_proj down_proj_blocks w2 fc2 dense_4h_to_h output_linear"
    " ffn_down ffn_down_exps ffn_down_shexp",
}
_SLOT_OF = {name: slot for slot, names in _SLOT_NAMES.items() for name in names.split()}


def part_of(pattern: str) -> Part:
    """The sub-model a tensor name belongs to; the text decoder unless the name says otherwise."""
    for part, regex in _PARTS:
        if regex.search(pattern):
            return part
    return Part.TEXT


def kind_of(pattern: str, shape: tuple[int, ...]) -> Kind:
    """The kind of an unpacked tensor, from its name pattern and logical shape."""
    if _BUFFER.search(pattern) or (_ATTENTION_MASK.search(pattern) and len(shape) >= 3):
        return Kind.BUFFER
    if _NORM.search(pattern):
        return Kind.NORM
    if _SMALL_MATRIX.search(pattern):
        return Kind.VECTOR
    if _POSITION.search(pattern):
        return Kind.POSITION
    if is_expert(pattern) and len(shape) >= 2:
        return Kind.BIAS if pattern.endswith("bias") else Kind.EXPERT
    if _CONV.search(pattern):
        return Kind.CONV
    if len(shape) == 2 or _HEADWISE.search(pattern):
        return _matrix_kind(pattern)
    if len(shape) >= 3:
        return Kind.CONV
    return Kind.BIAS if pattern.endswith("bias") else Kind.VECTOR


def _matrix_kind(pattern: str) -> Kind:
    for kind, regex in (
        (Kind.OUTPUT, _OUTPUT),
        (Kind.EMBEDDING, _EMBEDDING),
        (Kind.ROUTER, _ROUTER),
    ):
        if regex.search(pattern):
            return kind
    return Kind.LINEAR


def is_expert(pattern: str) -> bool:
    """Whether a tensor belongs to a routed expert; shared experts run for every token."""
    return bool(_EXPERT.search(pattern)) and not is_shared_expert(pattern)


def is_shared_expert(pattern: str) -> bool:
    """Whether a tensor belongs to an expert that runs for every token."""
    return _SHARED_EXPERT.search(pattern) is not None


def is_recurrent_out(pattern: str) -> bool:
    """Whether a matrix is what leaves a recurrent block: ssm_out, shortconv.out_proj."""
    return _RECURRENT_OUT.search(pattern) is not None


def is_layer_table(pattern: str) -> bool:
    """Whether an embedding has one row for each token and layer (Gemma 3n, 4)."""
    return _LAYER_TABLE.search(pattern) is not None


def slot_of(pattern: str) -> Slot:
    """Which projection of a block a weight name is, `Slot.OTHER` where it has no fixed role."""
    if is_recurrent_out(pattern):
        return Slot.OTHER
    for component in reversed(pattern.split(".")[-3:]):
        slot = _SLOT_OF.get(component)
        if slot is not None:
            return slot
    return Slot.OTHER


_LAYER_AXIS = re.compile(r"(?:^|\.)(?:h|blk|\w*layers?|\w*blocks?)\.\{\}")


def layer_axis(pattern: str) -> int | None:
    """Index of the placeholder that counts layers, None when the tensor is outside any layer."""
    match = _LAYER_AXIS.search(pattern)
    if match is None:
        return None
    return pattern[: match.end()].count("{}") - 1
