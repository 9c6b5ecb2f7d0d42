"""Lengths of sequences as a request states them, and what they leave in the allocator."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.training.plan import TrainingPlan
from gpusizer.usecases.requests.training_request import TrainingRequest
from tests.training_cases import of


def plan_of(**fields: Any) -> TrainingPlan:
    return TrainingRequest.from_fields({"model": "meta-llama/Llama-3.1-8B", **fields}).plan


@pytest.mark.parametrize(
    "lengths, given, resolved, packed, longest",
    [
        ("fixed", None, "fixed", True, 2048),
        ("Spread", 4096, "spread", False, 4096),
        ("512 - 4,096", None, "512-4096", False, 4096),
        ("512–4096", 1024, "512-1024", False, 1024),  # longer ones are cut
        ("512-4096", 8192, "512-4096", False, 4096),  # none is as long as it may be
        ("512-4096", 256, "256-256", True, 256),  # all are cut
        ("900-900", None, "900-900", True, 900),
    ],
)
def test_lengths_settle_packing_and_the_longest_sequence(
    lengths: str, given: int | None, resolved: str, packed: bool, longest: int
) -> None:
    plan = plan_of(lengths=lengths, sequence_length=given)
    assert (plan.lengths, plan.packed, plan.sequence_length) == (resolved, packed, longest)


def test_bounds_count_as_a_sequence_length_that_was_given() -> None:
    request = TrainingRequest.from_fields({"model": "gpt2", "lengths": "512-4096"})
    assert "sequence_length" in request.given
    assert "sequence_length" not in TrainingRequest.from_fields({"lengths": "spread"}).given


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"lengths": "about 500"}, "lengths_form"),
        ({"lengths": "4096-512"}, "lengths_form"),
        ({"lengths": "0-512"}, "lengths_form"),
        ({"lengths": "1-99,999,999"}, "lengths_form"),
        ({"lengths": "-"}, "lengths_form"),
        ({"lengths": ",-,"}, "lengths_form"),
        ({"lengths": 512}, "not_text"),
        ({"lengths": "spread", "packed": True}, "packed_differs"),
        ({"lengths": "512-512", "packed": "false"}, "packed_differs"),
    ],
)
def test_lengths_that_cannot_be_are_refused(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        plan_of(**fields)
    assert (caught.value.fields["field"], caught.value.fields["reason"]) == ("lengths", reason)


def test_words_say_what_packed_says() -> None:
    for word, packed in (("fixed", True), ("spread", False)):
        one, other = plan_of(lengths=word), plan_of(packed=packed)
        assert of().estimate(one) == of().estimate(other)
    assert plan_of(lengths="spread", packed=False).packed is False


def test_between_bounds_many_are_as_long_as_the_longest() -> None:
    """2.0 times logits and layer at 8,192 tokens too, where a spread leaves less by 4 ** 0.2."""
    fields = {"framework": "ms-swift", "sequence_length": 8192}
    spread, bounded = (
        of().estimate(plan_of(lengths=lengths, **fields)) for lengths in ("spread", "4096-8192")
    )
    ratio = bounded.reclaimable.likely / spread.reclaimable.likely
    assert ratio == pytest.approx(4**0.2)
    equal = of().estimate(plan_of(lengths="8192-8192", **fields))
    assert equal.reclaimable.likely == 0


def test_a_short_step_counts_only_where_one_can_come() -> None:
    """Unsloth of 2025 keeps whole logits in steps of at most 1,024 tokens: 6 bytes of each."""
    fields = {"framework": "unsloth", "framework_version": "2025.4.7", "method": "qlora"}
    whole = 1024 * 128_256 * 6
    for lengths, logits in (("1000-2048", whole), ("1025-2048", 0), ("spread", whole)):
        assert of().estimate(plan_of(lengths=lengths, **fields)).logits.likely == logits
