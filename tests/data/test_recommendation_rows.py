"""Published recommendations: every row is complete, has an address, and names what is known."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bench.measurements import Row, load
from bench.recommended_setups import (
    ANY,
    FILE,
    HOME,
    MANY,
    PICTURE,
    TUNE,
    WORKSTATION,
    Suggestion,
    card_classes,
)
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.gpus import load_catalogue
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.memory.quants.table import all_quants
from scrapers.cache.stored import EmbeddedSnapshots

ROWS = load([FILE])
EMBEDDED = frozenset(EmbeddedSnapshots(SNAPSHOTS_DIR).ids())
REQUIRED = ("id", "source", "source_url", "date", "author", "model", "use", "strength")
FIELDS = {*REQUIRED, "kind", "asked_as", "model_basis", "constraint", "recommended"}
CHOICES = {
    "kind": {"recommendation"},
    "author": {"vendor", "maintainer", "practitioner"},
    "model_basis": {"size", "same_shapes"},
    "use": {HOME, WORKSTATION, MANY, TUNE, PICTURE},
    "strength": {"the usual", "one option", "minimum"},
}
CONSTRAINTS = {"gpu", "budget_usd", "ram_gb", "segment", "users", "latency", "method"}
ENGINES = {"server", "gguf", "mlx", ANY}
LONGEST_TEXT = 200  # characters; prose of others is not carried over


def texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []


def test_ids_are_unique() -> None:
    assert [name for name, n in Counter(row["id"] for row in ROWS).items() if n > 1] == []


@pytest.mark.parametrize("row", ROWS)
def test_a_row_states_facts_with_an_address(row: Row) -> None:
    assert set(row) <= FIELDS
    assert all(row[name] for name in (*REQUIRED, "recommended"))
    assert re.fullmatch(r"https?://[\w.-]+/\S+", row["source_url"])
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", row["date"])
    for name, allowed in CHOICES.items():
        assert row.get(name, next(iter(allowed))) in allowed, name
    assert all(len(text) < LONGEST_TEXT and "\n" not in text for text in texts(row))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_can_be_asked_offline(row: Row) -> None:
    """A model has a snapshot; if it has none, another is asked about in its place."""
    assert is_repo_id(row["model"])
    assert (row["model"] in EMBEDDED) != ("asked_as" in row)
    assert row.get("asked_as", row["model"]) in EMBEDDED
    constraint = row.get("constraint", {})
    assert set(constraint) <= CONSTRAINTS and "" not in constraint.values()
    assert ("method" in constraint) == (row["use"] == TUNE)


PRECISIONS = {
    word for quant in all_quants() for word in Suggestion("", "", 1, quant.slug).precision
}


@pytest.mark.parametrize("row", ROWS)
def test_a_set_up_has_known_words(row: Row) -> None:
    for option in row["recommended"]:
        assert set(option) == {"classes", "boards", "precision", "engine"}
        assert all(option.values())
        low, high = option["boards"]
        assert 1 <= low <= high <= 16
        assert set(option["precision"]) <= PRECISIONS | {ANY}
        assert set(option["engine"]) <= ENGINES
        for name in option["classes"]:
            assert name in card_classes() or re.fullmatch(r"mac:\d+", name)


def test_classes_hold_cards_of_the_catalogue_each_once() -> None:
    slugs = [slug for kind in card_classes().values() for slug in kind.slugs]
    assert [slug for slug, n in Counter(slugs).items() if n > 1] == []
    assert set(slugs) <= {gpu.slug for gpu in load_catalogue().gpus}
    titles = [kind.title for kind in card_classes().values()]
    assert all(titles) and len(set(titles)) == len(titles)
