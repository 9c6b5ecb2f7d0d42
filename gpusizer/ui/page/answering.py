"""Answers to the page's questions: report, bit widths, cards and pictures of one study."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, partial

from cachetools import LRUCache

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.ranking import Ranked
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.fit.filters import narrowed
from gpusizer.fit.machine_parser import parse_kind
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.hub.reading_steps import OnStep, watched
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.ui.page.forms import hidden_fields
from gpusizer.ui.page.page_state import ALL_ROWS, PageState
from gpusizer.ui.page.picked_memory import on_possible_gpus
from gpusizer.ui.presenters.beside.side_by_side import Plans
from gpusizer.ui.presenters.choices import (
    ModelUse,
    PageAnswer,
    Tier,
    best_of_each_kind,
    usual_cards,
)
from gpusizer.ui.presenters.serving_plan import PLAN_ROWS
from gpusizer.ui.server.reading import RANKED, attempt
from gpusizer.usecases.comparison import ComparedGpu, Comparison
from gpusizer.usecases.conclude import Found, conclude
from gpusizer.usecases.figures.memory import Capacity, capacities
from gpusizer.usecases.figures.pictures import Pictures, pictures_of
from gpusizer.usecases.report import EstimateRow, Report
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer

# Returns the embedded snapshot of a model without a request to the Hub, or None.
Stored = Callable[[str], RepoSnapshot | None]

# Name of a bit width, its usual quantizations, and the bits of its checkpoints (above, up to).
_TIERS = (
    ("16", ("bf16",), 9.0, 64.0),
    ("8", ("q8_0", "fp8", "int8", "mlx-8bit"), 5.5, 9.0),
    ("4", ("q4_k_m", "awq-int4-g128", "gptq-int4-g128", "nvfp4", "mxfp4", "mlx-4bit"), 0.0, 5.5),
)


# Uses of a model, first those for which the page hides the fewest fields.
_USES: tuple[ModelUse, ...] = ("vision", "tokens", "pictures")
_KEPT_REPORTS = 8  # reports kept by a process; one of all GPUs takes about 2 MB


class Reports:
    """The last reports about models, shared by the visitors of a process.

    Every question reads its repository first. A kept report is used only for an equal snapshot;
    models read with a visitor's token have reports of their own.
    """

    def __init__(self) -> None:
        self._kept: LRUCache[SizeRequest, tuple[RepoSnapshot, Report]] = LRUCache(_KEPT_REPORTS)
        self._lock = threading.Lock()

    def report(self, sizer: Sizer, question: Question) -> Report:
        """Return the report of a studied question. Raises any GpusizerError."""
        with self._lock:
            snapshot, report = self._kept.get(question.request, (None, None))
        if report is None or snapshot != question.snapshot:
            report = sizer.report(question)
            with self._lock:
                self._kept[question.request] = (question.snapshot, report)
        return report


def remembering(sizer: Sizer) -> Sizer:
    """Return a Sizer for all requests of one answer, which reads each repository once."""
    return sizer.reading(cache(sizer.fetch))


def question_of(sizer: Sizer, state: PageState) -> Question:
    """Study the question of a page. Raises any GpusizerError.

    Its ranking has the first GPUs until the visitor asks for all; the plan for a load has only the
    rows that are shown, as each is simulated.
    """
    request = state.about_every_gpu
    top = 0 if state.rows == ALL_ROWS else RANKED
    if request.requests_per_second is not None:
        top = PLAN_ROWS
    return sizer.question(request.model_copy(update={"top": top}))


def report_of(sizer: Sizer, state: PageState, reports: Reports | None = None) -> Report:
    """Return the page's report, which the visitor's files also use. Raises any GpusizerError."""
    return (reports or Reports()).report(sizer, question_of(sizer, state))


def answer(sizer: Sizer, state: PageState, reports: Reports | None = None) -> PageAnswer:
    """Answer the question of a page. Raises any GpusizerError."""
    question = question_of(sizer, state)
    report = (reports or Reports()).report(sizer, question)
    tiers, (own, found) = _tiers(sizer, question, report), _own(sizer, state, question)
    usual = _usual(sizer, question, report)
    return PageAnswer(question, report, tiers, usual, own, found, _cards(sizer, state))


def read_and_answer(
    sizer: Sizer, state: PageState, reports: Reports, on_step: OnStep
) -> tuple[Sizer, PageState, PageAnswer | GpusizerError]:
    """Return a Sizer that has read the model, the state as answered, and the answer or error.

    The state lacks the fields that the page hides for this model.
    """
    reader = remembering(sizer.reading(watched(sizer.fetch, on_step)))
    first = attempt(lambda: answer(reader, state, reports))
    # If a field of one use is refused, the model may have another, for which it is hidden.
    if isinstance(first, GpusizerError):
        uses = [use for use in _USES if first.fields.get("field") in hidden_fields(use)]
    else:
        uses = [first.use]
    for use in uses:
        seen = state.without_hidden(use)
        result = first if seen == state else attempt(partial(answer, reader, seen, reports))
        if isinstance(result, GpusizerError) or result.use == use:
            return reader, seen, result
    return reader, state, first


def sample_answer(sizer: Sizer, model: str, stored: Stored) -> PageAnswer | None:
    """Return the answer for an embedded model with default settings, or None if not embedded.

    The page is built before the first question, so that nothing is requested from the Hub.
    """
    snapshot = stored(model)
    if snapshot is None:
        return None
    reader, state = sizer.reading(lambda ref: snapshot), PageState(model)
    result = attempt(lambda: answer(reader, state))
    return None if isinstance(result, GpusizerError) else result


def _own(
    sizer: Sizer, state: PageState, question: Question
) -> tuple[Conclusion | GpusizerError | None, Found | None]:
    # The conclusion for the visitor's machine, as for a request that names it, else for the picked
    # GPUs, with the found places. None without either, or if a pick cannot have the stated memory,
    # which its card says.
    if not state.machines and not state.own_gpus:
        return None, None
    try:
        request = state.request
        if not state.machines:
            request, gpus, _ = on_possible_gpus(request, state.own_gpus, sizer.catalogue)
            request = request.model_copy(update={"gpus": gpus})
        asked = question.asking(request)
        found = sizer.found(asked)
        return conclude(asked, found), found
    except GpusizerError as error:
        return error if state.machines else None, None


def _cards(sizer: Sizer, state: PageState) -> tuple[Capacity, ...]:
    # Machines with GPUs of several kinds are left out.
    boards = []
    for place in dict.fromkeys((*state.machines, *state.own_gpus)):
        try:
            kind = parse_kind(place)
            boards.append((UserGpus(sizer.catalogue).find(kind.name), kind.boards or 1))
        except GpusizerError:
            continue  # its card says so
    return capacities(boards)


def pictures(sizer: Sizer, state: PageState, reports: Reports | None = None) -> Pictures:
    """Return the data of pictures of a report and the picked GPUs. Raises any GpusizerError."""
    question = question_of(sizer, state)
    report = (reports or Reports()).report(sizer, question)
    own = (*state.machines, *state.own_gpus)
    compared = _picked(sizer, state.picking(own) if own else state, question)
    boards = [(item.gpu, item.count or 1) for item in compared]
    places = [item.ranked for item in compared if item.ranked is not None]
    return pictures_of(question.study, report, boards, places)


def _picked(sizer: Sizer, state: PageState, question: Question) -> Sequence[ComparedGpu]:
    # Without the model if one of the GPUs cannot run it. Pictures show no advice.
    try:
        compared = compare(sizer, state, question, advised=False)
    except InvalidRequest:
        compared = sizer.listed(state.places)
    return compared.items if compared else ()


def compare(
    sizer: Sizer,
    state: PageState,
    question: Question | None = None,
    *,
    plans: Plans = "best",
    advised: bool = True,
) -> Comparison | None:
    """Compare the visitor's machine and the picked GPUs, or return None without any.

    `question` is the page's own, if studied already; `advised` adds what else fits on each and
    changes that would help. Raises any GpusizerError.
    """
    if not state.places:
        return None
    request, gpus, _ = on_possible_gpus(state.request, state.places, sizer.catalogue)
    if not request.model:
        return sizer.listed(gpus, request.own_memory)
    question = question.asking(request) if question else sizer.question(request)
    return sizer.compared(question, gpus, alike=plans == "same", advised=advised)


def _tiers(sizer: Sizer, question: Question, report: Report) -> tuple[Tier, ...]:
    tiers = []
    catalogue = narrowed(sizer.catalogue, question.request.filters.groups)
    for name, tier_slugs, bits_above, up_to in _TIERS:
        rows = [row for row in report.estimates if _belongs(row, tier_slugs, bits_above, up_to)]
        rows = _one_file(rows, int(name), (report.profile.variant or "").lower())
        if rows:
            slugs = {row.estimate.quant.slug for row in rows}
            pairs = [pair for pair in question.selection.shown if pair[0].slug in slugs]
            study = question.study.with_fixed_quants(pairs)
            best = best_of_each_kind(study, catalogue.gpus, report.ranking, slugs)
            # The checkpoint itself, else the most faithful quantization.
            shown = next((row for row in rows if row.estimate.native), rows[0])
            tiers.append(Tier(name, shown, best))
    return tuple(tiers)


def _usual(sizer: Sizer, question: Question, report: Report) -> tuple[Ranked, ...]:
    # With a condition on speed or price a card counts only if the ranking has it.
    request = question.request
    is_free = not request.filters and request.min_tok_s is None
    gpus = sizer.catalogue.gpus if is_free and report.conclusion.kind == "need" else ()
    return usual_cards(question.study, gpus, report.ranking)


def _belongs(row: EstimateRow, slugs: Sequence[str], bits_above: float, up_to: float) -> bool:
    quant = row.estimate.quant
    if row.estimate.native:
        return bits_above < quant.bits <= up_to
    return quant.slug in slugs and not row.needs_original_weights


def _one_file(rows: list[EstimateRow], bits: int, read_slug: str) -> list[EstimateRow]:
    # One of several GGUF files: the nearest to `bits`; among equals the one that was read.
    files = [row for row in rows if row.estimate.native]
    if len(files) < 2:
        return rows
    quants = {row.estimate.quant.slug: row.estimate.quant for row in files}
    nearest = min(quants, key=lambda slug: (abs(quants[slug].bits - bits), slug != read_slug))
    return [row for row in files if row.estimate.quant.slug == nearest]
