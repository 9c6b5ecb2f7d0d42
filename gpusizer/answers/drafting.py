"""The second model of a request, which guesses tokens: its repository, and what to know of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpusizer.answers.request import SizeRequest
from gpusizer.answers.selection import refuse_tag
from gpusizer.core.errors import InvalidModelId, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.hub.model_ref import ParseRef, parse_model_ref
from gpusizer.hub.snapshot import Fetch
from gpusizer.memory.engines import ENGINES, Engine, find_engine
from gpusizer.memory.workload import Workload
from gpusizer.model.draft import with_draft
from gpusizer.model.profile import DraftModel, ModelProfile

_MOST_NAME_CHARS = 120
USUAL_TOKENS = 3
"""Tokens guessed ahead where nothing says how many: llama.cpp's --spec-draft-n-max
(tools/server/README.md)."""


def read_draft(
    request: SizeRequest,
    profile: ModelProfile,
    fetch: Fetch,
    parse: ParseRef,
    budget: TimeBudget,
) -> ModelProfile:
    """The profile with the draft model of the request, read with the same rights and limits.

    Raises ModelUnreadable about the second repository.
    """
    if not request.draft_model:
        return profile
    ref = replace(parse(request.draft_model), reads_card=False)
    with budget.paused():
        snapshot = fetch(ref)
    drafted = with_draft(profile, snapshot)
    if drafted.draft is not None:
        refuse_tag(ref, drafted.draft.profile)
    return drafted


def as_authors_draft(
    fields: Mapping[str, Any], profile: ModelProfile, fetch: Fetch, budget: TimeBudget
) -> tuple[SizeRequest, ModelProfile, tuple[Note, ...]]:
    """The author's request, and the profile with the draft model of his command.

    A draft model that cannot be read, such as a folder of the author's machine, is left out with a
    note: the visitor has not asked for it by name. A card names repositories of the Hub alone,
    never a folder of the machine that reads it.
    """
    request = SizeRequest.from_fields(fields)
    if request.draft_model == (profile.draft.profile.repo_id if profile.draft else ""):
        return request, profile, ()
    try:
        return request, read_draft(request, profile, fetch, parse_model_ref, budget), ()
    except (ModelUnreadable, InvalidModelId):
        left_out = Note("card_draft_left_out", draft=request.draft_model[:_MOST_NAME_CHARS])
        alone = SizeRequest.from_fields({**fields, "draft_model": ""})
        return alone, replace(profile, draft=None), (left_out,)


def resolve_draft(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    """The workload with the tokens that the draft guesses, and what the reader must know."""
    draft = profile.draft
    if draft is None:
        alone = replace(workload, draft_model="", acceptance_rate=None)
        useless = workload.acceptance_rate is not None
        return alone, (Note("acceptance_needs_a_draft"),) if useless else ()
    able = [engine for engine in ENGINES.values() if engine.abilities.runs_draft(draft)]
    names = ", ".join(engine.name for engine in able)
    if workload.engine is not None:
        asked = find_engine(workload.engine)
        if asked not in able:
            without = replace(workload, draft_tokens=0, acceptance_rate=None)
            return without, (Note("draft_not_run", engine=asked.name, engines=names),)
        able = [asked]
    run_by = () if workload.engine else (Note("draft_run_by", engines=names),)
    notes = (*run_by, *_notes(profile, draft, able))
    if workload.draft_tokens:
        return workload, notes
    tokens = draft.block_tokens - 1 if draft.block_tokens else USUAL_TOKENS
    assumed = Note("draft_tokens_assumed", tokens=tokens)
    return replace(workload, draft_tokens=tokens), (*notes, assumed)


def _notes(profile: ModelProfile, draft: DraftModel, able: Iterable[Engine]) -> Iterator[Note]:
    """What the reader must know of a draft that these engines run."""
    if draft.profile.format != "gguf" and any(e.abilities.reads == "gguf" for e in able):
        yield Note("draft_converted")
    own, other = profile.architecture, draft.profile.architecture
    if other is None or not other.generates:
        yield Note("draft_not_a_language_model", repo_id=draft.profile.repo_id)
        return
    sizes = (own.vocab_size or 0 if own else 0, other.vocab_size or 0)
    if all(sizes) and sizes[0] != sizes[1]:
        yield Note("draft_vocabulary_differs", own=sizes[0], other=sizes[1])
