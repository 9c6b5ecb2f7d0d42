"""Bytes of logits: from the last layer to their gradient, by the framework's loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpusizer.core.units import GIB
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.stacks import TrainingStack
from gpusizer.training.state import State

_FP32 = 4
_ELASTIC_BYTES = 2 + 2 + 4  # of a logit in a chunk of Unsloth's compiled loss
# Per token and vocabulary entry of a loss divided over tensor-parallel GPUs: 16-bit logits, and in
# FP32 they, they less their maximum, their exponentials, log-softmax and gradient
# (torch/distributed/tensor/parallel/loss.py, _log_softmax and its backward pass).
_PARALLEL_LOGITS_BYTES = 22
_FUSED_LOGITS_BYTES = 0.5  # per token and vocabulary entry, in Liger's and cut cross-entropy
# Per token and vocabulary entry of a stack that cuts its logits, when it does not: 16-bit ones,
# whose gradient takes their place, and accelerate's FP32 copy
# (unsloth/kernels/cross_entropy_loss.py).
_WHOLE_LOGITS_BYTES = 2 + 4
# Per token and vocabulary entry of a stack with chunks of its own that is set not to cut: FP32
# logits, their shifted copy and log-softmax (torchtune/modules/transformer.py and
# torch.nn.CrossEntropyLoss).
_UNCUT_LOGITS_BYTES = 4 + 4 + 4
# Per token and vocabulary entry at most if a model's code leaves logits in 16 bits: they, their
# shifted copy, and in FP32 autocast's copy of it and log-softmax
# (torch.nn.functional.cross_entropy).
_PLAIN_LOGITS_BYTES = 2 + 2 + 4 + 4


def logits_of_token(
    shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack, state: State
) -> float:
    """Return bytes of one token between the last layer and the gradient of its logits."""
    if not shape.generates or not shape.vocabulary:
        return 0.0
    if plan.fused_loss and not stack.own_chunks:
        return min(_FUSED_LOGITS_BYTES, stack.logits_bytes) * shape.vocabulary
    if plan.tensor_parallel > 1:
        return _PARALLEL_LOGITS_BYTES * shape.vocabulary
    if plan.tokens <= stack.whole_logits_tokens:
        return _WHOLE_LOGITS_BYTES * shape.vocabulary
    if stack.own_chunks and plan.fused_loss is False:
        return _UNCUT_LOGITS_BYTES * shape.vocabulary
    each = stack.compiled_logits_bytes if plan.compiled else stack.logits_bytes
    if stack.upcast_rest and state.quantized:
        each = min(each, stack.quantized_logits_bytes)
    if shape.plain_logits:
        each = min(each, _PLAIN_LOGITS_BYTES)
    return each * shape.vocabulary


@dataclass(frozen=True, slots=True)
class HeadStep:
    """Bytes while a loss in chunks computes the head's gradient: logits and gradient."""

    logits: float = 0.0
    gradient: float = 0.0


def head_step(
    shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack, state: State
) -> HeadStep:
    """Return this moment of full training under a stack with own chunks, else zeros."""
    cut = stack.own_chunks and plan.fused_loss is not False and plan.tensor_parallel == 1
    if not cut or plan.adapted or plan.train_embeddings is False or not shape.generates:
        return HeadStep()
    each = stack.compiled_logits_bytes if plan.compiled else stack.logits_bytes
    width = state.gradients / max(1, state.trainable)
    # Autograd goes back through the chunks before the layers, and adds the head's gradient of each
    # to the sum so far (torch/csrc/autograd/input_buffer.cpp): both are whole. FSDP has one whole,
    # which it scatters as it comes.
    at_once = 1 if plan.sharding == "fsdp" else 2
    return HeadStep(
        logits=min(each, stack.head_logits_bytes) * shape.vocabulary * plan.tokens,
        gradient=at_once * width * shape.vocabulary * shape.hidden,
    )


def kept_outputs(shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack) -> float:
    """Return bytes of a token's 16-bit logits that a pipeline's last stage keeps for the step."""
    kept = stack.keeps_outputs and plan.pipeline_parallel > 1 and shape.generates
    return plan.compute_bytes * shape.vocabulary / plan.tensor_parallel if kept else 0.0


def elastic_chunk(shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack) -> float:
    """Return bytes of one chunk of a loss that takes free memory: logits, gradient, softmax."""
    if not shape.generates or not stack.elastic_gib or plan.fused_loss:
        return 0.0
    # The fewest chunks, in fours, that keep FP32 logits below the limit (unsloth_zoo,
    # fused_losses/cross_entropy_loss.py, get_chunk_size).
    entries = plan.tokens * shape.vocabulary
    chunks = entries * _FP32 / (stack.elastic_gib * GIB)
    return _ELASTIC_BYTES * entries / (4 * math.ceil(chunks / 4) if chunks > 1 else 1)
