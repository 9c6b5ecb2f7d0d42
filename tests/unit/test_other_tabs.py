"""The listeners of the other tabs: their addresses, and the rights with which they read."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

import gradio as gr
import pytest

from gpusizer.core.errors import GatedModel
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.asked import FormCall, PageEvent
from gpusizer.ui.page.forms import FORMS
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.presenters.pieces.words import Words
from tests.asking import listing
from tests.pages import page_handlers
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
REVERSE = ("gpu", "context", "purpose", "license", "live")
TOKEN = gr.OAuthToken(token="theirs", scope="gated-repos", expires_at=2**40)


def _closed(ref: ModelRef) -> RepoSnapshot:
    raise GatedModel(repo_id=ref.repo_id)


@pytest.fixture
def questions() -> Questions:
    """Return the listeners over a Hub that shows the model only to the visitor."""
    sizer = embedded_sizer()
    rights = {TOKEN.token: sizer.fetch}
    return Questions(sizer.reading(_closed), lambda token: rights[token], Words("en"))


@pytest.mark.parametrize(
    "values", [("4090", 65536, "vision", "mit", True), ("2x3090", 8192, "", "", False)]
)
def test_the_reverse_address_brings_back_the_question(
    questions: Questions, values: tuple[str, int, str, str, bool]
) -> None:
    fields = dict(zip(REVERSE, values, strict=True))
    *_, shown = questions.models_for(FormCall(fields))
    assert FORMS["reverse"].values(FORMS["reverse"].read(shown["query"]), REVERSE) == fields
    *_, restored = questions.models_for(FormCall({}, events=(PageEvent("load", shown["query"]),)))
    assert restored == shown


@pytest.mark.parametrize(
    ("typed", "shown"), [("poetry", ""), ("VISION", "vision"), ("", ""), ("<b>", "")]
)
def test_an_unknown_purpose_of_an_address_gives_an_error(
    questions: Questions, typed: str, shown: str
) -> None:
    address = {"gpu": "4090", "purpose": typed}
    form = FORMS["reverse"].values(FORMS["reverse"].read(address))
    assert (form["gpu"], form["purpose"]) == ("4090", shown)
    *_, answered = questions.models_for(
        FormCall({}, events=(PageEvent("load", urlencode(address)),))
    )
    answer = answered["answer"]
    unknown = typed.lower() != shown
    assert ("gs-error" in answer) is unknown
    assert (escape(typed) in answer) or not unknown


def test_who_signed_in_trains_and_checks_what_they_may_read(questions: Questions) -> None:
    fields = {"model": LLAMA, "gpu": "4090"}
    *_, theirs = questions.train(FormCall(fields, token=TOKEN))
    *_, anybodys = questions.train(FormCall(fields))
    assert "gs-training" in theirs["answer"] and "gs-training" not in anybodys["answer"]
    log = "Model loading took 14.9888 GiB and 3.2 seconds"
    assert questions.check_log(log, LLAMA, "4090", TOKEN) != questions.check_log(log, LLAMA, "4090")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_is_searched_as_in_the_shell(language: Language) -> None:
    sizer = embedded_sizer()
    questions = page_handlers(language).questions
    table = questions.catalogue("L4")["catalogue.table"]
    listed = listing(sizer, {"query": "L4"})
    assert [row[0] for row in table["value"]["data"]] == [gpu.name for gpu in listed.gpus]
    assert table["value"]["data"][0][0] == "L4 24GB"
    found = questions.catalogue("rtx 4091")
    above = found["catalogue.heading"]
    assert found["catalogue.table"]["visible"] is False
    for note in listing(sizer, {"query": "rtx 4091"}).notes:
        assert escape(questions.words.note(note)) in above
    assert "GeForce RTX 4090 24GB" in above
    table = questions.catalogue("")["catalogue.table"]
    assert len(table["value"]["data"]) == len(sizer.catalogue.gpus)
