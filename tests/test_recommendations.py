"""Agreement with published recommendations: what is a set-up, what breaks a rule, what is counted.

`tests/data/test_recommendation_rows.py` is about the rows.
"""

from __future__ import annotations

import pytest

from bench import agreement
from bench.agreement import ALL
from bench.embedded_answers import offline_answers
from bench.recommendations import asked
from bench.recommended_setups import (
    read_recommendations,
)
from gpusizer.ui.server.answer_cache import Answers

H, RTX_3090, RTX_3060 = "h100-sxm-80gb", "rtx-3090-24gb", "rtx-3060-12gb"
B570, PRO_6000 = "arc-b580-12gb", "rtx-pro-6000-blackwell-96gb"


def test_published_counts_are_of_the_rows() -> None:
    """`python -m bench.recommendations --write-docs` after rows were added."""
    wanted = read_recommendations()
    groups = agreement.read().groups
    titles = [agreement.title_of(row) for row in wanted]
    assert list(groups) == [title for title in agreement.titles() if title in {*titles, ALL}]
    for title, counts in groups.items():
        assert counts.rows == (len(wanted) if title == ALL else titles.count(title))
        assert counts.first <= counts.of_three <= counts.rows >= counts.sensible
    for name in ("rows", "first", "of_three", "sensible"):
        parts = [getattr(counts, name) for title, counts in groups.items() if title != ALL]
        assert sum(parts) == getattr(groups[ALL], name)


@pytest.fixture(scope="module")
def answers() -> Answers:
    return offline_answers()


WRITTEN = {
    # What a source says, and whether first row, one of three and all suggestions agree with it.
    "vllm-recipes-18": ("eight H200 for DeepSeek-V3", True, True, True),
    "vllm-recipes-06": ("one B200 in NVFP4 for a 70B", True, True, True),
    "llamafactory-05": ("QLoRA of a 72B on 48 GB", True, True, True),
    "specpicks-01": ("an RTX 3060 for an 8B within $400", True, True, True),
    "vllm-recipes-12": ("NVFP4 on one RTX 5090; here GGUF of six bits", False, False, True),
    "gpuprices-02": ("NF4 or INT8 on an RTX 3060", True, True, True),
    "llamacpp-guide-02": ("MXFP4 on an RX 7900 XT", True, True, True),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_some_rows_come_out_as_written(answers: Answers, name: str) -> None:
    (wanted,) = (row for row in read_recommendations() if row.id == name)
    judged = asked(answers, wanted)
    assert (judged.first, judged.of_three, judged.sensible) == WRITTEN[name][1:], judged.said
