"""data/mirrors.csv: every row names a repository with a source."""

from __future__ import annotations

import csv

from gpusizer.core.paths import DATA_DIR
from gpusizer.hub.model_ref import is_repo_id
from scrapers.completion import mirrors_of

ROWS = list(csv.DictReader((DATA_DIR / "mirrors.csv").read_text("utf-8").splitlines()))


def test_rows_are_repositories_with_a_source() -> None:
    for row in ROWS:
        assert is_repo_id(row["repo"]) and is_repo_id(row["mirror"])
        assert row["repo"] != row["mirror"]
        assert row["source"]


def test_no_copy_is_gated_itself() -> None:
    originals = {row["repo"].casefold() for row in ROWS}
    assert not originals & {row["mirror"].casefold() for row in ROWS}


def test_lookup_ignores_case_and_keeps_the_order() -> None:
    expected = tuple(r["mirror"] for r in ROWS if r["repo"] == "meta-llama/Llama-2-7b-hf")
    assert len(expected) > 1
    assert mirrors_of("Meta-Llama/llama-2-7B-hf") == expected
    assert mirrors_of("org/unknown") == ()
