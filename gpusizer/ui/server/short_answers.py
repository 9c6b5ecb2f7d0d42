"""Short forms of the contract's answers, for agents that read every character.

Fields keep the names and units of the contract (docs/contract.md); quantizations and methods of
training are a line of text each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import AnswerModel, ConclusionInfo, Document, NoteInfo
from gpusizer.api.comparison import CompareAnswer, GpusAnswer
from gpusizer.api.desk import DeskAnswer
from gpusizer.api.estimate import EstimateInfo
from gpusizer.api.gpu import GpuInfo
from gpusizer.api.model_profile import ModelInfo
from gpusizer.api.models import ListedFamilyInfo, ModelsAnswer
from gpusizer.api.ranked_gpu import AlternativeGpu, RankedGpu
from gpusizer.api.size import SizeAnswer
from gpusizer.api.training import TrainAnswer, TrainingEstimateInfo, TrainingGpu
from gpusizer.core.printable import json_text

# in a short answer's JSON: some 4,000 tokens; Claude Code refuses 25,000 tokens at once
MAX_CHARACTERS = 12_000
_MOST_CAVEATS = 12
_LONGEST_TEXT = 400
_GB = 10**9

_MODEL = (
    *("repo_id", "revision", "sha", "gated", "format", "parameters", "active_parameters"),
    *("weight_bytes", "max_context", "kv_cache_bytes_per_token", "license", "weights_basis"),
)
_PLACE = (
    *("gpu", "gpu_name", "count", "quant", "engine", "verdict", "headroom_bytes"),
    *("max_context", "max_concurrency", "decode_tokens_per_second"),
    *("power_watts", "why", "largest"),
)
_TRAINING_PLACE = (
    *("gpu", "gpu_name", "count", "verdict", "headroom_bytes", "tokens_per_second", "hours"),
    *("method", "sharding", "power_watts", "why", "largest"),
)
_ALTERNATIVE = (
    *("kind", "is_first", "gpu", "gpu_name", "count", "quant", "engine", "verdict", "why"),
)
_START = ("engine", "command", "install", "published", "needs_publisher")
_WORKLOAD = ("context", "concurrency", "sequence_length")
_PLACE_PRICE = ("buy_usd", "buy_as_of", "rent_usd_per_hour", "usd", "as_of")
_CARD = (
    *("slug", "name", "vendor", "segment", "release_year", "memory_gb"),
    *("memory_bandwidth_gb_per_s", "bf16_tflops_dense", "fp8_tflops_dense", "power_watts"),
)
_DESK_MODEL = (
    *("number", "repo_id", "role", "users", "context", "state", "quant", "engine", "devices"),
    *("device_bytes", "ram_bytes", "start", "memory_utilization", "longest_context", "command"),
)
_LISTED_MODEL = (
    *("repo_id", "task", "parameters", "active_parameters", "license", "gated", "quant", "engine"),
    *("verdict", "how", "headroom_bytes", "max_context", "decode_tokens_per_second", "created"),
    "downloads",
)


@dataclass(frozen=True, slots=True)
class ShortForm:
    """Short form of the answer to one question."""

    rows: str  # the contract's list whose first entries are shown
    top: int  # number of entries unless a caller states another
    # returns the short form of an answer whose rows are already cut
    shorten: Callable[[Any], Document]


def shortened(question: str, document: Document, top: int | None = None) -> Document:
    """Return the short form of at most MAX_CHARACTERS, with `top` rows or fewer to fit."""
    form, answer = SHORT_FORMS[question], ANSWERS[question].model.from_json(document)
    rows: Sequence[object] = getattr(answer, form.rows)
    shown = min(len(rows), max(top or form.top, 1))
    while True:
        short = form.shorten(answer.model_copy(update={form.rows: rows[:shown]}))
        short |= _left_out(form.rows, len(rows) - shown)
        if len(json_text(short)) <= MAX_CHARACTERS or shown <= 1:
            return short
        shown -= 1


def first_rows(question: str, document: Document, top: int | None) -> Document:
    """Return the whole answer with its first `top` rows, or all without `top`."""
    rows = SHORT_FORMS[question].rows
    if top is None or top < 1:
        return document
    return {**document, rows: document[rows][:top]} | _left_out(rows, len(document[rows]) - top)


def _left_out(rows: str, count: int) -> Document:
    return {f"{rows}_left_out": count} if count > 0 else {}


def _size(answer: SizeAnswer) -> Document:
    used = {place.quant for place in (*answer.ranking, *answer.alternatives)}
    return {
        **_head(answer),
        **({} if answer.start is None else {"start": _chosen(answer.start, _START)}),
        "ranking": [_place(place) for place in answer.ranking],
        "alternatives": [_alternative(place) for place in answer.alternatives],
        "quantizations": [_quantization(row) for row in _telling(answer.estimates, used)],
        "caveats": _caveats(answer.model, answer.notes, answer.ranking),
    }


def _train(answer: TrainAnswer) -> Document:
    ladder = (_chosen(mitigation, ("message", "saving_bytes")) for mitigation in answer.ladder)
    return {
        **_head(answer),
        "ranking": [_short_place(place, _TRAINING_PLACE) for place in answer.ranking],
        "ways": [_way(row) for row in answer.estimates],
        "ladder": list(ladder),
        "caveats": _caveats(answer.model, answer.notes),
    }


def _compare(answer: CompareAnswer) -> Document:
    gpus = [_card(it) | ({"fit": _place(it.fit)} if it.fit else {}) for it in answer.gpus]
    fits = [gpu.fit for gpu in answer.gpus if gpu.fit]
    return {**_head(answer), "gpus": gpus, "caveats": _caveats(answer.model, (), fits)}


def _list(answer: GpusAnswer) -> Document:
    return {
        "schema_version": answer.schema_version,
        "count": answer.count,
        "gpus": [_card(card) for card in answer.gpus],
    }


def _models_for(answer: ModelsAnswer) -> Document:
    head = ("schema_version", "gpu", "gpu_name", "count", "order", "considered", "found")
    models = [
        _chosen(model, _LISTED_MODEL) | _scored(model) | {"copies": len(model.copies)}
        for model in answer.models
    ]
    purpose = answer.purpose
    return {
        "answer": _answer(answer.answer),
        **_chosen(answer, head),
        **({} if purpose is None else {"purpose": _chosen(purpose, ("name", "picks"))}),
        "models": models,
        "caveats": _caveats(None, answer.notes),
    }


def _desk(answer: DeskAnswer) -> Document:
    models = [_chosen(it, _DESK_MODEL) for it in answer.models]
    changed = answer.change
    return {
        "answer": _answer(answer.answer),
        "schema_version": answer.schema_version,
        "machine": answer.machine.document(),
        "devices": [device.document() for device in answer.devices],
        "models": models,
        "change": changed and changed.document(),
        "caveats": _caveats(None, answer.notes),
    }


def _scored(model: ListedFamilyInfo) -> Document:
    # Only if the question names a purpose.
    return {} if model.scores is None else {"scores": model.scores.document()}


# by the question's name
SHORT_FORMS: Mapping[str, ShortForm] = {
    "size": ShortForm("ranking", 5, _size),
    "train": ShortForm("ranking", 5, _train),
    "compare": ShortForm("gpus", 8, _compare),
    "models-for": ShortForm("models", 10, _models_for),
    "desk": ShortForm("models", 8, _desk),
    "gpus": ShortForm("gpus", 10, _list),
}


def _head(answer: SizeAnswer | TrainAnswer | CompareAnswer) -> Document:
    model, workload = answer.model, answer.workload
    return {
        "answer": _answer(answer.answer),
        "schema_version": answer.schema_version,
        "model": model and _chosen(model, _MODEL),
        "workload": _chosen(workload, _WORKLOAD) if workload else {},
    }


def _answer(answer: ConclusionInfo) -> Document:
    # The trade-offs as sentences.
    return answer.document() | {"weighed": [_cut(note.message) for note in answer.weighed]}


def _place(place: RankedGpu) -> Document:
    quality = _cut(f"{place.quality.label}: {place.quality.message}")
    advice = [_cut(suggestion.message) for suggestion in place.advice or ()]
    short = _short_place(place, _PLACE) | {"quality": quality}
    return short | ({"advice": advice[:4]} if advice else {})


def _short_place(place: RankedGpu | TrainingGpu, names: Iterable[str]) -> Document:
    return _chosen(place, names) | _chosen(place.price, _PLACE_PRICE)


def _alternative(place: AlternativeGpu) -> Document:
    return _chosen(place, _ALTERNATIVE) | {"quality": place.quality.label}


def _card(card: GpuInfo) -> Document:
    street, rental = card.street_price, card.rental
    return {
        **_chosen(card, _CARD),
        "buy_usd": street and street.usd,
        "buy_as_of": street and street.date,
        "rent_usd_per_hour": rental and rental.likely_usd,
        "purpose": card.purpose.label,
    }


def _telling(estimates: Iterable[EstimateInfo], used: set[str]) -> list[EstimateInfo]:
    # Native, used by a place, or the first at each bit width.
    widths: set[int] = set()
    telling = []
    for row in estimates:
        width = round(row.bits_per_weight)
        if row.native or row.quant in used or width not in widths:
            telling.append(row)
        widths.add(width)
    return telling


def _quantization(row: EstimateInfo) -> str:
    parts = [
        f"{row.quant} ({row.engine}): {_gigabytes(row)}",
        f"{row.bits_per_weight} bits per weight",
        row.quality.label,
        "native" if row.native else "",
        row.verdict or "",
    ]
    return ", ".join(filter(None, parts))


def _way(row: TrainingEstimateInfo) -> str:
    asked = ", asked" if row.asked else ""
    ways = f"{row.method} ({row.precision}, {row.optimizer}, base {row.base}{asked})"
    return f"{ways}: {_gigabytes(row)} on each of {row.gpus} GPUs"


def _gigabytes(row: EstimateInfo | TrainingEstimateInfo) -> str:
    amounts = (row.total_bytes, row.low_bytes, row.high_bytes)
    total, low, high = (amount / _GB for amount in amounts)
    return f"{total:.2f} GB ({low:.2f} to {high:.2f})"


def _caveats(
    model: ModelInfo | None, notes: Iterable[NoteInfo], places: Sequence[RankedGpu] = ()
) -> list[str]:
    # Of the model, the answer and the first place.
    said = [*(model.caveats if model else ()), *notes]
    for place in places[:1]:
        said += [*place.price.caveats, *place.quality.caveats]
    return list(dict.fromkeys(_cut(note.message) for note in said))[:_MOST_CAVEATS]


def _chosen(part: AnswerModel, names: Iterable[str]) -> Document:
    # Texts are cut.
    chosen = part.model_dump(mode="json", include=set(names), exclude_unset=True)
    return {
        name: _cut(value) if isinstance(value, str) else value
        for name, value in chosen.items()
        if value is not None
    }


def _cut(text: str) -> str:
    return f"{text[: _LONGEST_TEXT - 1]}…" if len(text) > _LONGEST_TEXT else text
