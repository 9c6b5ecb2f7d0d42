"""ModelUse: how old a model is and how much it is used, and the levels that models are ordered by.

Both levels are coarse on purpose. Counts of downloads differ by their publisher's tests and
mirrors, and two models of one spring are equally new: within a level the larger model comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.hub.listed_models import ListedModel

_FILE = "model_use.csv"
COLUMNS = ("repo_id", "created", "downloads", "likes", "as_of", "source")

MONTHS_OF_AGES = (12, 24)
"""A model is recent below the first number of months, of last year below the second, else old."""
DOWNLOADS_OF_LEVELS = (1_000_000, 100_000, 10_000)
"""Downloads in 30 days, at least: of much used, used and little used models."""
LIKES_OF_LEVELS = (1_000, 300, 100)
"""Likes that count as much. Large models are downloaded by few, and liked by many."""
TRENDING = 50
"""Models that trend most on the Hub, which count as much used."""
UNKNOWN_AGE = len(MONTHS_OF_AGES) + 1


@dataclass(frozen=True, slots=True)
class ModelUse:
    """How much one repository is used; what is not known is None.

    Attributes:
        created: the day its repository was made on the Hub.
        downloads: in the 30 days before `as_of`.
        trending_score, trending_place: the Hub's measure of what is looked at now, and the place in
            its listing by it, from 1; known of a live listing alone.
        as_of: the day of these figures.
        source: address that they were read from.
    """

    created: date | None
    downloads: int | None
    likes: int | None
    as_of: date | None
    source: str
    trending_score: float | None = None
    trending_place: int | None = None

    def updated(self, listed: ListedModel, place: int, as_of: date, source: str) -> ModelUse:
        """These figures, replaced by those that a live listing states."""
        return ModelUse(
            created=listed.created or self.created,
            downloads=self.downloads if listed.downloads is None else listed.downloads,
            likes=self.likes if listed.likes is None else listed.likes,
            as_of=as_of,
            source=source,
            trending_score=listed.trending_score,
            trending_place=place,
        )


UNKNOWN_USE = ModelUse(None, None, None, None, "")
Uses = Mapping[str, ModelUse]
"""By ID of the repository, in lower case."""


def embedded_use(folder: Path = GENERATED_DIR) -> dict[str, ModelUse]:
    """Read the embedded figures. Raises MalformedTable."""
    return dict(read_table(folder / _FILE, _use, COLUMNS))


def _use(row: TableRow) -> tuple[str, ModelUse]:
    as_of = row.parsed("as_of", date.fromisoformat)
    use = row.record(ModelUse, as_of=as_of, trending_score=None, trending_place=None)
    return row.text("repo_id").casefold(), use


def latest_day(uses: Iterable[ModelUse]) -> date | None:
    """The day of the newest figures."""
    return max((use.as_of for use in uses if use.as_of is not None), default=None)


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of what is known, None where nothing is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def age_level(created: date | None, today: date) -> int:
    """0 for a recent model, 1 for one of last year, 2 for an old one, UNKNOWN_AGE without a date.

    >>> age_level(date(2026, 4, 15), date(2026, 10, 5))
    0
    """
    if created is None:
        return UNKNOWN_AGE
    return sum(months_of(created, today) >= limit for limit in MONTHS_OF_AGES)


def months_of(created: date | None, today: date) -> int:
    """Whole months since a day, 0 for an unknown one."""
    if created is None:
        return 0
    months = (today.year - created.year) * 12 + today.month - created.month
    return months - (today.day < created.day)


def use_level(downloads: int | None, likes: int | None, trending_place: int | None = None) -> int:
    """0 for much used models, 3 for those that are hardly used or of which nothing is known.

    >>> use_level(416_888, 5_623)
    0
    """
    if trending_place is not None and trending_place <= TRENDING:
        return 0
    return min(
        sum((downloads or 0) < limit for limit in DOWNLOADS_OF_LEVELS),
        sum((likes or 0) < limit for limit in LIKES_OF_LEVELS),
    )
