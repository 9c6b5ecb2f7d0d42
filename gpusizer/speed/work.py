"""Work: the bytes read and the FLOP computed for a token, independent of the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.kv_cache import STATE_BYTES, kv_cache_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import writes_text
from gpusizer.model.tensor_roles import Kind, Part, Slot, is_delta_gate, is_layer_table, is_sink
from gpusizer.speed.classes import format_of
from gpusizer.speed.kernels import Kernels

# Assumed: three quarters of a sequence are prompt, the rest is answer. A workload states the tokens
# of a sequence without this split. Times to the first token and totals of serving depend on it;
# every answer states the split.
PROMPT_SHARE = 0.75

_ENDS = (Kind.EMBEDDING, Kind.OUTPUT)
_TOWERS = (Part.VISION, Part.AUDIO, Part.PROJECTOR, Part.ADAPTER)
_NOT_TEXT = (*_TOWERS, Part.MTP)
# Kernels that llama.cpp launches for a token in a layer of Llama (src/models/llama.cpp,
# src/llama-graph.cpp; gate and up are one): two norms, six products, two rotations, keys and values
# written, attention, two sums.
_KERNELS = 15
# Further kernels, other norms apart. A layer with a latent (deepseek2.cpp) has two products, two
# norms, two joins and a copy more, and one write less; a shared expert two products and a sum. A
# recurrence has two products, and in place of rotations, writes and attention the inputs of its
# convolution (read, joined, written), the convolution, its bias and activation, a sum, the step of
# the state, which is written back, a skip in two and a gated result (graph-context-mamba.cpp). A
# gated delta rule has three products more, a sigmoid, a softplus, a product and two norms without
# weights, and neither bias nor skip (qwen35moe.cpp, delta-net-base.cpp).
_LATENT, _SHARED_EXPERT, _STATE, _DELTA_RULE = 6, 3, 5, 7
_MIXERS = (Slot.Q, Slot.QKV, Slot.KV_A)


def prompt_tokens(context: int) -> int:
    """Return the prompt tokens assumed in a sequence of `context` tokens."""
    return max(1, round(context * PROMPT_SHARE))


def prompt_of(workload: Workload) -> int:
    """Return the prompt tokens assumed in a sequence of a workload, its pictures included."""
    text = max(0, workload.context - workload.image_tokens)
    return max(1, min(workload.context, workload.image_tokens + round(text * PROMPT_SHARE)))


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts of one model and workload that all ways to run it share."""

    layers: int
    # layers by their work: a block of Nemotron-H holds one mixer (attention, Mamba or a
    # feed-forward), half of the usual
    running_layers: float
    # running layers by the kernels that llama.cpp launches in each, as multiples of a layer of
    # Llama
    launched_layers: float
    # further small kernels, likewise: norms and launches of recurrences
    small_layers: float
    # layers with routed experts
    expert_layers: int
    # layers whose attention has sinks (gpt-oss)
    sink_layers: float
    # layers that write a state by a gated delta rule
    delta_layers: float
    # width of the residual stream, which tensor parallelism exchanges
    hidden: int
    # routed experts of a layer and of a token; 0 for dense models
    experts: int
    experts_per_token: int
    # active parameters a prompt token of text is multiplied with: without the embedding (a table),
    # the head (only for the last token) and towers
    matrix_parameters: int
    # parameters of the output head
    head_parameters: int
    # FLOP of one prompt token, on average over the prompt
    attention_flops: float
    # KV cache of one sequence at the workload's context
    cache_bytes: int
    # recurrent states within `cache_bytes`
    state_bytes: int
    # heads that share the keys and values of one, on average
    query_heads: float
    prompt: int
    context: int
    # sequences at once
    users: int
    workload: Workload

    @property
    def answer(self) -> int:
        """Tokens of the answer."""
        return max(1, self.context - self.prompt)

    @classmethod
    def from_profile(
        cls, profile: ModelProfile, workload: Workload, prompt: int | None = None
    ) -> ModelFacts | None:
        """Return the facts of a model and workload; None if it generates no text.

        `prompt` tokens replace the assumed share.
        """
        arch = profile.architecture
        if arch is None or not writes_text(profile):
            return None
        return cls._of(profile, arch, workload, prompt or prompt_of(workload))

    @classmethod
    def reading(cls, profile: ModelProfile, workload: Workload) -> ModelFacts | None:
        """Return the facts of a model that reads the whole context and writes nothing, or None."""
        arch = profile.architecture
        return None if arch is None else cls._of(profile, arch, workload, workload.context)

    @classmethod
    def _of(
        cls, profile: ModelProfile, arch: Architecture, workload: Workload, prompt: int
    ) -> ModelFacts:
        ends = [g for g in profile.groups if g.kind in _ENDS and g.part not in _NOT_TEXT]
        # Where a decoder writes, it reads what an encoder left, once for each answer.
        apart = (*_TOWERS, Part.ENCODER) if arch.generates else _TOWERS
        others = sum(g.parameters for g in profile.groups if g.part in apart)
        tables = [g for g in ends if not is_layer_table(g.pattern)]
        outputs = [group for group in tables if group.kind is Kind.OUTPUT] or tables
        routed = arch.experts and arch.experts_per_token
        purposes = _Purposes.from_profile(profile)
        feeding, mixing, experts = purposes.feeding, purposes.mixing, purposes.routed
        alternate = feeding and mixing and not (feeding | experts) & mixing
        running = arch.layers / 2 if alternate else arch.layers
        plan = arch.layer_plan
        latent = sum(run.count for run in plan if run.layer.latent)
        states = [(run.count, run.layer.state) for run in plan if run.layer.state]
        further = _LATENT * latent + _SHARED_EXPERT * len(feeding & experts)
        small = (
            max(0.0, purposes.norms - 2 * (running + latent))
            + _STATE * sum(count for count, _ in states)
            + _DELTA_RULE * len(purposes.deltas)
        )
        return cls(
            layers=arch.layers,
            running_layers=running,
            launched_layers=running + further / _KERNELS,
            small_layers=small / _KERNELS,
            expert_layers=min(arch.layers, len(experts) or arch.layers) if routed else 0,
            delta_layers=len(purposes.deltas),
            sink_layers=purposes.sinks,
            hidden=arch.hidden_size or 0,
            experts=arch.experts or 0 if routed else 0,
            experts_per_token=arch.experts_per_token or 0 if routed else 0,
            matrix_parameters=max(
                1, profile.active_parameters - others - sum(group.parameters for group in ends)
            ),
            head_parameters=sum(group.parameters for group in outputs),
            attention_flops=attention_flops(arch, prompt),
            cache_bytes=kv_cache_bytes(arch, workload.context, 1, workload.kv_dtype),
            state_bytes=STATE_BYTES * sum(count * state.size for count, state in states),
            query_heads=_query_heads(arch),
            prompt=prompt,
            context=workload.context,
            users=workload.sequences,
            workload=workload,
        )


@dataclass(frozen=True, slots=True)
class Work:
    """The facts of a model at one quantization under one engine."""

    facts: ModelFacts
    engine: str
    family: str  # `family`, `format`: classes of constants (`speed/classes.py`)
    format: str
    quant: str
    dense_bytes: int  # weights every step reads (`WeightSizes.decoding`), routed experts apart
    expert_bytes: int  # all routed experts of the decoder
    bits: float  # of a weight
    kernels: Kernels  # of the engine's build and backend
    tensor: int  # `tensor`, `pipeline`, `data`: degrees of parallelism
    pipeline: int
    data: int = 1

    @classmethod
    def from_facts(cls, facts: ModelFacts, estimate: MemoryEstimate) -> Work:
        """Return the work of one estimate."""
        sizes, able = estimate.sizes, estimate.engine.abilities
        return cls(
            facts=facts,
            engine=estimate.engine.slug,
            family=able.speed_family,
            format=format_of(estimate.quant),
            quant=estimate.quant.slug,
            dense_bytes=sizes.decoding,
            expert_bytes=sizes.decoding_experts,
            bits=estimate.quant.bits,
            kernels=Kernels.for_workload(facts.workload, able),
            tensor=estimate.split.tensor,
            pipeline=estimate.split.pipeline,
            data=estimate.split.data,
        )

    @property
    def is_moe(self) -> bool:
        """Whether a token is routed to some of the weights."""
        return bool(self.facts.experts and self.expert_bytes)

    def expert_share(self, sequences: float) -> float:
        """Return the share of the experts that a step of `sequences` tokens reads."""
        # Of E experts with k chosen by each token, E x (1 - (1 - k/E)^n) are expected for n tokens.
        if not self.is_moe:
            return 0.0
        unused = 1 - min(1.0, self.facts.experts_per_token / self.facts.experts)
        return 1.0 - float(unused**sequences)

    def expert_share_each(self, sequences: float) -> float:
        """Return the share of the experts that one rank reads for `sequences` of all ranks."""
        # Experts are dealt out whole to the GPUs of all ranks: each rank has its part of them, and
        # the busiest GPU reads one at least.
        share = self.expert_share(sequences) / self.data
        if self.data == 1 or not share:
            return share
        return max(share, min(1.0, self.tensor / self.facts.experts))

    def users_each(self, sequences: float) -> int:
        """Return the sequences of the fullest data-parallel rank, as `Split` divides them."""
        return ceil(sequences / self.data)

    def step_bytes(self, sequences: float) -> float:
        """Return the bytes that a step reads: weights once, and every sequence's cache."""
        experts = self.expert_bytes * self.expert_share(sequences)
        return self.dense_bytes + experts + self.facts.cache_bytes * sequences


class _Purposes(NamedTuple):
    """Purposes of the tensors of the decoder's layers, by their names."""

    # `feeding`, `mixing`, `routed`, `deltas`: layers with a feed-forward for every token, with a
    # mixer, with routed experts, with a gated delta rule
    feeding: set[int]
    mixing: set[int]
    routed: set[int]
    deltas: set[int]
    norms: int  # `norms`, `sinks`: norms with weights and vectors of sinks, over all layers
    sinks: int

    @classmethod
    def from_profile(cls, profile: ModelProfile) -> _Purposes:
        feeding: set[int] = set()
        mixing: set[int] = set()
        routed: set[int] = set()
        deltas: set[int] = set()
        norms = sinks = 0
        for group in profile.groups:
            if group.layers is None or group.part in _NOT_TEXT:
                continue
            kind, slot = group.kind, group.slot
            if kind is Kind.NORM:
                norms += len(group.layers)
            elif kind is Kind.EXPERT:
                routed.update(group.layers)
            elif slot is Slot.DOWN and kind is Kind.LINEAR:
                feeding.update(group.layers)
            elif slot in _MIXERS or kind is Kind.CONV:
                mixing.update(group.layers)
            elif kind is Kind.VECTOR:
                sinks += len(group.layers) if is_sink(group.pattern) else 0
            elif slot is Slot.OTHER and is_delta_gate(group.pattern):
                deltas.update(group.layers)
        return cls(feeding, mixing, routed, deltas, norms, sinks)


def _query_heads(arch: Architecture) -> float:
    # averaged over layers whose cache grows; a latent is kept and read once for all heads
    kept = [(run.layer.tokens, run.count) for run in arch.layer_plan if run.layer.tokens]
    heads = arch.attention_heads or 1
    shared = sum(count * tokens.readers(heads) for tokens, count in kept)
    return max(1.0, shared / max(1, sum(count for _, count in kept)))


def attention_flops(arch: Architecture, prompt: int) -> float:
    """Return the FLOP of one prompt token's scores and weighted sums, over all layers."""
    # Each token attends to half of the prompt on average: 2 products x 2 FLOP x heads x width of a
    # head x prompt / 2, within the window of the layer.
    heads = arch.attention_heads or 1
    total = 0.0
    for run in arch.layer_plan:
        tokens = run.layer.tokens
        if tokens is None:
            continue
        reach = prompt / 2 if tokens.window is None else min(prompt / 2, tokens.window)
        total += run.count * 4 * heads * tokens.compared_width(arch.head_dim) * reach
    return total
