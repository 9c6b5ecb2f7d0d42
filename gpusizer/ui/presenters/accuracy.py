"""The table of errors against published measurements, beside those of a naive calculator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from gpusizer.answers.accuracy import (
    AccuracyTable,
    AuthorRow,
    ErrorRow,
    QualityErrors,
    rival_text,
)
from gpusizer.answers.model_card.verdicts import CardVerdict
from gpusizer.memory.engines import ENGINES
from gpusizer.ui.presenters.pieces.grid import known
from gpusizer.ui.presenters.pieces.html import Html, el, fold, join, outside, section
from gpusizer.ui.presenters.pieces.number_format import DASH, percent
from gpusizer.ui.presenters.pieces.table import Columns, rows_html, scrolling, table_html
from gpusizer.ui.presenters.pieces.words import Words

DECISIVE = {
    "memory": ("process_total", "kv_pool", "pipeline_peak", "graphs"),
    "speed": (
        *("decode_gddr", "decode_hbm", "decode_apple", "decode_amd", "decode_moe"),
        *("decode_tensor", "prefill", "serving"),
    ),
    "training": ("peak_one_gpu", "peak_several_gpus"),
}
"""By section: components that decide what people buy; all others are folded."""
_DECISIVE_COLUMNS = ("component", "n", "left_out", "left_out_p95", "in_band", "worst")
_SECTIONS = ("training", "speed", "apart")
_FULL_BAR = 1.0  # an error of 100 % fills its cell


def accuracy_html(table: AccuracyTable, words: Words) -> Html:
    """Write the errors that decide, folded every component, and what no request can state apart."""
    everything = table.sections.get("memory", ())
    return section(
        "accuracy",
        words.heading("accuracy", count=words.whole(table.predicted), date=table.as_of),
        el("p", words("accuracy.decisive"), class_="gs-small"),
        _decisive(table, words),
        _of_quality(table.quality, words),
        _of_authors(table.authors, words),
        fold(
            words("accuracy.all"),
            el("p", words("accuracy.columns"), class_="gs-small"),
            el("p", words("accuracy.how", release=table.hf_mem), class_="gs-small"),
            el("h4", words("accuracy.memory")),
            _table(everything, words),
            el(
                "p",
                words(
                    "accuracy.verdicts",
                    runs=table.out_of_memory,
                    said=table.said_fits,
                    ran=table.ran,
                    said_not=table.said_not,
                ),
                class_="gs-small",
            ),
            join(_sections(table, words)),
            class_="gs-accuracy",
        ),
    )


def _of_quality(errors: QualityErrors | None, words: Words) -> Html | None:
    """Write how near the losses of quantizations are."""
    if errors is None:
        return None
    said = words(
        "accuracy.quality",
        count=words.whole(errors.n),
        median=words.number(errors.median_factor, "g"),
        most=words.number(errors.p80_factor, "g"),
        band=words.number(round(100 * errors.in_band), "g"),
        exact=words.number(round(100 * errors.word_exact), "g"),
        near=words.number(round(100 * errors.word_near), "g"),
    )
    return el("p", said, class_="gs-small")


def _decisive(table: AccuracyTable, words: Words) -> Html:
    """Write the errors of what answers are made of: the memory of a run, the speed of one user and
    of many, training."""
    rows = [
        row
        for section, components in DECISIVE.items()
        for component in components
        for row in _most_measured(table.sections.get(section, ()), component)
    ]
    every = _columns(words)
    named = every["component"]
    columns = {name: every[name] for name in _DECISIVE_COLUMNS}
    columns["component"] = lambda row: join((_engine(row.engine, words), " · ", named(row)))
    return table_html(columns, rows, words, "gs-errors")


def _most_measured(rows: Sequence[ErrorRow], component: str) -> list[ErrorRow]:
    """The row of a component under the engine with the most runs; none where nobody measured it."""
    of_engines = [row for row in rows if row.component == component]
    return sorted(of_engines, key=lambda row: -row.n)[:1]


def _of_authors(rows: Sequence[AuthorRow], words: Words) -> Html | None:
    """Write how many claims of authors agree with what is needed."""
    if not rows:
        return None
    counts = Counter(row.verdict for row in rows)
    of_verdicts = {verdict.value: words.whole(counts[verdict]) for verdict in CardVerdict}
    said = words("accuracy.authors", n=words.whole(len(rows)), **of_verdicts)
    return el("p", said, class_="gs-small")


def _table(rows: Sequence[ErrorRow], words: Words) -> Html:
    """Write one table body per engine, with its name above its components."""
    columns = _columns(words)
    bodies = [
        el("tbody", _name(engine, len(columns), words), rows_html(columns, group, words))
        for engine, group in groupby(rows, lambda row: row.engine)
    ]
    return scrolling(columns, join(bodies), words, "gs-errors")


def _name(engine: str, columns: int, words: Words) -> Html:
    name = el("th", _engine(engine, words), scope="rowgroup", colspan=columns)
    return el("tr", name, class_="gs-engine")


def _columns(words: Words) -> Columns[ErrorRow]:
    return {
        "component": lambda row: words(f"component.{row.component}"),
        "n": lambda row: words.whole(row.n),
        "median": lambda row: words.deviation(row.median),
        "mean": lambda row: words.deviation(row.mean),
        "left_out": lambda row: _with_bar(row.left_out.mean, "ours", words),
        "left_out_p95": lambda row: words.deviation(row.left_out.p95),
        "in_band": lambda row: known(row.left_out.in_band, words.deviation),
        "first_contact": lambda row: _first_contact(row, words),
        "naive": lambda row: _with_bar(row.naive_mean, "naive", words),
        "hf_mem": lambda row: words.written(rival_text(row.hf_mem)),
        "worst": lambda row: _worst(row, words),
    }


def _first_contact(row: ErrorRow, words: Words) -> str:
    """The mean error of rows when they arrived, and how many they are."""
    contact = row.first_contact
    return (
        DASH if contact is None else f"{words.deviation(contact.mean)} ({words.whole(contact.n)})"
    )


def _with_bar(share: float | None, who: str, words: Words) -> Html:
    """Write a share with a bar below it, which is full at 100 %."""
    if share is None:
        return join((DASH,))
    width = percent(min(share, _FULL_BAR), _FULL_BAR)
    bar = el("span", el("i", style=f"width:{width}"), class_=f"gs-error-bar gs-{who}")
    return join((words.deviation(share), bar))


def _worst(row: ErrorRow, words: Words) -> Html:
    """Write the largest error, with a link to the published measurement."""
    deviation = words.deviation(row.worst, signed=True)
    if not row.worst_url.startswith("https://"):
        return join((deviation,))
    label = words("accuracy.source", error=deviation)
    return outside(deviation, row.worst_url, aria_label=label)


def _sections(table: AccuracyTable, words: Words) -> Iterator[Html]:
    """Training, speeds, and runs with something that no request can state."""
    for name in _SECTIONS:
        rows = table.sections.get(name)
        if rows:
            yield el("h4", words(f"accuracy.{name}"))
            yield _table(rows, words)


def _engine(slug: str, words: Words) -> str:
    if slug in ("gguf", "training", "speed"):
        return words(f"accuracy.{slug}")
    return ENGINES[slug].name if slug in ENGINES else slug
