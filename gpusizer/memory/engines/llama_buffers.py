"""Compute buffers of llama.cpp: what its graph reserves for one physical batch.

Read off its allocation logs and explained from its graphs; activations and logits are FP32.
See data/SOURCES.md, "llama.cpp".
"""

from __future__ import annotations

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import MIB
from gpusizer.memory.engines.llama_layers import ubatch
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, Attention, LayerSpec

_F32 = 4
_PIPELINE_COPIES = 3  # inputs are kept for four batches in flight; one of them is counted elsewhere
_LAYER_STATES = 10  # hidden states alive inside a layer, beside the mask
_LATENT_STATES = 3  # the same beside the queries of a latent (788.0 MiB logged for DeepSeek-V3)
_SPARE_BYTES = 64 * MIB
# The final logits of these families are capped by a tanh: the graph holds them twice.
_CAPPED = ("gemma2", "gemma3n", "gemma4")


def compute_buffer(
    arch: Architecture, workload: Workload, gpus: int, *, vulkan: bool, batch_logits: bool
) -> Amount:
    """Bytes of the compute buffer: the larger need of the output and, without flash attention, of
    the attention scores.

    `batch_logits` False reserves them for one token of each sequence: llama-server does since
    August 2026, llama-bench and older servers for the whole batch. The band covers both.
    """
    batch, hidden = ubatch(workload), arch.hidden_size or 0
    states = hidden * batch * _F32
    kinds = {spec.attention for spec in arch.layer_plan}
    rest = _output_states(arch, kinds) * states
    if vulkan and Attention.RECURRENT in kinds:
        rest += 3 * states + workload.context * batch * _F32  # copies of the mask
    few = _logits(arch, min(batch, workload.concurrency)) + rest
    many = _logits(arch, batch) + rest
    attention = _layer_states(arch, workload, masks=1 if batch_logits else 2)
    if not workload.flash_attention:
        cells = workload.context * workload.concurrency
        attention = cells * batch * ((arch.attention_heads or 1) + 1) * _F32 + 4 * states
    copies = _copies(arch, workload, gpus)
    low, high = max(few, attention) + copies, max(many, attention) + copies
    likely = high if batch_logits else low
    high += workload.context * batch * _F32  # a second mask
    return fitted(low * 0.9, likely, high * 1.15 + _SPARE_BYTES)


def _layer_states(arch: Architecture, workload: Workload, masks: int = 1) -> int:
    """Inside a layer: hidden states and the mask of all cells; Ollama's graphs hold it twice."""
    hidden = arch.hidden_size or 0
    latent = max(_queries(arch, spec) for spec in arch.layer_plan)
    states = max(hidden * _LAYER_STATES, latent + hidden * _LATENT_STATES)
    return (states + workload.context * masks) * ubatch(workload) * _F32


def _queries(arch: Architecture, spec: LayerSpec) -> int:
    """Values of one token's queries where the latent is cached: as projected, absorbed into the
    latent, and joined with their rotary part (src/models/deepseek2.cpp)."""
    if spec.attention is not Attention.MLA:
        return 0
    return spec.head_keys + (arch.attention_heads or 0) * (2 * spec.key_width - spec.rope_width)


def _logits(arch: Architecture, tokens: int) -> int:
    doubled = 2 if arch.model_type.startswith(_CAPPED) else 1
    return (arch.vocab_size or 0) * tokens * _F32 * doubled


def _output_states(arch: Architecture, kinds: set[Attention]) -> float:
    """Hidden states alive beside the logits; a dense layer's MLP can be live as well."""
    if Attention.RECURRENT in kinds:
        return 3
    if arch.experts or not arch.hidden_size or not arch.intermediate_size:
        return 2
    return 1 + arch.intermediate_size / arch.hidden_size


def _copies(arch: Architecture, workload: Workload, gpus: int) -> int:
    """Bytes of the inputs of batches in flight; 0 unless the whole model lies on several GPUs."""
    whole = workload.gpu_layers is None or workload.gpu_layers > arch.layers
    if gpus == 1 or not whole or workload.cpu_moe:
        return 0
    inputs = workload.context + (arch.hidden_size or 0)
    return _PIPELINE_COPIES * inputs * ubatch(workload) * _F32


def streaming_buffer(
    arch: Architecture, workload: Workload, usual: Amount, largest_bytes: int
) -> Amount:
    """The same with weights on the host: the graph also holds the largest one that is copied to the
    GPU for a batch."""
    likely = max(usual.likely, _layer_states(arch, workload) + largest_bytes)
    if not arch.experts:  # the head is the largest, and its logits are there as well
        likely = max(likely, usual.likely + largest_bytes)
    high = max(usual.high, round(likely * 1.15) + _SPARE_BYTES)
    return fitted(usual.low, likely, high)
