"""Compute buffers of llama.cpp: memory that its graph reserves for one physical batch.

They are read off its allocation logs and explained from its graphs (src/llama-graph.cpp);
activations and logits are FP32. See data/SOURCES.md, "llama.cpp".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import MIB
from gpusizer.memory.engines.llama_layers import ubatch
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds import Layer

_F16, _F32 = 2, 4
_PIPELINE_COPIES = 3  # inputs are kept for four batches in flight; one of them is counted elsewhere
_LAYER_STATES = 10  # hidden states alive inside a layer, beside the mask, at least
_FEED_FORWARD_STATES = 3  # the same beside what a feed-forward block holds
_LATENT_STATES = 3  # the same beside the queries of a latent (788.0 MiB logged for DeepSeek-V3)
_SPARE_BYTES = 64 * MIB
# The final logits of these families are capped by a tanh: the graph holds them twice.
_CAPPED = ("gemma2", "gemma3n", "gemma4")


@dataclass(frozen=True, slots=True)
class Graph:
    """Facts that the size of a graph depends on, beside architecture and workload."""

    # Logits are reserved for a whole batch, not for one token of each sequence.
    batch_logits: bool = True
    half_mask: bool = False  # flash attention takes a 16-bit mask
    masks: int = 1  # copies of the mask that are held
    vulkan: bool = False
    cpu: bool = False
    gated: bool = True  # feed-forward blocks have a gate, so three values of their width are alive
    # Queries, keys and values are views of one matrix product, which stays alive.
    fused_qkv: bool = False


def compute_buffer(arch: Architecture, workload: Workload, gpus: int, graph: Graph) -> Amount:
    """Return bytes of the compute buffer: the larger need of the output and of a layer."""
    if not arch.generates:
        return _encoder_buffer(arch, workload, graph)
    batch, hidden = ubatch(workload), arch.hidden_size or 0
    states = hidden * batch * _F32
    recurs = any(run.layer.state for run in arch.layer_plan)
    rest = (1 if graph.cpu else _output_states(arch, recurs=recurs)) * states
    if graph.vulkan and recurs:
        rest += 3 * states + workload.context * batch * _F32  # copies of the mask
    # llama-bench and older servers reserve logits for a whole batch, newer servers for one token of
    # each sequence (`Graph.batch_logits`). The band covers both.
    few = _logits(arch, min(batch, workload.concurrency)) + rest
    many = _logits(arch, batch) + rest
    scores = _scores(arch, workload, graph)
    attention = layer_states(arch, workload, graph) if workload.flash_attention else scores
    copies = _copies(arch, workload, gpus)
    if workload.own_draft_tokens:  # a second context has a graph of its own, of the same batch
        copies += max(layer_states(arch, workload, graph), round(few))
    low, high = max(few, attention) + copies, max(many, attention) + copies
    likely = high if graph.batch_logits else low
    high += workload.context * batch * _F32  # a second mask
    least = max(few, min(attention, scores)) + copies  # flash attention never takes more
    return fitted(least * 0.9, likely, high * 1.15 + _SPARE_BYTES)


def _encoder_buffer(arch: Architecture, workload: Workload, graph: Graph) -> Amount:
    # An encoder attends to the batch alone, has no cache and gives no logits. bge-small: 1,536 + 2
    # x 384 values of 512 tokens are the 4.50 MiB that build c841aeeb8 reserves
    # (gpustack/gguf-parser-go issue 51); with a gate, EuroBERT's 21.5 MiB and LLaDA's 88.5 MiB.
    batch, hidden = ubatch(workload), arch.hidden_size or 0
    inside = _feed_forward(arch, graph) + 2 * hidden
    likely = batch * inside * _F32 + (batch * batch * _F16 if graph.gated else 0)
    if not workload.flash_attention:
        likely += batch * batch * (arch.attention_heads or 1) * _F32
    return fitted(likely * 0.9, likely, likely * 1.5 + _SPARE_BYTES)


def layer_states(arch: Architecture, workload: Workload, graph: Graph) -> int:
    """Return bytes inside a layer under flash attention: hidden states, widened states, mask."""
    hidden = arch.hidden_size or 0
    latent = max(_queries(arch, run.layer) for run in arch.layer_plan)
    states = max(
        hidden * _LAYER_STATES,
        _feed_forward(arch, graph) + hidden * _FEED_FORWARD_STATES,
        latent + hidden * _LATENT_STATES,
    )
    # The mask is of all cells; Ollama's graphs hold it twice.
    mask = workload.context * graph.masks * (_F16 if graph.half_mask else _F32)
    return (states * _F32 + mask) * ubatch(workload)


def _feed_forward(arch: Architecture, graph: Graph) -> int:
    """Return values of one token in a feed-forward block."""
    # Gate, up and their product; of a mixture the product and the output of every expert that the
    # token uses. OLMoE's 8 x (2,048 + 1,024) and three hidden states beside a mask of 4,096 cells
    # are the 64.0 MiB of gpustack/gguf-parser-go issue 45, gpt-oss-20b's 4 x (2,880 + 2,880) part
    # of 456.98 MiB.
    if arch.experts and arch.experts_per_token and arch.expert_width:
        return arch.experts_per_token * ((arch.hidden_size or 0) + arch.expert_width)
    return (3 if graph.gated else 1) * (arch.intermediate_size or 0)


def _scores(arch: Architecture, workload: Workload, graph: Graph) -> int:
    """Return bytes of attention scores of every head, their mask and hidden states."""
    batch = ubatch(workload)
    cells = workload.context * workload.concurrency
    # 162.0 MiB logged for Pythia-2.8B, whose queries, keys and values are one product, 168.0 MiB
    # for Phi-3-mini.
    states = (6 if graph.fused_qkv else 4) * (arch.hidden_size or 0) * batch * _F32
    return cells * batch * ((arch.attention_heads or 1) + 1) * _F32 + states


def _queries(arch: Architecture, layer: Layer) -> int:
    """Return values of one token's queries if a latent is cached, else 0."""
    # As projected, absorbed into the latent, and joined with their rotary part
    # (src/models/deepseek2.cpp).
    return layer.latent.query_width(arch.attention_heads or 0) if layer.latent else 0


def _logits(arch: Architecture, tokens: int) -> int:
    doubled = 2 if arch.model_type.startswith(_CAPPED) else 1
    return (arch.vocab_size or 0) * tokens * _F32 * doubled


def _output_states(arch: Architecture, *, recurs: bool) -> float:
    if recurs:
        return 3
    if arch.experts or not arch.hidden_size or not arch.intermediate_size:
        return 2
    # A dense layer's MLP can be live as well.
    return 1 + arch.intermediate_size / arch.hidden_size


def _copies(arch: Architecture, workload: Workload, gpus: int) -> int:
    """Return bytes of inputs in flight; 0 unless the whole model lies on several GPUs."""
    whole = workload.gpu_layers is None or workload.gpu_layers > arch.layers
    if gpus == 1 or not whole or workload.cpu_moe:
        return 0
    inputs = workload.context + (arch.hidden_size or 0)
    return _PIPELINE_COPIES * inputs * ubatch(workload) * _F32


@dataclass(frozen=True, slots=True)
class HostWeights:
    """Bytes of the largest tensor of a layer and of the head (`op_offload`).

    Either may be copied to the GPU for a batch.
    """

    layer: int
    head: int


def streaming_buffer(
    arch: Architecture, workload: Workload, usual: Amount, weights: HostWeights, graph: Graph
) -> Amount:
    """Return the buffer with weights on the host.

    The graph also holds the largest tensor that is copied to the GPU for a batch.
    """
    states = layer_states(arch, workload, graph) if arch.generates else usual.likely
    likely = max(usual.likely, states + weights.layer)
    # The output is the first layer that goes to a GPU, so its head is copied only if no layer is
    # there.
    if workload.gpu_layers == 0 and graph.batch_logits and not arch.experts:
        likely = max(likely, usual.likely + weights.head)
    high = max(usual.high, round(likely * 1.15) + _SPARE_BYTES)
    return fitted(usual.low, likely, high)
