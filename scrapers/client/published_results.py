"""Parsers of the benchmark results that the Hub's API repeats of a repository.

Two forms exist: `evalResults`, the files `.eval_results/*.yaml` of a repository and of its open
pull requests (https://huggingface.co/docs/hub/eval-results), and `model-index`, older metadata of a
model card. Both are written by strangers: an entry of another form is left out.
"""

from __future__ import annotations

import math
import re
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
MAX_NOTES_CHARS = 200
_MAX_URL_CHARS = 300
_MAX_VALUE = 1e12
_PLAIN_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,12})?", re.ASCII)


def evaluation_results(answer: JsonValue, today: date) -> tuple[PublishedResult, ...]:
    """Return the results of a description with `expand=evalResults`, `MOST_RESULTS` at most."""
    items = list_in(object_in(answer).get("evalResults"))[:_MAX_ENTRIES]
    return _first(result for item in items for result in _evaluated(object_in(item), today))


def index_results(model_index: JsonValue) -> tuple[PublishedResult, ...]:
    """Return the results of the metadata `model-index`, `MOST_RESULTS` at most."""
    return _first(_indexed(model_index))


def joined_results(*groups: Iterable[PublishedResult]) -> tuple[PublishedResult, ...]:
    """Return all results, each once, `MOST_RESULTS` at most."""
    return _first(result for group in groups for result in group)


def _first(results: Iterable[PublishedResult]) -> tuple[PublishedResult, ...]:
    return tuple(islice(dict.fromkeys(results), MOST_RESULTS))


def _evaluated(item: JsonObject, today: date) -> Iterator[PublishedResult]:
    # `data` repeats the file, so that all in it is the author's word; the Hub's own is beside it.
    data = object_in(item.get("data"))
    dataset, value = object_in(data.get("dataset")), read_score(data.get("value"))
    benchmark = dataset.get("id")
    if value is None or not isinstance(benchmark, str) or not is_repo_id(benchmark):
        return
    source, day = object_in(data.get("source")), read_day(data.get("date"), today)
    yield PublishedResult(
        benchmark=benchmark,
        value=value,
        by=stated_by(item),
        task=read_text(dataset.get("task_id")),
        date=day.isoformat() if day else None,
        source_name=_source_name(source),
        source_url=_url(source.get("url")),
        notes=read_text(data.get("notes"), MAX_NOTES_CHARS),
    )


def _indexed(model_index: JsonValue) -> Iterator[PublishedResult]:
    # Lists may share parts where YAML has aliases: what is looked at is bounded in all.
    models = map(object_in, list_in(model_index)[:_MAX_ENTRIES])
    entries = (object_in(entry) for model in models for entry in list_in(model.get("results")))
    metrics = (
        (entry, object_in(metric))
        for entry in islice(entries, _MAX_ENTRIES)
        for metric in list_in(entry.get("metrics"))
    )
    for entry, metric in islice(metrics, _MAX_ENTRIES):
        result = _measured(entry, metric)
        if result is not None:
            yield result


def _measured(entry: JsonObject, metric: JsonObject) -> PublishedResult | None:
    # A metric may be marked as verified, but by the card's author.
    dataset, source = object_in(entry.get("dataset")), object_in(entry.get("source"))
    benchmark = read_text(dataset.get("name")) or read_text(dataset.get("type"))
    value = read_score(metric.get("value"))
    if value is None or benchmark is None:
        return None
    return PublishedResult(
        benchmark=benchmark,
        value=value,
        by="maker",
        task=read_text(dataset.get("config")),
        metric=read_text(metric.get("name")) or read_text(metric.get("type")),
        source_name=_source_name(source),
        source_url=_url(source.get("url")),
    )


def stated_by(item: JsonObject) -> StatedBy:
    """Return who states an entry of the Hub's, by what the Hub adds to it."""
    if item.get("verified") is True:
        return "verified"
    return "maker" if item.get("pullRequest") is None else "community"


def read_score(value: JsonValue) -> float | None:
    """Return a finite score; None for another value. Older cards write "8.19" in quotes."""
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value):
        return float(value)
    if type(value) not in (int, float) or not isinstance(value, int | float):
        return None
    # compared before it is converted: an integer of JSON may have any number of digits
    return float(value) if -_MAX_VALUE <= value <= _MAX_VALUE and math.isfinite(value) else None


def _source_name(source: JsonObject) -> str | None:
    names = (read_text(source.get(key)) for key in ("name", "org", "user"))
    return next((name for name in names if name), None)


def read_text(value: JsonValue, most: int = _MAX_NAME_CHARS) -> str | None:
    """Return a text in one line, printable and cut; None for another value and an empty text."""
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
