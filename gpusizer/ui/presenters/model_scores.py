"""Scores of models for a purpose: three picks, a cell of the table, and the boards behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import short_name
from gpusizer.core.messages import Note
from gpusizer.quality.boards import BoardScore, WorkPurpose
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.losses import configuration
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.models_for.by_purpose import Scored
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn

_ROLES: Mapping[str, str] = {
    "pick_best": "best",
    "pick_unmeasured": "largest",
    "pick_fast": "faster",
    "pick_fast_unmeasured": "faster",
    "pick_newer": "newer",
    "pick_new": "newer",
    "pick_longest_good": "longer",
    "pick_longest_unmeasured": "longer",
    "pick_smallest_good": "smaller",
    "pick_smallest_unmeasured": "smaller",
}
"""Role that a card states above the name, by the code of the reason."""
ABOUT_BOARDS = "scores_"
"""Start of the codes of notes about boards."""


@dataclass(frozen=True, slots=True)
class _Pick:
    role: str
    name: str
    href: str
    reason: str
    speed: str
    memory: str
    context: str
    configuration: str


def picks_html(answer: ModelsFor, hrefs: Mapping[str, str], words: Words) -> Markup | None:
    """Write the models to pick from as cards, None without any; `hrefs` by ID."""
    picks = [_pick(row, why, hrefs, words) for row, why in answer.picked]
    explained = Glossary(words)
    return render("models_picks.html", words, explained=explained, picks=picks) if picks else None


def _pick(row: RunsOn, why: Note, hrefs: Mapping[str, str], words: Words) -> _Pick:
    profile, context = row.runs.profile, row.max_context
    is_read = row.runs.task not in ("speech", "image")
    return _Pick(
        role=_ROLES[why.code],
        name=short_name(profile),
        href=hrefs[profile.repo_id],
        reason=words.note(why),
        speed=pace_text(row, words, with_unit=True),
        memory=" + ".join(memory_texts(row, words)),
        context=words.whole(context) if context and is_read else "",
        configuration=configuration(row.runs.config.estimate, words),
    )


def boards_of(answer: ModelsFor, words: Words) -> list[tuple[str, str | None]]:
    """Return a line on each board, its day and terms, with its address."""
    notes = [note for note in answer.notes if note.code.startswith(ABOUT_BOARDS)]
    hub = answer.boards.hub_board
    found = (
        hub if note.code == "scores_of_hub" else answer.boards.board(str(note.fields.get("board")))
        for note in notes
    )
    return [
        (words.note(note), board.source_url if board else None)
        for note, board in zip(notes, found, strict=True)
    ]


def order_text(purpose: WorkPurpose, words: Words) -> str:
    """Write how the list for a purpose is ordered."""
    return words(f"reverse.order_by_{'unmeasured' if purpose == 'pictures' else 'board'}")


def quality_share(row: RunsOn) -> float | None:
    """Return the percentage of open models below on the leading board, None if unmeasured."""
    leading = row.scored.measured.leading if row.scored else None
    share = leading.share if leading else None
    return None if share is None else round(100 * share, 1)


def quality_cell(row: RunsOn, words: Words) -> Markup:
    """Write the share of open models below on the leading board, and what others say beside it."""
    scored = row.scored
    if scored is None:
        return Markup(DASH)
    leading = scored.measured.leading
    head = words("quality.unmeasured")
    if leading is not None:
        head = words("quality.above", share=_percent(leading, words))
    elif scored.measured.second is not None:
        head = words("quality.not_on_board")
    return piece("named", head, list(_lines(scored, words)))


def _lines(scored: Scored, words: Words) -> Iterator[str]:
    measured = scored.measured
    if measured.second is not None:
        yield f"{measured.second.board.board}: {_percent(measured.second, words)}"
    if measured.boards_disagree:
        yield words("quality.disagree")
    if measured.maker is not None:
        said = f"{measured.maker.board.board} {words.number(measured.maker.score, 'g')} %"
        yield words("quality.maker", score=said)
    if measured.hub is not None:
        by = words(f"results.by.{measured.hub.by}")
        yield f"{measured.hub.board.board}: {words.number(measured.hub.score, 'g')}, {by}"
    if not scored.runs_well:
        yield words("quality.slow")


def _percent(score: BoardScore, words: Words) -> str:
    return words.share(score.share or 0.0, 1)


def memory_texts(row: RunsOn, words: Words) -> list[str]:
    """Write the memory of the fullest device, and beside it that of system memory."""
    host = row.ram_bytes
    used = row.fit.config.fullest_gpu_bytes
    texts = [words.amount(used)] if used else []
    if host and row.runs.config.arranged is not None:
        texts.append(words("reverse.ram", amount=words.amount(host)))
    return texts


def pace(row: RunsOn) -> float | None:
    """Return the likely speed in the unit of the model's kind, or the most that the disk allows."""
    scored, likely = row.scored, row.decode
    if scored is not None and scored.runs.task in ("embedding", "speech", "image"):
        rate = scored.picture_seconds if scored.runs.task == "image" else scored.pace
        return None if rate is None else rate.likely
    return row.runs.most_tokens_per_second or (None if likely is None else likely.likely)


def pace_text(row: RunsOn, words: Words, *, with_unit: bool = False) -> str:
    """Write that speed: tokens/s without a unit where the column has it."""
    speed = pace(row)
    if speed is None:
        return DASH
    of_task = {"speech": "reverse.hears", "image": "reverse.draws", "embedding": "reverse.reads"}
    key = of_task.get(row.runs.task) if row.scored else None
    if key is not None:
        return words(key, speed=words.speed(speed))
    most = "" if row.runs.most_tokens_per_second is None else "≤ "
    return most + (words.rate(speed) if with_unit else words.speed(speed))
