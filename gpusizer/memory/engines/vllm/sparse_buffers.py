"""Buffers of sparse attention in vLLM: an indexer's keys, and a step of compressed attention.

Read in vllm/model_executor/layers/sparse_attn_indexer.py, vllm/models/deepseek_v4 and
vllm/v1/attention/backends/mla, 0.20 to 0.30.
"""

from __future__ import annotations

from functools import lru_cache

from gpusizer.core.units import MIB
from gpusizer.memory.engines.base import Placement
from gpusizer.memory.engines.vllm.part_pages import INDEX_SCALE, WIDE
from gpusizer.memory.engines.vllm.version_defaults import is_rocm, is_xpu
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds.parts import EntryPart, IndexPart
from gpusizer.model.profile import ModelProfile

_GATHERED_CONTEXTS = 40  # `get_max_prefill_buffer_size`
_PREFILLED_TOGETHER = 4  # PREFILL_CHUNK_SIZE: sequences whose entries are widened at once
_PADDED_HEADS = (64, 128)  # `get_padded_num_q_heads` of FlashMLA
_LOGITS_BYTES = 512 * MIB  # VLLM_SPARSE_INDEXER_MAX_LOGITS_MB
_STREAMS = "hc_head_fn"  # joins the streams of hyper-connections, each as wide as a hidden state


def shared_bytes(arch: Architecture, context: int, step_tokens: int) -> int:
    """Return bytes of the worker's workspace that sparse attention asks for, on every GPU."""
    # An indexer's keys of 40 contexts, or the widened entries of four with their windows.
    asked = [0]
    for part, window in _sparse_parts(arch):
        if isinstance(part, IndexPart):
            asked.append(_GATHERED_CONTEXTS * context * (part.width + INDEX_SCALE))
        else:
            entries = -(-context // part.ratio)
            rows = _PREFILLED_TOGETHER * (entries + window + step_tokens)
            asked.append(rows * part.width * WIDE)
            if part.index_width:
                keys = _GATHERED_CONTEXTS * context // part.ratio
                asked.append(keys * (part.index_width + INDEX_SCALE))
    return max(asked)


@lru_cache(maxsize=64)
def _sparse_parts(arch: Architecture) -> frozenset[tuple[IndexPart | EntryPart, int]]:
    return frozenset(
        (part, (run.layer.tokens.window or 0) if run.layer.tokens else 0)
        for run in arch.layer_plan
        for part in run.layer.parts
        if isinstance(part, IndexPart | EntryPart)
    )


def step_bytes(placement: Placement, arch: Architecture, step_tokens: int) -> int:
    """Return the peak bytes of one layer of compressed attention, 0 for others."""
    entries = (part for part, _ in _sparse_parts(arch) if isinstance(part, EntryPart))
    width = max((part.width for part in entries), default=0)
    if not width:
        return 0
    heads = -(-(arch.attention_heads or 0) // placement.split.tensor)
    if not is_rocm(placement.device_class) and not is_xpu(placement.device_class):
        heads = next((padded for padded in _PADDED_HEADS if heads <= padded), heads)
    # The streams, one hidden state, queries and outputs of whole heads, which FlashMLA pads to 64
    # or 128, and the logits of an indexer.
    values = stream_width(placement.profile, arch) + (arch.hidden_size or 0) + 2 * heads * width
    return step_tokens * values * WIDE + _LOGITS_BYTES


def stream_bytes(placement: Placement, arch: Architecture, step_tokens: int) -> int:
    """Return bytes of the streams that compressed attention keeps for a draft layer, else 0."""
    if not any(isinstance(part, EntryPart) for part, _ in _sparse_parts(arch)):
        return 0
    # The streams are kept whether there is a draft layer or not (`_mtp_hidden_buffer`).
    return step_tokens * stream_width(placement.profile, arch) * WIDE


def stream_width(profile: ModelProfile, arch: Architecture) -> int:
    """Return values of one token between layers, of all streams."""
    joined = (group.shape for group in profile.groups if group.pattern.endswith(_STREAMS))
    return next((shape[-1] for shape in joined if shape), arch.hidden_size or 0)
