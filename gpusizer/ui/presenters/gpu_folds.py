"""What stands below GPUs side by side, a fold for each: what would make the model fit, the command
that starts it, what it can be checked by."""

from __future__ import annotations

from gpusizer.answers.comparison import ComparedGpu, Comparison
from gpusizer.core.messages import Note
from gpusizer.fit.advice import Suggestion
from gpusizer.fit.losses import quality_at
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.ui.presenters.evidence import Sized, evidence_html, launch_html
from gpusizer.ui.presenters.html import Html, bullets, el, fold, join
from gpusizer.ui.presenters.side_cells import boards_name
from gpusizer.ui.presenters.words import Words

SUGGESTED = 4
"""Number of suggestions for a GPU; the JSON has all."""


def gpu_folds_html(comparison: Comparison, words: Words) -> Html | None:
    """Write a fold for each GPU that a model is sized on, open where it is the only one; None
    without a model."""
    profile, workload = comparison.profile, comparison.workload
    if profile is None or workload is None:
        return None
    sized = [
        (item, Sized(profile, workload, item.ranked))
        for item in comparison.items
        if item.ranked is not None
    ]
    folds = [_fold(it, item, words, opened=len(sized) == 1) for item, it in sized]
    return el("div", join(folds), class_="gs-folds") if folds else None


def _fold(sized: Sized, item: ComparedGpu, words: Words, *, opened: bool) -> Html:
    title = words(_title(sized.ranked), gpu=boards_name(item, words))
    return fold(
        title,
        _advice(sized.ranked, words),
        launch_html(sized, words),
        evidence_html(sized, words),
        words.listed(_reasons(sized.ranked), "gs-notes"),
        class_="gs-gpu-fold",
        data_gpu=item.gpu.slug,
        open=opened or None,
    )


def _title(ranked: Ranked) -> str:
    return "cards.starts" if ranked.fit.verdict is Verdict.FITS else "cards.would_fit"


def _reasons(ranked: Ranked) -> list[Note]:
    """Choose the reasons to show: without the verdict and without what the advice says already.

    Caveats on what the quantization loses come after them.
    """
    advised = any(suggestion.note.code == "try_offload" for suggestion in ranked.advice[:SUGGESTED])
    reasons = [note for note in ranked.reasons[1:] if not advised or note.code != "layers_that_fit"]
    return [*reasons, *quality_at(ranked.fit.estimate).caveats]


def _advice(ranked: Ranked, words: Words) -> Html | None:
    """Write what would make the model fit, least costly first; None where it fits."""
    items = (_suggestion(suggestion, words) for suggestion in ranked.advice[:SUGGESTED])
    listed = bullets(items, tag="ol")
    if ranked.fit.verdict is Verdict.FITS:
        return el("div", listed, class_="gs-advice") if listed else None
    state = "safer" if ranked.fit.verdict is Verdict.TIGHT else "fit"
    alone = any(suggestion.enough for suggestion in ranked.advice)
    title = el("h4", words(f"advice.{state}" if alone else "advice.none"))
    return el("div", title, listed, class_="gs-advice")


def _suggestion(suggestion: Suggestion, words: Words) -> Html:
    key = "advice.after" if suggestion.enough or suggestion.headroom_bytes >= 0 else "advice.short"
    after = words(
        key,
        saving=words.amount(suggestion.saving_bytes),
        headroom=words.amount(abs(suggestion.headroom_bytes)),
    )
    return join((words.note(suggestion.note), el("small", after)))
