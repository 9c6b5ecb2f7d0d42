"""The accuracy in the documents equals that of the benchmark now."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.accuracy_table import (
    AccuracyTable,
    AuthorRow,
    SpeedsLeftOut,
    accuracy_from_json,
    load_accuracy,
)
from bench.authors import CLAIMS
from bench.evaluation import evaluate
from bench.measurements import load
from bench.publication import (
    DOCUMENT,
    README,
    document,
    headline,
    publish,
    with_headline,
)
from gpusizer.core.messages import Note

STALE = "run: python -m bench.accuracy --write-docs"
ROW: dict[str, Any] = {
    "engine": "vllm",
    "component": "weights",
    "n": 4,
    "median": 0.01,
    "mean": 0.015,
    "bias": -0.005,
    "p95": 0.06,
    "mean_gib": 0.25,
    "left_out": {
        "n": 4,
        "sources": 3,
        "median": 0.012,
        "mean": 0.02,
        "p95": 0.07,
        "bias": 0.01,
        "in_band": 0.75,
    },
    "first_contact": {
        "n": 2,
        "sources": 1,
        "median": 0.1,
        "mean": 0.3,
        "p95": 0.5,
        "bias": 0.0,
        "in_band": None,
    },
    "naive_mean": 0.08,
    "hf_mem": {
        "mean": 0.5,
        "median": 0.13,
        "named_mean": 0.25,
        "answered": 2,
        "asked": 4,
        "named_answered": 3,
    },
    "worst": {"relative": 0.06, "source_url": "https://example.org/log?a=1&b=2"},
}


def table(*rows: dict[str, Any]) -> AccuracyTable:
    return accuracy_from_json(
        {
            "as_of": "2026-01-02",
            "rows": {"serving": [10, 8]},
            "out_of_memory": 3,
            "said_fits": 0,
            "ran": 7,
            "said_not": 1,
            "hf_mem": "1.2",
            "sections": {"memory": list(rows), "apart": list(rows)},
        }
    )


def test_the_documents_show_the_published_table() -> None:
    readme = README.read_text("utf-8")
    assert readme == with_headline(readme, load_accuracy()), STALE
    assert DOCUMENT.read_text("utf-8") == document(load_accuracy()), STALE


def test_a_date_changes_only_with_the_numbers(tmp_path: Path) -> None:
    path, rows = tmp_path / "accuracy.json", load()[:40]
    first = publish(evaluate(rows), path)
    old = path.read_text("utf-8").replace(first.as_of, "2020-01-01")
    path.write_text(old, "utf-8")
    assert publish(evaluate(rows), path).as_of == "2020-01-01"
    assert path.read_text("utf-8") == old
    assert publish(evaluate(rows[:20]), path).as_of == first.as_of


def test_the_headline_by_hand() -> None:
    lines = headline(table(ROW, {**ROW, "component": "graphs"})).splitlines()
    assert lines[1:-1] == ["- vllm: weights 2.0% (median 1.2%, all rows 1.5%, naive 8.0%)"]
    assert len(headline(load_accuracy()).splitlines()) == 8


def test_the_document_by_hand() -> None:
    text = document(table(ROW))
    left_out = "| **2.0%** | 1.2% | 7.0% | +1.0% | 75% | 3 | 2 | 30% "
    everything = "| 4 | 1.0% | 1.5% | −0.50% | 6.0% | 0.25 | 8.0% | 50% (2/4) "
    worst = "| [+6.0%](https://example.org/log?a=1"
    assert f"| vllm | weights {left_out}{everything}{worst}" in text
    assert "## Runs with something that no request can state" in text
    assert "10 published measurements, 8 of them" in text
    assert "*hf-mem* is hf-mem 1.2" in text
    assert "of 7 that ran we say “does not fit” of 1." in text
    assert "Medians of hf-mem's errors: vllm weights 13%." in text
    assert (
        "`--kv-cache-dtype bfloat16` wherever a row says `auto`, its means: vllm weights 25% (3/4)."
        in text
    )
    plain = {**ROW, "mean_gib": None, "naive_mean": None, "hf_mem": None, "first_contact": None}
    assert "| 6.0% | — | — | — |" in document(table(plain))
    assert "| 75% | 3 | — | — | 4 |" in document(table(plain))
    assert "--kv-cache-dtype" not in document(table(plain))


def test_the_document_tells_what_is_left_without_source_card_and_generation() -> None:
    row = {"component": "decode_amd", "n": 47, "source": [0.08, 0.18]}
    row |= {"card": [0.16, 0.24], "generation": [0.15, 0.255]}
    speeds = replace(table(ROW), sections={"speed": table(ROW).sections["memory"]})
    shown = replace(speeds, speeds_left_out=(SpeedsLeftOut(**row),))
    assert "| decode_amd | 47 | 8.0% | 18% | 16% | 24% | 15% | 26% |" in document(shown)
    assert "source: median" not in document(speeds)


AUTHORS = [
    AuthorRow("a/b", "24 GB", verdict, Note("card_quant_unsaid"), "https://example.org/card")
    for verdict in ("agrees", "agrees", "needs_more", "not_comparable")
]


def test_what_authors_say_by_hand() -> None:
    with_authors = replace(table(ROW), authors=tuple(AUTHORS))
    text = document(with_authors)
    assert "2 agree, 1 need more than is said, 0 less, 1 cannot be compared." in text
    assert "| a/b | 24 GB | needs more | It does not say which" in text
    assert "## What authors say" not in document(table(ROW))


def test_claims_of_authors_are_facts_with_an_address() -> None:
    claims = [json.loads(line) for line in CLAIMS.read_text("utf-8").splitlines()]
    assert all(claim["source_url"].startswith("https://") for claim in claims)
    assert not [claim for claim in claims if "quote" in claim["statement"]]
    assert len(load_accuracy().authors) == len(claims)
