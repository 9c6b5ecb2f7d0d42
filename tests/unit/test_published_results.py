"""Benchmark results of a repository in answers: shown with who states them, used for nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.cli.details import details_text
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.published_results import PublishedResult
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.asked import FormCall
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.published_results import MOST_SHOWN, published_results_html
from gpusizer.usecases.report import Report
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.documents import written
from tests.hostile import IMAGE, SCRIPT, hostile_snapshot
from tests.pages import Page, inert
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
RESULTS = (
    PublishedResult(benchmark="cais/hle", value=20.9, by="verified", date="2025-01-15"),
    PublishedResult(
        benchmark="LibriSpeech",
        value=8.125,
        by="maker",
        task="clean",
        metric="wer",
        source_name="A board",
        source_url="https://example.org/board",
        notes="with tools",
    ),
    PublishedResult(benchmark="openai/gsm8k", value=86, by="community"),
)
ENGLISH = Words("en")
INLINE = ("br",)


def sizer_with(*results: PublishedResult) -> Sizer:
    """Return a Sizer whose snapshots have these results."""
    sizer = embedded_sizer()

    def fetch(ref: ModelRef) -> RepoSnapshot:
        return replace(sizer.fetch(ref), published_results=results)

    return sizer.reading(fetch)


def report(*results: PublishedResult) -> Report:
    return size(sizer_with(*results), {"model": MODEL, "gpu": "4090"})


def document(*results: PublishedResult) -> dict[str, Any]:
    return written(report(*results))


def test_json_has_what_is_stated() -> None:
    verified, maker, community = document(*RESULTS)["model"]["published_results"]
    assert verified == {
        "benchmark": "cais/hle",
        "value": 20.9,
        "by": "verified",
        "is_verified": True,
        "date": "2025-01-15",
    }
    assert maker == {
        "benchmark": "LibriSpeech",
        "task": "clean",
        "metric": "wer",
        "value": 8.125,
        "by": "maker",
        "is_verified": False,
        "source_name": "A board",
        "source_url": "https://example.org/board",
        "notes": "with tools",
    }
    assert (community["by"], community["is_verified"]) == ("community", False)


def test_nothing_else_of_the_answer_depends_on_them() -> None:
    with_results, without = document(*RESULTS), document()
    assert with_results["model"].pop("published_results")
    assert with_results == without


def test_the_shell_lists_them() -> None:
    text = details_text(document(*RESULTS))
    (row,) = [line for line in text.split("\n") if "LibriSpeech" in line]
    assert row.split() == ["LibriSpeech", "clean", "wer", "8.125", "maker", *row.split()[5:]]
    assert "A board" in row and "with tools" in row
    assert "published results" not in details_text(document())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_who_and_when(language: Language) -> None:
    words = Words(language)
    markup = published_results_html(RESULTS, words)
    text = " ".join(inert(markup, INLINE).text.split())
    for by in ("maker", "verified", "community"):
        assert words(f"results.by.{by}") in text
    assert f"{words('results.by.verified')}, 2025-01-15" in text
    assert words("results.undated") in text
    assert "(clean · wer)" in text and "20" in text


def facts_view(*results: PublishedResult) -> Page:
    """Return the page's view of a model's facts."""
    sizer = sizer_with(*results)
    *_, shown = Handlers(sizer, lambda token: sizer.fetch, "en", ()).ask(FormCall({"model": MODEL}))
    return Page(str(shown["facts"]))


def test_a_closed_fold_among_the_facts() -> None:
    elements = facts_view(*RESULTS).elements
    at = elements.index(("section", {"class": "gs-section", "id": "gs-published-results"}))
    assert elements[at + 1] == ("details", {"class": "gs-details gs-model-card"})
    assert "Published results" not in facts_view().text


def test_hostile_texts_are_escaped() -> None:
    markup = str(published_results_html(hostile_snapshot().published_results, ENGLISH))
    page = inert(markup, INLINE)
    assert SCRIPT in page.text and IMAGE in page.text
    (link,) = [found for tag, found in page.elements if tag == "a"]
    assert link["href"] == f"https://example.org/{IMAGE}" and "nofollow" in str(link["rel"])


def test_a_long_list_is_cut() -> None:
    many = tuple(replace(RESULTS[0], value=float(number)) for number in range(MOST_SHOWN + 7))
    page = inert(published_results_html(many, ENGLISH), INLINE)
    assert sum(tag == "li" for tag, _ in page.elements) == MOST_SHOWN
    assert ENGLISH("results.more", count="7") in page.text
