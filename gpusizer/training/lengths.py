"""Lengths of sequences, and blocks that varying ones leave in PyTorch's caching allocator."""

from __future__ import annotations

import re

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.core.validation import Refused
from gpusizer.training.activations import Kept
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.stacks import TrainingStack

FIXED, SPREAD = "fixed", "spread"
MOST_TOKENS = 10_000_000  # the longest sequence of a request
_BOUNDS = re.compile(r"([\d,_]{1,14}) *[-–] *([\d,_]{1,14})")

# Blocks that the allocator keeps if every step has another length, as a multiple of the logits and
# one layer of the longest: the median of 36 runs played by the rules of PyTorch's
# c10/cuda/CUDACachingAllocator.cpp (bench.allocator; half of them 1.7 to 3.3), 1.1 to 2.6 measured
# by ms-swift.
LEFT = 2.0
# The band around `LEFT`: eight in ten of ms-swift's 51 runs on one GPU.
_LEFT_LOW, _LEFT_HIGH = 0.6, 3.0
# Tokens beyond which few samples are as long as the cap, and less is left behind: 2.7, 2.4, 1.7 and
# 1.2 times for Qwen-7B and 1.8B at caps of 512, 2,048, 4,096 and 8,192 tokens (ms-swift). Between
# two bounds as many are of the longest as of others, and plays leave no less if they are as near as
# 2,007 and 2,048 tokens (bench.allocator: 1.1 to 2.1 there, 1.5 to 2.7 from 1,536 on).
_MANY_SAMPLES_AS_LONG, _FEWER_BY_LENGTH = 2048, 0.2
# Share of the blocks left behind that the allocator cannot give back before an allocation fails, as
# it releases segments without a live block alone (release_cached_blocks there). 24 plays on the
# smallest device that they run on need that much more than plays of equal lengths: 0.05 in the mean
# (median 0.025), 0.15 at the most in nine of ten (bench.allocator).
_STAYS, _STAYS_AT_MOST = 0.05, 0.15


def read_lengths(text: str) -> str:
    """Read how lengths vary: "fixed", "spread", or bounds as "512-4096". Raise ValueError."""
    text = text.lower()
    if text in (FIXED, SPREAD):
        return text
    match = _BOUNDS.fullmatch(text)
    if match is None:
        raise Refused("lengths_form", text[:40])
    low, high = (int(digits.replace(",", "").replace("_", "") or 0) for digits in match.groups())
    if not 1 <= low <= high <= MOST_TOKENS:
        raise Refused("lengths_form", text[:40])
    return f"{low}-{high}"


def bounds_of(lengths: str | None) -> tuple[int, int] | None:
    """Return the shortest and longest of `read_lengths` in tokens; None without bounds."""
    low, dash, high = (lengths or "").partition("-")
    return (int(low), int(high)) if dash else None


def with_lengths(plan: TrainingPlan, lengths: str, cap: int | None) -> TrainingPlan:
    """Return the plan for sequences of these lengths; longer ones are cut to `cap` tokens."""
    bounds = bounds_of(lengths)
    if bounds is None:
        return plan.changed(lengths=lengths, packed=lengths == FIXED)
    low, high = (min(bound, cap or bound) for bound in bounds)
    return plan.changed(lengths=f"{low}-{high}", packed=low == high, sequence_length=high)


def shortest_of(plan: TrainingPlan) -> int:
    """Return tokens of the shortest sequence that may come."""
    if plan.packed:
        return plan.sequence_length
    bounds = bounds_of(plan.lengths)
    return 1 if bounds is None else bounds[0]


def left_by_lengths(
    kept: Kept, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack, logits: float
) -> Amount:
    """Return bytes of blocks left behind by varying lengths; `logits` of the longest step."""
    if plan.packed is not False or stack.expandable_segments:
        return exactly(0, Provenance.DERIVED)
    # Scores of attention are not counted: a layer's are freed and taken again whole.
    layer = (kept.per_token(0) + kept.working_per_token(0)) / max(1, shape.layers)
    longest = logits + layer * plan.tokens / plan.tensor_parallel
    if bounds_of(plan.lengths) is None:
        beyond = max(1.0, plan.sequence_length / _MANY_SAMPLES_AS_LONG)
        longest /= beyond**_FEWER_BY_LENGTH
    return fitted(_LEFT_LOW * longest, LEFT * longest, _LEFT_HIGH * longest)


def given_back(left: Amount) -> Amount:
    """Return bytes left behind that the allocator gives back when the device is full."""
    return fitted(left.low, (1 - _STAYS) * left.likely, (1 - _STAYS_AT_MOST) * left.high)
