"""Statements of a model card, each compared with an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.hub.card_statements import ModelCard, ModelCardStatement
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.model_card.asking import Asking
from gpusizer.usecases.model_card.own_terms import taken_command, terms_of
from gpusizer.usecases.model_card.verdicts import (
    MOST_ASKED,
    JudgedStatement,
    judge,
    judged_without_asking,
)
from gpusizer.usecases.requests.request import AuthorTerms, SizeRequest

_UNASKED = ("context", "sibling_table")  # kinds that are compared without an estimate


@dataclass(frozen=True, slots=True)
class ModelCardAnswer:
    """The statements in the order of the card."""

    url: str  # address of the card, "" for one on this machine
    statements: tuple[JudgedStatement, ...]
    command: ModelCardStatement | None  # command whose arguments can be taken over, or None


def answer_card(card: ModelCard, asking: Asking) -> ModelCardAnswer:
    """Judge the statements, as many as an answer has time for, requirements before commands."""
    once = _distinct(card.statements)
    asked = [item for item in once if item.kind not in _UNASKED]
    asked.sort(key=lambda item: not item.is_requirement)
    chosen = set(map(id, asked[:MOST_ASKED]))
    judged = tuple(
        judge(item, asking)
        if id(item) in chosen or item.kind in _UNASKED
        else judged_without_asking(item)
        for item in once
    )
    return ModelCardAnswer(card.url, judged, taken_command(once, asking.profile.repo_id))


def _distinct(statements: Sequence[ModelCardStatement]) -> list[ModelCardStatement]:
    # Statements repeated in several places count once.
    first: dict[ModelCardStatement, ModelCardStatement] = {}
    for item in statements:
        first.setdefault(replace(item, line=0, last_line=0, quote=""), item)
    return list(first.values())


def with_authors_terms(
    request: SizeRequest, card: ModelCard | None, profile: ModelProfile
) -> tuple[SizeRequest, Note]:
    """Return the request with the arguments of the author's command, and a note on them."""
    command = taken_command(card.statements, profile.repo_id) if card else None
    if command is None:
        return request, Note("card_no_command")
    terms = terms_of(command, profile)
    if command.command is not None and command.command.draft_model:
        terms["draft_model"] = command.command.draft_model
    taken = AuthorTerms.from_fields(terms).stated
    return request.model_copy(update=taken), Note("card_command_taken", line=command.line)
