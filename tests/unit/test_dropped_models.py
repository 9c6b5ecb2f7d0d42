"""Models that newer releases of vLLM refuse: other engines, or the release that still runs them."""

from __future__ import annotations

import pytest

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.engines.vllm.releases import is_newer
from gpusizer.text import LANGUAGES, say_note
from tests.asking import size
from tests.sizers import embedded_sizer

VISION = "meta-llama/Llama-3.2-11B-Vision-Instruct"


def test_the_last_release_is_named_where_vllm_is_asked_for() -> None:
    fields = {"model": VISION, "gpu": "l40s", "engine": "vllm"}
    report = size(embedded_sizer(), fields)
    assert report.ranking[0].fit.verdict is Verdict.NOT_SUPPORTED
    note = next(note for note in report.notes if note.code == "engine_dropped_model")
    assert note.fields == {"engine": "vLLM", "version": "0.10.2"}
    for language in LANGUAGES:
        assert "0.10.2" in say_note(note, language)


@pytest.mark.parametrize("version", ["0.10.2", "0.8.5", "V0"])
def test_that_release_runs_it(version: str) -> None:
    fields = {"model": VISION, "gpu": "l40s", "engine": "vllm", "engine_version": version}
    report = size(embedded_sizer(), fields)
    assert report.ranking[0].fit.verdict.all_on_gpu
    assert "engine_dropped_model" not in {note.code for note in report.notes}


def test_no_answer_chooses_it() -> None:
    report = size(embedded_sizer(), {"model": VISION, "concurrency": 32, "top": 20})
    engines = {place.fit.estimate.engine.slug for place in report.ranking}
    assert engines and "vllm" not in engines


@pytest.mark.parametrize(
    ("version", "last", "newer"),
    [
        (None, "0.26.0", True),
        ("0.10.2", "0.10.2", False),
        ("v0.10.2rc1", "0.10.2", False),
        ("0.10.3", "0.10.2", True),
        ("V0", "0.9.2", False),
        ("latest", "0.23.0", True),
    ],
)
def test_versions_compare_by_their_numbers(version: str | None, last: str, newer: bool) -> None:
    assert is_newer(version, last) is newer


def test_the_table_names_each_class_once() -> None:
    path = DATA_DIR / "vllm_dropped_models.csv"
    rows = read_table(path, lambda row: (row.text("class"), row.text("last_release")))
    assert len(dict(rows)) == len(rows) > 20
    assert all(is_newer(None, last) and not is_newer(last, last) for _, last in rows)
