"""TrainedShape: the matrices and norms of a model that training memory depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, is_expert
from gpusizer.model.weights import WeightGroup

_ATTENTION = re.compile(r"attn|attention|(^|\.)mixer\.Wqkv", re.IGNORECASE)
_MATRICES = frozenset({Kind.LINEAR, Kind.EXPERT})
_LAST = re.compile(
    r"(^|\.)(o|o_proj|dense|c_proj|out_proj|proj|wo|to_out(\.\d+)?|down_proj(_blocks)?|w2|fc2"
    r"|dense_4h_to_h|attn_output|ffn_down)(\.|$)|output\.dense"
)
_GATED_RATIO = (
    1.5  # an MLP whose first matrices put out more than this many inner widths has a gate
)
# baichuan-inc/Baichuan2-13B-Chat, modeling_baichuan.py: ALiBi is added to the scores.
_OWN_ATTENTION = frozenset({"baichuan"})
# THUDM/chatglm3-6b, modeling_chatglm.py, get_masks: a mask, so no flash kernel, beside padding.
_MASKED_ATTENTION = frozenset({"chatglm"})
# Qwen/Qwen-7B-Chat, modeling_qwen.py, and baichuan-inc/Baichuan2-13B-Chat, modeling_baichuan.py:
# 16-bit logits, their shifted copy and the loss of that.
_PLAIN_LOGITS = frozenset({"qwen", "baichuan"})
# XiaomiMiMo/MiMo-7B-RL, modeling_mimo.py builds its draft layers. Transformers' own classes leave
# theirs out (`_keys_to_ignore_on_load_unexpected` of DeepSeek-V3, GLM-4.5 and Qwen3.5).
_LOADS_DRAFTS = frozenset({"mimo"})
_DENOISERS = frozenset({"transformer", "transformer_2", "unet", "prior", "decoder"})
TOWERS = frozenset({Part.VISION, Part.AUDIO, Part.PROJECTOR})


@dataclass(frozen=True, slots=True)
class Matrix:
    """Equal matrices that layers multiply their input with."""

    pattern: str  # name, layer numbers as `{}`
    # out_width, in_width: widths of one matrix.
    out_width: int
    in_width: int
    copies: int  # their number, experts counted one by one
    used: float  # copies that one token passes through
    attention: bool  # it belongs to an attention block, otherwise to an MLP
    last: bool  # it leads back to the stream between layers, out of its block
    expert: bool  # it belongs to a routed expert
    tower: bool = False  # it belongs to a vision or audio part
    # It is an expert's part of a parameter of three dimensions, no module of its own.
    fused: bool = False
    # Factor of a listed name on the rank of adapters on that parameter, 0 if names do not reach it.
    fused_rank: int = 0

    @property
    def parameters(self) -> int:
        """Parameters of all copies."""
        return self.out_width * self.in_width * self.copies

    @property
    def name(self) -> str:
        """Name in fine-tuning tools, such as "q_proj"."""
        stem, _, last = self.pattern.replace("_blocks", "").rpartition(".")
        is_storage = last in ("weight", "qweight", "weight_packed")
        return stem.rpartition(".")[2] if stem and is_storage else last


@dataclass(frozen=True, slots=True)
class TrainedShape:
    """Facts of a model that training needs, of the whole model. Widths are elements."""

    matrices: tuple[Matrix, ...]  # every matrix inside the layers
    norm_widths: int  # sum of the widths of all norms
    fused_norms: bool  # they are LayerNorms, which one kernel computes, rather than RMSNorms
    # embedding, output: parameters of the input and the output matrix; `output` is 0 when tied.
    embedding: int
    output: int
    other: int  # parameters outside these and matrices: norms, biases, convolutions
    # Parameters loaded with it and never trained: text encoders and VAE of a pipeline, layers that
    # draft tokens if the model's code loads them.
    beside: int
    layers: int  # blocks of every stack, of an encoder as of a decoder, without vision towers
    # hidden, vocabulary, heads: sizes of the language model; `vocabulary` is 0 without one.
    hidden: int
    vocabulary: int
    heads: int
    head_width: int  # heads times their width, the width of queries
    key_width: int  # width of keys of one layer; values have the same
    own_attention: bool  # its code on the Hub computes attention that holds the scores
    masked_attention: bool  # its code holds the scores if sequences are padded
    plain_logits: bool  # its code does not raise logits to FP32 before the loss does
    generates: bool  # it predicts a token at every position

    @property
    def parameters(self) -> int:
        """Unique parameters that training can reach."""
        inside = sum(matrix.parameters for matrix in self.matrices)
        return inside + self.embedding + self.output + self.other

    @property
    def looked_up(self) -> int:
        """Parameters of an input embedding that is not also the head, and so never multiplied."""
        return 0 if self.generates and not self.output else self.embedding

    def untied(self) -> TrainedShape:
        """Return the shape with a head of its own if it shares the embedding's matrix."""
        # The copy is counted, divided over GPUs and gathered like any other matrix.
        tied = self.generates and not self.output
        return replace(self, output=self.embedding) if tied else self

    def with_fused_experts(self, rank: int, *, stored: bool) -> TrainedShape:
        """Return the shape with a layer's experts in one parameter, as in transformers 5.

        `rank`: their `fused_rank`; `stored`: also of those that files have in one parameter.
        """
        matrices = tuple(
            replace(m, fused=True, fused_rank=rank if stored or not m.fused else 0)
            if m.expert
            else m
            for m in self.matrices
        )
        return replace(self, matrices=matrices)

    @property
    def layer_parameters(self) -> float:
        """Matrix parameters of one layer, on average."""
        return sum(matrix.parameters for matrix in self.matrices) / max(1, self.layers)

    @property
    def largest_parameter(self) -> int:
        """Elements of the largest tensor: a matrix, the embedding or the head."""
        return max(self.largest_matrix, self.embedding, self.output)

    @property
    def largest_matrix(self) -> int:
        """Parameters of the largest single matrix inside the layers."""
        return max((m.out_width * m.in_width for m in self.matrices), default=0)


def trained_shape(profile: ModelProfile) -> TrainedShape:
    """Return the shape of any model with tensors; without a language model, no vocabulary."""
    arch = profile.architecture
    everything = [g for g in profile.groups if g.parameters]
    groups = [g for g in everything if is_trained(g, profile)]
    share = 1.0
    if arch and arch.experts and arch.experts_per_token:
        share = min(1.0, arch.experts_per_token / arch.experts)
    inside = [g for g in groups if _is_layer_matrix(g)]
    hidden = (arch.hidden_size if arch else None) or _usual_width(inside)
    matrices = tuple(_matrix(g, share, hidden) for g in inside)
    counted = {Kind.EMBEDDING, Kind.OUTPUT}
    heads = (arch.attention_heads if arch else None) or max(1, hidden // 64)
    head_width = heads * ((arch.head_dim if arch else None) or hidden // heads)
    kept = [run.layer.tokens for run in arch.layer_plan] if arch else []
    keys = [tokens.key_width for tokens in kept if tokens]
    norms = [g for g in groups if g.kind is Kind.NORM]
    return TrainedShape(
        matrices=matrices,
        norm_widths=sum(g.parameters for g in norms if not g.pattern.endswith(("bias", "beta"))),
        fused_norms=any(_is_norm_bias(g) for g in groups),
        embedding=sum(g.parameters for g in groups if g.kind is Kind.EMBEDDING),
        output=sum(g.parameters for g in groups if g.kind is Kind.OUTPUT),
        other=sum(
            g.parameters for g in groups if g.kind not in counted and not _is_layer_matrix(g)
        ),
        beside=sum(g.parameters for g in everything if _is_beside(g, profile)),
        layers=max(arch.layers if arch else 1, _blocks(groups)),
        hidden=hidden,
        vocabulary=(arch.vocab_size if arch else None) or 0,
        heads=heads,
        head_width=head_width,
        key_width=max(keys, default=head_width) or head_width,
        own_attention=bool(arch and arch.model_type in _OWN_ATTENTION),
        masked_attention=bool(arch and arch.model_type in _MASKED_ATTENTION),
        plain_logits=bool(arch and arch.model_type in _PLAIN_LOGITS),
        generates=bool(arch and arch.generates),
    )


def is_gated(outs: float, inner: float) -> bool:
    """Return whether an MLP of this total first output and inner width has a gate."""
    return outs > _GATED_RATIO * inner


def is_trained(group: WeightGroup, profile: ModelProfile) -> bool:
    """Return whether training can reach a group."""
    # Training reaches only the denoiser of a pipeline, and no draft layers.
    if profile.format == "diffusers":
        return group.component in _DENOISERS
    return group.part is not Part.MTP


def _is_beside(group: WeightGroup, profile: ModelProfile) -> bool:
    # A group that is not trained may be loaded all the same.
    if is_trained(group, profile):
        return False
    arch = profile.architecture
    return group.part is not Part.MTP or bool(arch and arch.model_type in _LOADS_DRAFTS)


def _is_layer_matrix(group: WeightGroup) -> bool:
    return group.kind in _MATRICES and len(group.shape) >= 2


def _matrix(group: WeightGroup, share: float, hidden: int) -> Matrix:
    *stacked, out_width, in_width = group.shape
    copies = group.count
    for number in stacked:
        copies *= number
    expert = group.kind is Kind.EXPERT and is_expert(group.pattern)
    attention = bool(_ATTENTION.search(group.pattern))
    return Matrix(
        pattern=group.pattern,
        out_width=out_width,
        in_width=in_width,
        copies=copies,
        used=copies * share if expert else copies,
        attention=attention,
        last=_leads_back(group.pattern, out_width, in_width, hidden, attention=attention),
        expert=expert,
        tower=group.part in TOWERS,
        fused=expert and bool(stacked),
    )


def _leads_back(
    pattern: str, out_width: int, in_width: int, hidden: int, *, attention: bool
) -> bool:
    # Decided by its widths, or by its name if both are those of the residual stream.
    if not attention and in_width != out_width:
        return in_width != hidden if hidden in (in_width, out_width) else in_width > out_width
    return out_width == hidden and bool(_LAST.search(pattern))


def _is_norm_bias(group: WeightGroup) -> bool:
    stem, _, last = group.pattern.rpartition(".")
    return last in ("bias", "beta") and bool(re.search(r"(norm\d?|ln_\w+|ln\d?)$", stem, re.I))


def _usual_width(groups: list[WeightGroup]) -> int:
    # The input width that most matrices share is that of the residual stream.
    counts_by_width: dict[int, int] = {}
    for group in groups:
        counts_by_width[group.shape[-1]] = counts_by_width.get(group.shape[-1], 0) + group.count
    return max(counts_by_width, key=lambda width: counts_by_width[width], default=1)


def _blocks(groups: list[WeightGroup]) -> int:
    # Stacks differ in the name before the layer number.
    stacks: dict[tuple[str, str], int] = {}
    for group in groups:
        if group.layers is None or group.part in TOWERS:
            continue
        stack = (group.component, group.pattern.partition("{}")[0])
        stacks[stack] = max(stacks.get(stack, 0), len(group.layers))
    return sum(stacks.values())
