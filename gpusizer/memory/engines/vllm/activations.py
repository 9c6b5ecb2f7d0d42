"""Peak of temporary tensors that vLLM measures at start-up.

max(forward, sampler), plus tensors that stay allocated beside both. Checked on published logs; see
data/SOURCES.md, "Serving engines".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import GIB, MIB
from gpusizer.memory.engines.base import Placement, Split
from gpusizer.memory.engines.vllm.encoders import batch_bytes, embeddings_bytes, tower_bytes
from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.engines.vllm.sparse_buffers import shared_bytes, step_bytes, stream_bytes
from gpusizer.memory.engines.vllm.version_defaults import BatchLimits
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile

_WIDE = 2
_F32 = 4
# FP32 copies of the logits that sampling holds at its peak, hidden states of a step that stay
# meanwhile, in copies, and bytes of a batch's metadata and workspaces of any model beside them:
# where PyTorch sorts (vllm/v1/sample/ops/topk_topp_sampler.py), and where FlashInfer or, since pull
# request 33538, a kernel in Triton does it without sorting.
_SORTING = (9.6, 0.8, 0.0)
_NOT_SORTING = (3.5, 1.5, 0.08 * GIB)
# Model Runner V2 copies the 16-bit logits to FP32 once and changes that copy in place
# (`Sampler.sample`, vllm/v1/worker/gpu/sample/sampler.py), so 6 bytes for each; beside them lie a
# step's states and cuBLAS's workspace (aten/src/ATen/cuda/CublasHandlePool.cpp: 32 MiB).
_SECOND_RUNNER = (1.5, 1.0, 32 * MIB)
# With speculation the first runner also plays a rejection sampler with one guess for each sequence
# (`_dummy_sampler_run`, vllm/v1/worker/gpu_model_runner.py, and `forward` and `rejection_sample`,
# vllm/v1/sample/rejection_sampler.py, 0.18 to 0.28): 16-bit logits of both tokens and of the second
# again, and in FP32 the second's raw logits, the guess's, their clone, their probabilities, and the
# noise of the draw and its reciprocal.
_REJECTING = 1.5 + 6
_REJECTING_SINCE = (0, 18, 0)
_IN_FP32 = ("f32", "fp32", "float32")
_FLASHINFER = "flashinfer"
_EMBEDS = ("feature-extraction", "sentence-similarity")
_HIDDEN_COPIES = 3  # of a step's hidden states at the widest point, five where ranks sum them
_HIDDEN_COPIES_TOGETHER = 5
_HIDDEN_COPIES_SECOND = 1  # Model Runner V2 in a dense model
_CHUNK_TOKENS = 32 * 1024  # of gathered ranks that the experts compute at once
_MLP_COPIES = 3  # gate, up and their product


@dataclass(frozen=True, slots=True)
class Peak:
    """Peak activation bytes; `low` assumes FlashInfer sampling if no sampler is set."""

    likely: float
    low: float


def peak_of(
    placement: Placement, arch: Architecture, limits: BatchLimits, release: VllmRelease
) -> Peak:
    """Return the peak on the fullest GPU.

    forward = step tokens x width of a number x (3 x MLP width / TP + 3 x hidden, one under Model
    Runner V2), or the experts' workspace instead of the MLP; sampler = copies x 4 x sequences x
    vocabulary, not divided by TP, plus hidden states that stay.
    """
    profile, split, workload = placement.profile, placement.split, placement.workload
    # Models with a cache in FP32 compute in it.
    element = _F32 if workload.kv_dtype in _IN_FP32 else _WIDE
    hidden = float(limits.tokens * element * (arch.hidden_size or 0))
    second = release.runs_second(profile)
    together = release.profiles_whole_prompts and split.tensor > 1
    copies = _HIDDEN_COPIES_TOGETHER if together else _HIDDEN_COPIES
    forward = hidden * (_HIDDEN_COPIES_SECOND if second and not arch.experts else copies)
    if not arch.experts:
        widths = _MLP_COPIES * (arch.intermediate_size or 0) / split.tensor
        forward += limits.tokens * element * widths
    if release.profiles_whole_prompts:
        forward += batch_bytes(profile, limits.sequences)
    # Encoder outputs and the workspace, which sparse attention shares, stay as well. A tower of
    # images runs before all that, and may need more.
    persistent = beforehand = 0.0
    if arch.generates and not workload.text_only:
        persistent = embeddings_bytes(profile, arch, limits.tokens)
        beforehand = tower_bytes(profile, arch, limits.tokens, split)
    forward = max(forward, step_bytes(placement, arch, limits.tokens))
    persistent += stream_bytes(placement, arch, limits.tokens)
    # MXFP4 kernels allocate and free the buffers of experts at each call.
    mxfp4 = profile.quantization is not None and profile.quantization.method == "mxfp4"
    keeps = release.keeps_workspace and limits.samples and not mxfp4
    workspace = _workspace(arch, limits.tokens, split, modular=keeps) * element
    if keeps:
        persistent += max(workspace, shared_bytes(arch, workload.context, limits.tokens))
    else:
        forward += workspace
    if not arch.generates or not limits.samples or is_pooled(profile):
        only = max(forward + persistent, beforehand)
        return Peak(only, only)
    logits = _F32 * limits.sequences * (arch.vocab_size or 0)

    def while_sampling(copies: float, kept_states: float, beside: float) -> float:
        decoding = max(forward, copies * logits + kept_states * hidden + beside) + persistent
        return max(decoding, beforehand)

    if second:
        only = while_sampling(*_SECOND_RUNNER)
        return Peak(only, only)
    if workload.draft_tokens and release.since >= _REJECTING_SINCE:
        only = while_sampling(_REJECTING, *_NOT_SORTING[1:])
        return Peak(only, only)
    likely = _SORTING if release.sorts and workload.sampler != _FLASHINFER else _NOT_SORTING
    low = likely if workload.sampler != "auto" or release.profiles_whole_prompts else _NOT_SORTING
    return Peak(while_sampling(*likely), while_sampling(*low))


def is_pooled(profile: ModelProfile) -> bool:
    """Return whether vLLM serves the model for embeddings or scores, and so samples no tokens."""
    # vLLM does so for repositories of Sentence Transformers (`_get_default_runner_type`).
    return profile.library == "sentence-transformers" or profile.pipeline_tag in _EMBEDS


def _workspace(arch: Architecture, tokens: int, split: Split, *, modular: bool) -> float:
    """Return elements of the fused experts' buffers: tokens x experts each x (max(2 W, H) + W).

    W is the experts' width over TP (vllm/model_executor/layers/fused_moe, intermediate caches).
    """
    if not arch.experts:
        return 0.0
    # With expert parallelism W is whole, and the tokens of all data-parallel ranks are gathered and
    # computed in chunks (VLLM_FUSED_MOE_CHUNK_SIZE).
    whole = split.expert > 1
    width = (arch.expert_width or arch.intermediate_size or 0) / (1 if whole else split.tensor)
    tokens = min(tokens * split.data, max(tokens, _CHUNK_TOKENS))
    routed = tokens * (arch.experts_per_token or 1)
    hidden = arch.hidden_size or 0
    # `modular` kernels ask for max(2 W, H) + max(W, H) (`workspace_shapes` of `TritonExperts`,
    # `MarlinExperts` and `DeepGemmExperts`, 0.18 to 0.30).
    return routed * (max(2 * width, hidden) + (max(width, hidden) if modular else width))
