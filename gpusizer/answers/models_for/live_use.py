"""The figures of use of now: the embedded ones brought up to date by one listing of the Hub."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from gpusizer.answers.json_shapes import Json, parts
from gpusizer.answers.models_for.families import Member, read_name
from gpusizer.answers.models_for.model_use import UNKNOWN_USE, ModelUse, Uses, latest_day
from gpusizer.core.errors import HubRateLimited, HubUnreachable, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.hub.listed_models import ListedModel, Listing, ListTrending
from gpusizer.model.tasks import task_of_tag

LIVE_SOURCE = "https://huggingface.co/models?sort=trending"
NEWCOMERS = 10
_NO_DAY = date.min


@dataclass(frozen=True, slots=True)
class UseNow:
    """What the order goes by.

    Attributes:
        uses: figures by ID in lower case.
        live: whether the Hub's listing of now is among them.
        as_of: the day from which ages count: of the listing, else of the newest embedded figures;
            None where there are none.
        trending: the best place in the listing by stem.
        newcomers: models that trend and are not stored, of no stored family.
        notes: why the Hub's figures are missing although they were asked for.
    """

    uses: Uses
    live: bool
    as_of: date | None
    trending: dict[str, int] = field(default_factory=dict)
    newcomers: tuple[ListedModel, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def today(self) -> date:
        """The day from which ages count; without any figures no model has an age."""
        return self.as_of or _NO_DAY

    def shape(self) -> Json:
        """What the answer says of its figures of use."""
        source = LIVE_SOURCE if self.live else None
        return {**parts(self, "live", "as_of"), "source": source}


def use_now(
    uses: Uses, members: Iterable[Member], trending: ListTrending | None, *, live: bool
) -> UseNow:
    """The embedded figures, or with `live` those that one request to the Hub adds.

    Where it fails (offline, rate limit, no answer) the embedded ones stand, with a note.
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
    """The figures with those of a listing in place of older ones, for stored repositories."""
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
    """The stem of a listed model: of a quantization that of its original."""
    if listed.base_relation == "quantized" and listed.base_models:
        return read_name(listed.base_models[0]).stem
    return read_name(listed.repo_id).stem


def newcomers_for(now: UseNow, task: str, licenses: Iterable[str]) -> tuple[ListedModel, ...]:
    """The first NEWCOMERS that pass the filters of a request."""
    wanted = set(licenses)
    passing = (
        listed
        for listed in now.newcomers
        if (not task or task_of_tag(listed.pipeline_tag) == task)
        and (not wanted or (listed.license or "unknown").casefold() in wanted)
    )
    return tuple(listed for listed, _ in zip(passing, range(NEWCOMERS), strict=False))


def newcomer_json(listed: ListedModel) -> Json:
    """A trending model that is not stored: its ID is to be sized, which takes requests of its own.

    `parameters` are the Hub's own count, in which packed 4-bit weights count by their containers.
    """
    names = ("repo_id", "pipeline_tag", "parameters", "license", "gated", "created", "downloads")
    facts = parts(listed, *names, "likes", "trending_score")
    return {**facts, "task": task_of_tag(listed.pipeline_tag)}
