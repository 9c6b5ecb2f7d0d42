"""Activations that the forward pass keeps for the backward pass, counted from the matrices.

Autograd keeps what derivatives need: of a matrix its input, but only if the matrix (or an
adapter beside it) is trained; of attention queries, keys, values and the output; of SiLU and of
the product with the gate both operands; of a norm its input. The counting follows Korthikanti et
al. 2022 (arXiv:2205.05198), taken apart for gated MLPs, grouped keys, frozen weights and eager
norms.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.training.adapters import targeted
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import Matrix, TrainedShape, is_gated
from gpusizer.training.stacks import TrainingStack

_FP32 = 4
# Bytes of a score of eager attention (transformers' eager_attention_forward): kept are the FP32
# softmax and its 16-bit cast, or FP32 ones before and after dropout with its mask; one layer also
# has the scores themselves and the gradients of all of these.
_KEPT_SCORE_BYTES = {2: 4 + 2, 4: 4 + 4 + 1}
_SCORE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes of activations stored for one token, in all layers together."""

    norms: float
    inputs: float
    attention: float
    mlp: float
    adapters: float
    scores: float  # per token and earlier token, if attention holds its scores
    working_scores: float  # bytes that the backward pass has beside them, for all layers at once
    working: float
    products: float

    def per_token(self, sequence: int) -> float:
        """Return bytes of one token in a sequence of this length."""
        parts = self.norms + self.inputs + self.attention + self.mlp + self.adapters
        return parts + self.scores * sequence

    def working_per_token(self, sequence: int) -> float:
        """Return bytes of one token that only the backward pass has, of all layers together."""
        return self.working + self.working_scores * sequence


def kept_by_token(
    shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack, *, quantized: bool = False
) -> Kept:
    """Return bytes kept for a token without checkpointing, before any division over GPUs.

    `quantized`: the frozen matrices are quantized; some kernels copy their inputs.
    """
    copied = stack.quantized_input_bytes if quantized else 0
    text = [matrix for matrix in shape.matrices if not matrix.tower]
    attention = [matrix for matrix in text if matrix.attention]
    mlp = [matrix for matrix in text if not matrix.attention]
    scores = _scores(shape, plan, attention)
    return Kept(
        norms=_norms(shape, plan, stack),
        inputs=_inputs(shape, plan, copied, attention, mlp),
        attention=_attention(shape, plan, stack, attention),
        mlp=_mlp(plan, stack, mlp),
        adapters=_adapters(shape, plan, stack),
        scores=_KEPT_SCORE_BYTES[plan.compute_bytes] * scores,
        working_scores=(_SCORE_BYTES - _KEPT_SCORE_BYTES[plan.compute_bytes]) * scores,
        working=_working(plan, mlp),
        products=_products(shape, plan, attention, text),
    )


def _norms(shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack) -> float:
    # The input of each norm; eager RMSNorms keep it in FP32, trained ones also the result.
    width = plan.compute_bytes
    if shape.fused_norms or plan.compiled or not stack.eager_norms:
        return shape.norm_widths * width
    trained = 0 if plan.adapted else width
    return shape.norm_widths * (_FP32 + trained)


def _inputs(
    shape: TrainedShape,
    plan: TrainingPlan,
    copied: int,
    attention: list[Matrix],
    mlp: list[Matrix],
) -> float:
    # Inputs are shared by all trained matrices that start from one; `copied` is bytes of other
    # copies.
    if not plan.adapted:
        return (_blocks(attention) + _blocks(mlp)) * shape.hidden * plan.compute_bytes
    joined = [m for m in mlp if not m.last] + [m for m in (*attention, *mlp) if m.last]
    inputs = sum(matrix.in_width * matrix.used for matrix in joined)
    return copied * (inputs + shape.hidden * _blocks(attention))


def _blocks(matrices: list[Matrix]) -> float:
    # Passes of a token through blocks of one kind, counted by their output matrices.
    return sum(matrix.used for matrix in matrices if matrix.last)


def _attention(
    shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack, matrices: list[Matrix]
) -> float:
    # Queries, keys, values and the output.
    queries = sum(matrix.in_width * matrix.used for matrix in matrices if matrix.last)
    keys = shape.key_width * _blocks(matrices)
    if stack.repeat_keys and not plan.compiled:
        keys = max(keys, queries)
    return plan.compute_bytes * (2 * queries + 2 * keys)


def _mlp(plan: TrainingPlan, stack: TrainingStack, matrices: list[Matrix]) -> float:
    # Results of the first matrices, of the activation function, and their product.
    inner = sum(matrix.in_width * matrix.used for matrix in matrices if matrix.last)
    outs = sum(matrix.out_width * matrix.used for matrix in matrices if not matrix.last)
    elements = outs
    if is_gated(outs, inner) and not plan.compiled and not stack.adapter_kernels:
        elements += inner
    if not plan.adapted or stack.frozen_inputs:
        elements += inner
    return plan.compute_bytes * elements


def _adapters(shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack) -> float:
    if not plan.adapted:
        return 0.0
    chosen = targeted(shape, plan.lora_targets, plan.adapters_on_towers)
    matrices = tuple(matrix for matrix in chosen if not matrix.tower)
    # FP32 adapters cast their inputs, each for itself; dropout copies them too.
    own = stack.adapter_bytes > plan.compute_bytes or stack.adapter_dropout
    own = own and not stack.adapter_kernels
    width = max(stack.adapter_bytes, plan.compute_bytes)
    mask = 1 if stack.adapter_dropout else 0
    if own:
        inputs = sum((width + mask) * matrix.in_width * matrix.used for matrix in matrices)
    else:
        inputs = _shared_inputs(matrices, plan)
    inner = sum(width * plan.lora_rank * matrix.used for matrix in matrices)
    dora = 0.0
    if plan.method == "dora":  # the result before its direction is rescaled, and the rescaled one
        dora = sum(2 * plan.compute_bytes * matrix.out_width * matrix.used for matrix in matrices)
    return inputs + inner + dora


def _shared_inputs(matrices: tuple[Matrix, ...], plan: TrainingPlan) -> float:
    # One copy for all adapters that start from the same input.
    starts: dict[tuple[bool, bool, int], float] = {}
    for matrix in matrices:
        if matrix.attention and matrix.last:
            continue  # attention keeps its own output
        key = (matrix.attention, matrix.last, matrix.in_width)
        starts[key] = max(starts.get(key, 0.0), matrix.in_width * matrix.used)
    return plan.compute_bytes * sum(starts.values())


def _scores(shape: TrainedShape, plan: TrainingPlan, matrices: list[Matrix]) -> float:
    # Scores of a token with each earlier one, in all heads and layers, if they are held. Attention
    # over a divided sequence, ring or Ulysses, is always computed by flash kernels.
    masked = shape.masked_attention and not plan.packed
    eager = not plan.flash_attention or shape.own_attention or masked
    if not eager or plan.context_parallel > 1:
        return 0.0
    return shape.heads * _blocks(matrices)


def _working(plan: TrainingPlan, matrices: list[Matrix]) -> float:
    """Return bytes of gradients that exist at once in the backward pass of one MLP."""
    inner = sum(matrix.in_width * matrix.used for matrix in matrices if matrix.last)
    return plan.compute_bytes * 2 * inner


def _products(
    shape: TrainedShape, plan: TrainingPlan, attention: list[Matrix], text: list[Matrix]
) -> float:
    """Return bytes that selective checkpointing keeps."""
    # Every second product and the attention output.
    inputs = sum(matrix.in_width * matrix.used for matrix in attention if matrix.last)
    outs = sum(matrix.out_width * matrix.used for matrix in text)
    return plan.compute_bytes * (inputs + outs / 2)
