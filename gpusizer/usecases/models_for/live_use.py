"""Age and use of models: embedded figures, and current ones from one listing of the Hub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from gpusizer.core.errors import HubRateLimited, HubUnreachable, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.fit.requirements import COMFORTABLE_SPEED, READING_SPEED
from gpusizer.hub.listed_models import ListedModel, Listing, ListTrending
from gpusizer.model.tasks import task_of_tag
from gpusizer.usecases.models_for.families import Member, read_name

LIVE_SOURCE = "https://huggingface.co/models?sort=trending"
NEWCOMERS = 10
_NO_DAY = date.min


@dataclass(frozen=True, slots=True)
class UseNow:
    """Figures that decide the order."""

    uses: Uses  # figures by ID in lower case
    live: bool  # whether they include the Hub's current listing
    # Day from which ages count: of the listing, else of the newest embedded figures, or None.
    as_of: date | None
    trending: dict[str, int] = field(default_factory=dict)  # best place in the listing by stem
    # trending models that are not stored and of no stored family
    newcomers: tuple[ListedModel, ...] = ()
    notes: tuple[Note, ...] = ()  # why the Hub's figures are missing although requested

    @property
    def today(self) -> date:
        """Day from which ages count; without any figures no model has an age."""
        return self.as_of or _NO_DAY


def use_now(
    uses: Uses, members: Iterable[Member], trending: ListTrending | None, *, live: bool
) -> UseNow:
    """Return the embedded figures, or with `live` also those that one request to the Hub adds.

    If it fails (offline, rate limit, no answer) the embedded ones stay, with a note.
    """
    embedded = UseNow(uses, live=False, as_of=latest_day(uses.values()))
    if not live:
        return embedded
    try:
        if trending is None:
            raise HubUnreachable(repo_id="models", reason="offline")
        listing = trending()
    except ModelUnreadable as error:
        note = _why_not_live(error, embedded.as_of)
        return UseNow(uses, live=False, as_of=embedded.as_of, notes=(note,))
    return with_listing(uses, tuple(members), listing)


def _why_not_live(error: ModelUnreadable, as_of: date | None) -> Note:
    day = "" if as_of is None else as_of.isoformat()
    if isinstance(error, HubRateLimited):
        return Note("use_rate_limited", date=day)
    reason = str(error.fields.get("reason", error.code))
    if reason == "offline":
        return Note("use_offline", date=day)
    return Note("use_not_live", reason=reason, date=day)


def with_listing(uses: Uses, members: Iterable[Member], listing: Listing) -> UseNow:
    """Return the figures with a listing's instead of older ones, for stored repositories."""
    stored = {member.repo_id.casefold(): member for member in members}
    stems = {member.stem for member in stored.values()}
    now: dict[str, ModelUse] = dict(uses)
    trending: dict[str, int] = {}
    newcomers = []
    for place, listed in enumerate(listing.models, start=1):
        key = listed.repo_id.casefold()
        stem = stored[key].stem if key in stored else stem_of(listed)
        if stem in stems:
            trending.setdefault(stem, place)
        if key in stored:
            use = now.get(key, UNKNOWN_USE)
            now[key] = use.updated(listed, place, listing.read_on, LIVE_SOURCE)
        elif stem not in stems and listed.base_relation not in ("quantized", "adapter"):
            newcomers.append(listed)
    return UseNow(now, True, listing.read_on, trending, tuple(newcomers))


def stem_of(listed: ListedModel) -> str:
    """Return the stem of a listed model; for a quantization that of its original."""
    if listed.base_relation == "quantized" and listed.base_models:
        return read_name(listed.base_models[0]).stem
    return read_name(listed.repo_id).stem


def newcomers_for(now: UseNow, task: str, licenses: Iterable[str]) -> tuple[ListedModel, ...]:
    """Return the first NEWCOMERS that pass the filters of a request."""
    wanted = set(licenses)
    passing = (
        listed
        for listed in now.newcomers
        if (not task or task_of_tag(listed.pipeline_tag) == task)
        and (not wanted or (listed.license or "unknown").casefold() in wanted)
    )
    return tuple(listed for listed, _ in zip(passing, range(NEWCOMERS), strict=False))


_FILE = "model_use.csv"
COLUMNS = ("repo_id", "created", "downloads", "likes", "as_of", "source")

# a model is recent below the first number of months, of last year below the second, else old
MONTHS_OF_AGES = (12, 24)

# least downloads in 30 days of much used, used and little used models
DOWNLOADS_OF_LEVELS = (1_000_000, 100_000, 10_000)

# Likes that count as much: few people download large models, and many like them.
LIKES_OF_LEVELS = (1_000, 300, 100)
TRENDING = 50  # the Hub's most trending models, which count as much used
UNKNOWN_AGE = len(MONTHS_OF_AGES) + 1

# order of the list, in the words of the answer and the help
ORDER = (
    f"what fits, or makes {READING_SPEED:g} tok/s with a part in system memory; then tight,"
    " offload, from_disk; in each by age of the family on the Hub"
    f" (below {MONTHS_OF_AGES[0]} months, below {MONTHS_OF_AGES[1]}, older, unknown); then use"
    f" (among the {TRENDING} most trending, or from"
    f" {' / '.join(f'{count:,}' for count in DOWNLOADS_OF_LEVELS)} downloads in 30 days or"
    f" {' / '.join(f'{count:,}' for count in LIKES_OF_LEVELS)} likes); then parameters, the most"
    " first; then the newest"
)

# order of a list for a purpose
ORDER_OF_PURPOSE = (
    f"what makes {READING_SPEED:g} tok/s, or is as fast as sound, before what does not; in both"
    " what the purpose's board measured, by the share of its open models below, ties by speed"
    f" up to {COMFORTABLE_SPEED:g} tok/s; then"
    " what a second board alone measured; then what is unmeasured, by classes of size and age"
)


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Use of one repository; unknown figures are None.

    Its levels are coarse on purpose. Counts of downloads differ by their publisher's tests and
    mirrors, and two models of one spring are equally new: within a level the larger comes first.
    """

    created: date | None  # day of its repository's creation on the Hub
    downloads: int | None  # in the 30 days before `as_of`
    likes: int | None
    as_of: date | None  # day of these figures
    source: str  # address that they were read from
    # the Hub's measure of current interest, only in a live listing
    trending_score: float | None = None
    trending_place: int | None = None  # place in its listing by that measure, from 1

    def updated(self, listed: ListedModel, place: int, as_of: date, source: str) -> ModelUse:
        """Return these figures, replaced by those that a live listing states."""
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
Uses = Mapping[str, ModelUse]  # by ID of the repository, in lower case


def embedded_use(folder: Path = GENERATED_DIR) -> dict[str, ModelUse]:
    """Read the embedded figures. Raises MalformedTable."""
    return dict(read_table(folder / _FILE, _use, COLUMNS))


def _use(row: TableRow) -> tuple[str, ModelUse]:
    as_of = row.parsed("as_of", date.fromisoformat)
    use = row.record(ModelUse, as_of=as_of, trending_score=None, trending_place=None)
    return row.text("repo_id").casefold(), use


def latest_day(uses: Iterable[ModelUse]) -> date | None:
    """Return the day of the newest figures."""
    return max((use.as_of for use in uses if use.as_of is not None), default=None)


def total(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of the known numbers, or None without any."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def age_level(created: date | None, today: date) -> int:
    """Return 0 for a recent model, 1 for last year's, 2 for an old one, or UNKNOWN_AGE.

    >>> age_level(date(2026, 4, 15), date(2026, 10, 5))
    0
    """
    if created is None:
        return UNKNOWN_AGE
    return sum(months_of(created, today) >= limit for limit in MONTHS_OF_AGES)


def months_of(created: date | None, today: date) -> int:
    """Return whole months since a day, 0 for an unknown one."""
    if created is None:
        return 0
    months = (today.year - created.year) * 12 + today.month - created.month
    return months - (today.day < created.day)


def use_level(downloads: int | None, likes: int | None, trending_place: int | None = None) -> int:
    """Return 0 for much used models, up to 3 for hardly used ones and those without figures.

    >>> use_level(416_888, 5_623)
    0
    """
    if trending_place is not None and trending_place <= TRENDING:
        return 0
    return min(
        sum((downloads or 0) < limit for limit in DOWNLOADS_OF_LEVELS),
        sum((likes or 0) < limit for limit in LIKES_OF_LEVELS),
    )
