"""Parsers of the benchmark results that the Hub's API repeats of a repository.

Two forms exist: `evalResults`, the files `.eval_results/*.yaml` of a repository and of its open
pull requests (https://huggingface.co/docs/hub/eval-results), and `model-index`, older metadata of a
model card. Both are written by strangers: an entry of another form is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import islice
from urllib.parse import urlsplit

from gpusizer.core.loose_values import JsonObject, JsonValue, list_in, object_in, read_day
from gpusizer.core.printable import printable
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.hub.published_results import MOST_RESULTS, PublishedResult, StatedBy

EVALUATIONS_FOLDER = ".eval_results/"
_MAX_ENTRIES = 1000  # looked at in each list
_MAX_NAME_CHARS = 120
_MAX_NOTES_CHARS = 200
_MAX_URL_CHARS = 300
_MAX_VALUE = 1e12


def evaluation_results(answer: JsonValue, today: date) -> tuple[PublishedResult, ...]:
    """Return the results of a description with `expand[]=evalResults`, `MOST_RESULTS` at most."""
    items = list_in(object_in(answer).get("evalResults"))[:_MAX_ENTRIES]
    return _first(result for item in items for result in _evaluated(object_in(item), today))


def index_results(model_index: JsonValue) -> tuple[PublishedResult, ...]:
    """Return the results of the metadata `model-index`, `MOST_RESULTS` at most."""
    return _first(islice(_indexed(model_index), _MAX_ENTRIES))


def joined_results(*groups: Iterable[PublishedResult]) -> tuple[PublishedResult, ...]:
    """Return all results, each once, `MOST_RESULTS` at most."""
    return _first(result for group in groups for result in group)


def _first(results: Iterable[PublishedResult]) -> tuple[PublishedResult, ...]:
    return tuple(islice(dict.fromkeys(results), MOST_RESULTS))


def _evaluated(item: JsonObject, today: date) -> Iterator[PublishedResult]:
    # `data` repeats the file, so that all in it is the author's word; the Hub's own is beside it.
    data = object_in(item.get("data"))
    dataset, value = object_in(data.get("dataset")), _number(data.get("value"))
    benchmark = dataset.get("id")
    if value is None or not isinstance(benchmark, str) or not is_repo_id(benchmark):
        return
    source, day = object_in(data.get("source")), read_day(data.get("date"), today)
    by: StatedBy = "maker" if item.get("pullRequest") is None else "community"
    yield PublishedResult(
        benchmark=benchmark,
        value=value,
        by="verified" if item.get("verified") is True else by,
        task=_text(dataset.get("task_id")),
        date=day.isoformat() if day else None,
        source_name=_source_name(source),
        source_url=_url(source.get("url")),
        notes=_text(data.get("notes"), _MAX_NOTES_CHARS),
    )


def _indexed(model_index: JsonValue) -> Iterator[PublishedResult]:
    # A metric may be marked as verified, but by the card's author.
    for model in list_in(model_index)[:_MAX_ENTRIES]:
        for entry in list_in(object_in(model).get("results"))[:_MAX_ENTRIES]:
            yield from _metrics(object_in(entry))


def _metrics(entry: JsonObject) -> Iterator[PublishedResult]:
    dataset, source = object_in(entry.get("dataset")), object_in(entry.get("source"))
    benchmark = _text(dataset.get("name")) or _text(dataset.get("type"))
    for metric in map(object_in, list_in(entry.get("metrics"))[:_MAX_ENTRIES]):
        value = _number(metric.get("value"))
        if value is not None and benchmark is not None:
            yield PublishedResult(
                benchmark=benchmark,
                value=value,
                by="maker",
                task=_text(dataset.get("config")),
                metric=_text(metric.get("name")) or _text(metric.get("type")),
                source_name=_source_name(source),
                source_url=_url(source.get("url")),
            )


def _number(value: JsonValue) -> float | None:
    if type(value) not in (int, float) or not isinstance(value, int | float):
        return None
    # compared before it is converted: an integer of JSON may have any number of digits
    return float(value) if -_MAX_VALUE <= value <= _MAX_VALUE and math.isfinite(value) else None


def _source_name(source: JsonObject) -> str | None:
    names = (_text(source.get(key)) for key in ("name", "org", "user"))
    return next((name for name in names if name), None)


def _text(value: JsonValue, most: int = _MAX_NAME_CHARS) -> str | None:
    if not isinstance(value, str):
        return None
    text = printable(" ".join(value[: 4 * most].split()))
    return f"{text[: most - 1]}…" if len(text) > most else text or None


def _url(value: JsonValue) -> str | None:
    if not isinstance(value, str) or len(value) > _MAX_URL_CHARS or not value.isascii():
        return None
    try:
        parts = urlsplit(value)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    is_plain = value.isprintable() and " " not in value and "@" not in parts.netloc
    return value if is_usable and is_plain else None
