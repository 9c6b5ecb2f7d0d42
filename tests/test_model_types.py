"""Model types of transformers: what is said of the kept ones, and how a comparison judges.

The kept set was measured on the classes themselves (`python -m bench.model_types.build`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.model_types.cases import KEPT_CASES, Case, CaseSet, Truth, read_cases, write_cases
from bench.model_types.comparison import Fault, Verdict, right_of, verdict_on
from bench.model_types.report import report_of
from tests.builders import Config, tiny

KEPT = (608, 604)
"""Cases of the kept set, and those answered rightly."""
_LARGEST_SET = 10**6  # bytes

# Four layers of two heads of 64 keys and values: 256 elements of a token.
TINY = tiny().components[0]
PARAMETERS = sum(group.elements for group in TINY.tensors)
TRUTH = Truth(PARAMETERS, 0, PARAMETERS, keeps=True, cache=((4, 256, None),), state_elements=(0, 0))


def case(truth: Truth = TRUTH, config: Config | None = None) -> Case:
    return Case(
        "llama", "LlamaForCausalLM", {**(TINY.config or {}), **(config or {})}, TINY.tensors, truth
    )


def verdicts_of_kept() -> list[Verdict]:
    return [verdict_on(kept) for kept in read_cases().cases]


def test_model_types_are_read_as_their_classes_keep_them() -> None:
    verdicts = verdicts_of_kept()
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    assert (len(verdicts), len(verdicts) - len(wrong)) == KEPT
    assert not [verdict for verdict in wrong if not verdict.doubts]


def test_the_kept_set_stays_small() -> None:
    assert KEPT_CASES.stat().st_size < _LARGEST_SET


@pytest.mark.parametrize(
    "truth, config, faults",
    [
        (TRUTH, {}, ()),
        (replace(TRUTH, parameters=PARAMETERS - 7, buffers=7), {}, ()),
        (replace(TRUTH, cache=((4, 256, 100),)), {"sliding_window": 100}, ()),
        (replace(TRUTH, cache=None, state_elements=None), {}, ()),
        (replace(TRUTH, active_parameters=None), {}, ()),
        (replace(TRUTH, parameters=PARAMETERS + 1), {}, ("parameters",)),
        (replace(TRUTH, active_parameters=PARAMETERS // 2), {}, ("active_parameters",)),
        (replace(TRUTH, state_elements=(90, 100)), {}, ("state elements",)),
        (replace(TRUTH, keeps=False), {}, ("keeps a cache",)),
        (TRUTH, {"architectures": ["LlamaForSequenceClassification"]}, ("keeps a cache",)),
        (
            replace(TRUTH, cache=((4, 256, 100),)),
            {},
            ("cache elements at 8,192 tokens", "cache elements at 131,072 tokens"),
        ),
        (TRUTH, {"num_hidden_layers": 100_000}, ()),  # the tensors have four
    ],
)
def test_facts_that_differ_are_named(truth: Truth, config: Config, faults: tuple[str, ...]) -> None:
    verdict = verdict_on(case(truth, config))
    assert tuple(fault.fact for fault in verdict.faults) == faults
    assert verdict.is_right is not bool(faults)


def test_a_doubt_is_one_of_the_answer() -> None:
    assert not verdict_on(case()).doubts
    assert verdict_on(case(config={"window_plan": [1, 0]})).doubts
    unread = Case("none", "None", {}, TINY.tensors[:1], TRUTH)
    assert verdict_on(unread).doubts  # without an architecture


def test_an_answer_that_breaks_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("bench.model_types.comparison.build_profile", fail)
    verdict = verdict_on(case())
    assert verdict.faults == (Fault("answer", "one", "ZeroDivisionError"),)
    assert not verdict.doubts


def test_cases_outlive_a_file(tmp_path: Path) -> None:
    second = replace(case(), model_type="a", truth=replace(TRUTH, cache=None, state_elements=None))
    written = CaseSet("5.0.0", (case(), second), {"b": "TypeError: no"})
    write_cases(written, tmp_path / "cases")
    assert read_cases(tmp_path / "cases") == replace(written, cases=(second, case()))


def test_the_report_begins_with_what_misleads() -> None:
    fault = (Fault("parameters", "1", "2"),)
    verdicts = [
        Verdict("right", "A", (), False),
        Verdict("doubted", "B", fault, True),
        Verdict("silent", "C", fault, False),
    ]
    assert right_of(verdicts) == "1 of 3 right, 1 of 2 wrong ones say a doubt"
    hostile = CaseSet("5.0.0", (), {"x": "TypeError: <b>@someone</b> `a`|[b](c)\nand more"})
    text = report_of(hostile, verdicts)
    assert text.startswith("1 of 3 right, 1 of 2 wrong ones say a doubt (transformers 5.0.0;")
    assert text.index("| `silent` | `C` | **none** | parameters: 1 → 2 |") < text.index("doubted")
    assert text.endswith("Not built (1):\n\n- `x`: TypeError:  b  someone /b   a   b (c)\n")
    assert report_of(hostile, verdicts[:1]) == ""


def test_the_report_fits_an_issue() -> None:
    long = Verdict("x" * 50, "Y" * 50, (Fault("parameters", "1", "2"),), False)
    text = report_of(CaseSet("5.0.0", (), {}), [long] * 1_000)
    assert len(text) <= 60_000 and text.endswith("|\n")
