"""The listing of quantized repositories in a report: only when asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.cli.tables import report_text
from gpusizer.errors import HubRateLimited, InvalidRequest
from gpusizer.gpus import load_catalogue
from gpusizer.model_tree import QuantizedRepo
from gpusizer.report import Report
from gpusizer.sizer import Sizer
from gpusizer.snapshot import RepoSnapshot
from gpusizer.text import say_note
from tests.builders import tiny

REPO = QuantizedRepo("a/model-AWQ", "awq", 12, 3, 4096)


def size(repo: RepoSnapshot, asked: list[Any], **fields: Any) -> Report:
    """A report whose listing is REPO; what was listed is noted in `asked`."""

    def lister(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        asked.append((repo_id, sizes))
        return (REPO,)

    request = {"model": "org/model", "quant": "native", "gpu": "rtx-4090-24gb", **fields}
    return Sizer(lambda ref: repo, load_catalogue(), lister).size(request)


def test_only_on_request() -> None:
    asked: list[Any] = []
    assert "quantized_repos" not in size(tiny(), asked).to_json(say_note)
    assert asked == []
    report = size(tiny(), asked, quantized_repos="list")
    assert report.to_json(say_note)["quantized_repos"] == [
        {"repo_id": "a/model-AWQ", "format": "awq", "downloads": 12, "likes": 3,
         "weight_bytes": 4096}
    ]  # fmt: skip
    size(tiny(), asked, quantized_repos="sizes")
    assert asked == [("org/model", False), ("org/model", True)]


def test_the_shell_shows_it() -> None:
    shown = report_text(size(tiny(), [], quantized_repos="list"))
    assert "a/model-AWQ" in shown.splitlines()[-1]


def test_a_quantization_lists_its_siblings() -> None:
    asked: list[Any] = []
    quantized = replace(tiny(), base_models=("org/original",), base_relation="quantized")
    size(quantized, asked, quantized_repos="list")
    tuned = replace(tiny(), base_models=("org/original",), base_relation="finetune")
    size(tuned, asked, quantized_repos="list")
    assert asked == [("org/original", False), ("org/model", False)]


def test_a_failing_listing_does_not_lose_the_answer() -> None:
    def refuse(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        raise HubRateLimited(repo_id=repo_id, retry_after_seconds=9.0)

    request = {"model": "org/model", "quant": "native", "quantized_repos": "list"}
    report = Sizer(lambda ref: tiny(), load_catalogue(), refuse).size(request)
    assert report.estimates
    assert report.quantized_repos == ()
    assert "hub_rate_limited" in say_note(report.notes[-1])


def test_no_other_value() -> None:
    with pytest.raises(InvalidRequest, match="quantized_repos"):
        size(tiny(), [], quantized_repos="yes")
