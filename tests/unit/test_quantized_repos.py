"""The listing of quantized repositories in a report, which is made on request only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.answers.report import Report
from gpusizer.answers.sizer import Sizer
from gpusizer.cli.tables import report_text
from gpusizer.core.errors import HubRateLimited, InvalidRequest
from gpusizer.gpus import load_catalogue
from gpusizer.hub.quantized_repos import QuantizedRepo
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import say_note
from tests.asking import size as sized
from tests.builders import tiny

REPO = QuantizedRepo("a/model-AWQ", "awq", 12, 3, 4096)


def size(repo: RepoSnapshot, listings: list[Any], **fields: Any) -> Report:
    """Build a report whose listing is REPO; each call of the lister is appended to `listings`."""

    def lister(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        listings.append((repo_id, sizes))
        return (REPO,)

    request = {"model": "org/model", "quant": "native", "gpu": "rtx-4090-24gb", **fields}
    return sized(Sizer(lambda ref: repo, load_catalogue(), lister), request)


def test_quantized_repositories_are_listed_only_on_request() -> None:
    listings: list[Any] = []
    assert "quantized_repos" not in size(tiny(), listings).to_json(say_note)
    assert listings == []
    report = size(tiny(), listings, quantized_repos="list")
    assert report.to_json(say_note)["quantized_repos"] == [
        {
            "repo_id": "a/model-AWQ",
            "format": "awq",
            "downloads": 12,
            "likes": 3,
            "weight_bytes": 4096,
        }
    ]
    size(tiny(), listings, quantized_repos="sizes")
    assert listings == [("org/model", False), ("org/model", True)]


def test_the_shell_shows_it() -> None:
    shown = report_text(size(tiny(), [], quantized_repos="list"))
    assert "a/model-AWQ" in shown.splitlines()[-1]


def test_a_quantization_lists_its_siblings() -> None:
    listings: list[Any] = []
    quantized = replace(tiny(), base_models=("org/original",), base_relation="quantized")
    size(quantized, listings, quantized_repos="list")
    tuned = replace(tiny(), base_models=("org/original",), base_relation="finetune")
    size(tuned, listings, quantized_repos="list")
    assert listings == [("org/original", False), ("org/model", False)]


def test_a_failing_listing_does_not_lose_the_answer() -> None:
    def refuse(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        raise HubRateLimited(repo_id=repo_id, retry_after_seconds=9.0)

    request = {"model": "org/model", "quant": "native", "quantized_repos": "list"}
    report = sized(Sizer(lambda ref: tiny(), load_catalogue(), refuse), request)
    assert report.estimates
    assert report.quantized_repos == ()
    assert "hub_rate_limited" in say_note(report.notes[-1])


def test_other_values_of_quantized_repos_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="quantized_repos"):
        size(tiny(), [], quantized_repos="yes")
