"""The order of families, figures of use, the Hub's listing of now, licences, and copies."""

from __future__ import annotations

from datetime import date
from html import escape
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.cli.details import details_text
from gpusizer.core.errors import HubRateLimited, HubUnreachable
from gpusizer.hub.listed_models import ListedModel, Listing
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.presenters.models_for import columns, copies_html, models_for_html
from gpusizer.ui.presenters.pieces.grid import grid_value
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.models_for.live_use import (
    ModelUse,
    age_level,
    embedded_use,
    total,
    use_level,
)
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor
from gpusizer.usecases.models_for.ordering import FamilyUse
from gpusizer.usecases.sizer import Sizer
from tests.asking import models_for
from tests.documents import written
from tests.sizers import embedded_sizer

TODAY = date(2026, 11, 20)
LISTED = ListedModel("org/new-7B", date(2026, 11, 1), 10, 20, 99.5, "text-generation", 7 * 10**9)


def ask(listing: Listing | Exception | None = None, **fields: Any) -> ModelsFor:
    """Return an answer from the embedded models, with a listing in place of the Hub's."""

    def trending() -> Listing:
        if isinstance(listing, Listing):
            return listing
        raise listing or HubUnreachable(repo_id="models", reason="offline")

    base = embedded_sizer()
    library = ModelLibrary(None, lambda: base.library.uses, trending)
    library.candidates = base.library.candidates  # profiled once for all tests
    sizer = Sizer(base.fetch, base.catalogue, library=library, new_budget=base.new_budget)
    return models_for(sizer, {"gpu": "4090", **fields})


def ids(answer: ModelsFor) -> list[str]:
    return [row.runs.profile.repo_id for row in answer.rows]


def test_a_newcomer_with_24_gb_gets_models_of_this_year() -> None:
    """The first ten surely fit, are of the last twelve months, much used, each a family."""
    data = written(ask(top=10))
    assert [row["verdict"] for row in data["models"]] == ["fits"] * 10
    assert all(row["family"]["created"] >= "2025-10-05" for row in data["models"])
    assert all(row["family"]["downloads"] >= 1_000_000 for row in data["models"])
    assert len({row["family"]["name"] for row in data["models"]}) == 10
    sizes = [row["parameters"] for row in data["models"]]
    assert sizes == sorted(sizes, reverse=True)
    assert data["models"][0]["repo_id"] == "Qwen/Qwen3.6-35B-A3B"
    assert [copy["repo_id"] for copy in data["models"][0]["copies"]] == ["Qwen/Qwen3.6-35B-A3B-FP8"]
    assert data["use"] == {"live": False, "as_of": "2026-10-05", "source": None}


def test_order_goes_by_verdict_age_use_and_size() -> None:
    answer = ask(top=0)
    today = answer.now.today
    keys = [
        (
            family.head.verdict.place,
            age_level(family.use.created, today),
            use_level(family.use.downloads, family.use.likes),
            -family.head.profile.parameters,
        )
        for family in answer.families
    ]
    assert all(before <= after for before, after in pairwise(keys))
    assert len({key[1] for key in keys}) == 4, "recent, last year, old and unknown ones all run"


@pytest.mark.parametrize(
    "created, level",
    [
        (date(2026, 11, 20), 0),
        (date(2025, 11, 21), 0),
        (date(2025, 11, 20), 1),
        (date(2024, 11, 21), 1),
        (date(2024, 11, 20), 2),
        (date(2022, 3, 2), 2),
        (None, 3),
    ],
)
def test_ages(created: date | None, level: int) -> None:
    assert age_level(created, TODAY) == level


@pytest.mark.parametrize(
    "downloads, likes, place, level",
    [
        (1_000_000, 0, None, 0),
        (999_999, 0, None, 1),
        (0, 1_000, None, 0),
        (99_999, 299, None, 2),
        (9_999, 99, None, 3),
        (None, None, None, 3),
        (None, 300, None, 1),
        (0, 0, 50, 0),
        (0, 0, 51, 3),
    ],
)
def test_levels_of_use(
    downloads: int | None, likes: int | None, place: int | None, level: int
) -> None:
    assert use_level(downloads, likes, place) == level


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.integers(0, 10**9))
def test_more_use_never_comes_later(downloads: int, likes: int, more: int) -> None:
    assert use_level(downloads + more, likes) <= use_level(downloads, likes)
    assert use_level(downloads, likes + more) <= use_level(downloads, likes)
    assert use_level(downloads, likes, 1) == 0


def test_the_age_of_a_family_is_that_of_its_originals() -> None:
    """A copy of this year does not make a model of 2024 recent; without originals it counts."""
    members = [
        candidate.member
        for candidate in embedded_sizer().library.candidates
        if candidate.member.stem == "llama-3.3-70b"
    ]
    uses = {
        item.repo_id.casefold(): ModelUse(
            date(2026, 6, 1) if item.kind == "quantized" else date(2024, 11, 26), 5, None, TODAY, ""
        )
        for item in members
    }
    family = FamilyUse.from_members(members, uses)
    assert (family.created, family.downloads, family.likes) == (date(2024, 11, 26), 20, None)
    copies = [item for item in members if item.kind == "quantized"]
    assert FamilyUse.from_members(copies, uses).created == date(2026, 6, 1)
    assert total([None, None]) is None


def test_the_listing_orders_counts_and_names_what_is_not_stored() -> None:
    """One listing: a stored model of last year trends, an unknown one is named, a copy is not."""
    listing = Listing(
        (
            LISTED,
            ListedModel("ibm-granite/granite-4.0-tiny-preview", None, 7, 8, 90.0),
            ListedModel("someone/Qwen3-8B-GGUF", base_relation="quantized"),
            ListedModel(
                "someone/my-quant",
                base_relation="quantized",
                base_models=("org/not-stored",),
            ),
        ),
        TODAY,
    )
    now = ask(listing, live="true", top=0)
    data = written(now)
    assert data["use"] == {
        "live": True,
        "as_of": "2026-11-20",
        "source": "https://huggingface.co/models?sort=trending",
    }
    assert [model["repo_id"] for model in data["trending"]] == ["org/new-7B"]
    assert data["trending"][0]["parameters"] == 7 * 10**9
    rows = {row["repo_id"]: row for row in data["models"]}
    granite = rows["ibm-granite/granite-4.0-tiny-preview"]
    assert (granite["downloads"], granite["likes"], granite["trending_score"]) == (7, 8, 90.0)
    assert granite["created"] == "2025-04-30", "what the listing leaves out stays"
    assert granite["family"]["trending_place"] == 2
    assert rows["Qwen/Qwen3-8B"]["family"]["trending_place"] == 3, "by a copy that trends"
    assert rows["Qwen/Qwen3-8B"]["use_as_of"] == "2026-10-05"
    before = ids(ask(top=0)).index("ibm-granite/granite-4.0-tiny-preview")
    assert ids(now).index("ibm-granite/granite-4.0-tiny-preview") < before


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HubRateLimited(repo_id="models", retry_after_seconds=280), "use_rate_limited"),
        (HubUnreachable(repo_id="models", reason="offline"), "use_offline"),
        (HubUnreachable(repo_id="models", reason="timeout"), "use_not_live"),
    ],
)
def test_without_the_hub_the_embedded_figures_count_and_it_is_said(
    error: Exception, code: str
) -> None:
    live, embedded = ask(error, live=True), ask()
    assert ids(live) == ids(embedded)
    (note,) = (note for note in live.notes if note.code == code)
    assert note.fields["date"] == "2026-10-05"
    assert written(live)["use"]["live"] is False
    for language in LANGUAGES:
        assert "2026-10-05" in say_note(note, language)


def test_licences_filter() -> None:
    answer = ask(license="MIT, Apache-2.0", top=0)
    licenses = {runs.profile.license for runs in answer.found}
    assert licenses == {"mit", "apache-2.0"}
    (note,) = (note for note in answer.notes if note.code == "license_unknown")
    assert note.fields["count"] == 25
    assert ids(ask(licence="mit")) == ids(ask(license=["mit"]))
    unknown = ask(license="unknown", top=0)
    assert {runs.profile.license for runs in unknown.found} <= {None, "unknown"}
    assert "license_unknown" not in {note.code for note in unknown.notes}
    assert ask(license="no such licence").rows == ()


def test_filters_hold_for_what_trends_as_well() -> None:
    speech = ListedModel("org/voice", pipeline_tag="text-to-speech", license="mit")
    listing = Listing((LISTED, speech), TODAY)
    for fields, named in (
        ({"model_task": "speech"}, ["org/voice"]),
        ({"model_task": "text"}, ["org/new-7B"]),
        ({"license": "mit"}, ["org/voice"]),
        ({"license": "unknown"}, ["org/new-7B"]),
    ):
        newcomers = ask(listing, live=True, **fields).newcomers
        assert [model.repo_id for model in newcomers] == named
    many = Listing(tuple(ListedModel(f"org/m{n}") for n in range(40)), TODAY)
    assert [model.repo_id for model in ask(many, live=True).newcomers] == [
        f"org/m{n}" for n in range(10)
    ]


def test_without_folding_every_repository_has_a_row() -> None:
    flat = ask(fold="false", top=0)
    assert len(flat.rows) == len(flat.found) == len(ask(top=0).found)
    assert all(family.copies == () for family in flat.families)
    named = ask(models=["Qwen/Qwen3-30B-A3B-FP8", "Qwen/Qwen3-30B-A3B"])
    assert len(named.rows) == 2, "who names two models gets two rows"


def test_of_a_family_the_repository_that_most_run_is_shown() -> None:
    rows = {row["family"]["name"]: row for row in written(ask(top=0))["models"]}
    assert rows["llama-3.1-8b"]["repo_id"] == "meta-llama/Llama-3.1-8B-Instruct"
    kinds = [copy["kind"] for copy in rows["llama-3.1-8b"]["copies"]]
    assert kinds == ["plain", *["quantized"] * 6]
    assert rows["llama-3.1-8b"]["family"]["repositories"] == 8
    assert rows["qwen3-30b-a3b"]["repo_id"] == "Qwen/Qwen3-30B-A3B-Instruct-2507"


HOSTILE = '"><img src=x onerror=alert(1)>\u202e\x1b[31m'


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_escapes_what_the_hub_says(language: Any) -> None:
    listed = ListedModel(f"org/{HOSTILE}", pipeline_tag=HOSTILE, license=HOSTILE)
    answer = ask(Listing((listed,), TODAY), live=True, top=60)
    words = Words(language)
    shown = str(models_for_html(answer, words)) + str(copies_html(answer, words))
    assert "<img" not in shown
    assert escape("<img src=x onerror=alert(1)>") in shown
    assert "Qwen/Qwen3.6-35B-A3B-FP8" in shown
    rows = grid_value(columns(""), answer.rows, words)
    assert len(rows["data"]) == len(answer.rows)
    assert "\x1b" not in details_text(written(answer), copies=True)


def test_embedded_figures_are_of_embedded_models_and_plausible() -> None:
    """Every row names an embedded model, has a source, and no date after its own day."""
    stored = {c.profile.repo_id.casefold() for c in embedded_sizer().library.candidates}
    uses = embedded_use()
    assert uses.keys() <= stored
    assert len(uses) >= 190
    for use in uses.values():
        assert use.as_of is not None
        assert use.created is None or date(2022, 3, 2) <= use.created <= use.as_of
        assert use.downloads is None or use.downloads >= 0
        assert use.source.startswith("https://")
