"""Peak of temporary tensors that vLLM measures at start-up.

max(forward, sampler), plus what stays allocated beside both. Checked on published logs; see
data/SOURCES.md, "Serving engines".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import GIB
from gpusizer.memory.engines.base import Placement, Split
from gpusizer.memory.engines.vllm.eras import Era
from gpusizer.memory.engines.vllm.version_defaults import BatchLimits
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part

_WIDE = 2
_F32 = 4
# FP32 copies of the logits that sampling holds at its peak, hidden states of a step that stay
# meanwhile, in copies, and bytes of a batch's metadata and workspaces of any model beside them:
# where PyTorch sorts (vllm/v1/sample/ops/topk_topp_sampler.py), and where FlashInfer or, since pull
# request 33538, a kernel in Triton does it without sorting.
_SORTING = (9.6, 0.8, 0.0)
_NOT_SORTING = (3.5, 1.5, 0.08 * GIB)
_IN_FP32 = ("f32", "fp32", "float32")
_FLASHINFER = "flashinfer"
_EMBEDS = ("feature-extraction", "sentence-similarity")
_HIDDEN_COPIES = 3  # of a step's hidden states at the widest point, five where ranks sum them
_HIDDEN_COPIES_TOGETHER = 5
_CHUNK_TOKENS = 32 * 1024  # of gathered ranks that the experts compute at once
_MLP_COPIES = 3  # gate, up and their product
_ENCODER_COPIES = 2  # embeddings of the encoder's budget: its output and the cached ones
_UNBOUNDED = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")
_LARGEST_IMAGE = 16384  # embeddings: 12,845,056 pixels, the largest image of Qwen2-VL's family
_PIXELS = 3 * 32 * 32  # values of the image behind one embedding


@dataclass(frozen=True, slots=True)
class Peak:
    """Bytes of the peak, and the least where nobody said who samples: with FlashInfer."""

    likely: float
    low: float


def peak_of(placement: Placement, arch: Architecture, limits: BatchLimits, era: Era) -> Peak:
    """The peak on the fullest GPU. Models with a cache in FP32 compute in it.

    forward = step tokens x width of a number x (3 x MLP width / TP + 3 x hidden), or the
    experts' workspace instead of the MLP; sampler = copies x 4 x sequences x vocabulary, not
    divided by TP, plus hidden states that stay. Workspace and encoder outputs stay as well.
    """
    profile, split, workload = placement.profile, placement.split, placement.workload
    element = _F32 if workload.kv_dtype in _IN_FP32 else _WIDE
    hidden = float(limits.tokens * element * (arch.hidden_size or 0))
    workspace = _workspace(arch, limits.tokens, split) * element
    forward = _step(arch, hidden, limits.tokens * element, split, era)
    if era.profiles_whole_prompts:
        forward += _encoder_batch(profile, limits.sequences)
    persistent = 0.0
    if arch.generates and not workload.text_only:
        persistent = _encoder(profile, arch, limits.tokens)
    if era.keeps_workspace and limits.samples and not _streams_experts(profile):
        persistent += workspace
    else:
        forward += workspace
    if not arch.generates or not limits.samples or is_pooled(profile):
        return Peak(forward + persistent, forward + persistent)
    logits = _F32 * limits.sequences * (arch.vocab_size or 0)

    def while_sampling(copies: float, kept_states: float, beside: float) -> float:
        return max(forward, copies * logits + kept_states * hidden + beside) + persistent

    likely = _SORTING if era.sorts and workload.sampler != _FLASHINFER else _NOT_SORTING
    low = likely if workload.sampler != "auto" or era.profiles_whole_prompts else _NOT_SORTING
    return Peak(while_sampling(*likely), while_sampling(*low))


def is_pooled(profile: ModelProfile) -> bool:
    """Whether vLLM serves the model for embeddings or scores, and so samples no tokens.

    It does for repositories of Sentence Transformers (`_get_default_runner_type`).
    """
    return profile.library == "sentence-transformers" or profile.pipeline_tag in _EMBEDS


def _step(arch: Architecture, hidden: float, numbers: int, split: Split, era: Era) -> float:
    """Hidden states of a step and, in a dense model, its MLP; `numbers` is a column's bytes."""
    together = era.profiles_whole_prompts and split.tensor > 1
    states = hidden * (_HIDDEN_COPIES_TOGETHER if together else _HIDDEN_COPIES)
    if arch.experts:
        return states
    return states + numbers * _MLP_COPIES * (arch.intermediate_size or 0) / split.tensor


def _workspace(arch: Architecture, tokens: int, split: Split) -> float:
    """Elements of the fused experts' buffers: tokens x experts each x (max(2 W, H) + W).

    W is the experts' width over TP. (vllm/model_executor/layers/fused_moe, intermediate caches)
    With expert parallelism it is whole, and the tokens of all data-parallel ranks are gathered
    and computed in chunks (VLLM_FUSED_MOE_CHUNK_SIZE).
    """
    if not arch.experts:
        return 0.0
    whole = split.expert > 1
    width = (arch.expert_width or arch.intermediate_size or 0) / (1 if whole else split.tensor)
    tokens = min(tokens * split.data, max(tokens, _CHUNK_TOKENS))
    routed = tokens * (arch.experts_per_token or 1)
    return routed * (max(2 * width, arch.hidden_size or 0) + width)


def _streams_experts(profile: ModelProfile) -> bool:
    """Whether experts run MXFP4 kernels, which allocate and free their buffers per call."""
    return profile.quantization is not None and profile.quantization.method == "mxfp4"


def _encoder_batch(profile: ModelProfile, sequences: int) -> float:
    """An encoder's states for a full batch, which V0 ran beside the decoder's step.

    Three copies of sequences x positions x width, in 16 bits (Whisper).
    """
    positions = (
        group.elements
        for group in profile.groups
        if group.part is Part.ENCODER and group.kind is Kind.POSITION
    )
    return 3.0 * _WIDE * sequences * sum(positions)


def _encoder(profile: ModelProfile, arch: Architecture, tokens: int) -> float:
    """Images of one step's budget and their embeddings, held while the decoder is measured."""
    if not any(group.part is Part.VISION for group in profile.groups):
        return 0.0
    if arch.model_type.startswith(_UNBOUNDED):
        tokens = max(tokens, _LARGEST_IMAGE)
    return tokens * _WIDE * (_ENCODER_COPIES * (arch.hidden_size or 0) + _PIXELS)
