"""Model types of transformers: what is said of the kept ones, and how a comparison judges.

The kept set was measured on the classes themselves (`python -m bench.model_types.build`).
"""

from __future__ import annotations

from bench.model_types.cases import KEPT_CASES, read_cases
from bench.model_types.comparison import Verdict, verdict_on

KEPT = (608, 604)  #
_LARGEST_SET = 10**6  # bytes


def verdicts_of_kept() -> list[Verdict]:
    return [verdict_on(kept) for kept in read_cases().cases]


def test_model_types_are_read_as_their_classes_keep_them() -> None:
    verdicts = verdicts_of_kept()
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    assert (len(verdicts), len(verdicts) - len(wrong)) == KEPT
    assert not [verdict for verdict in wrong if not verdict.doubts]


def test_the_kept_set_stays_small() -> None:
    assert KEPT_CASES.stat().st_size < _LARGEST_SET
