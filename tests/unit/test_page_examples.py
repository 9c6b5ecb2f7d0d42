"""What a stranger sees before asking: examples that answer, and a real answer in short."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode

import pytest

from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import LANGUAGES
from gpusizer.ui.page.answering import answer, sample_answer
from gpusizer.ui.page.asked import FormCall, Wish
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.catalogue import sold_first
from gpusizer.ui.presenters.examples import links_html, sample_html, tab_html
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tab_examples import MACHINES, TRAININGS, comparisons
from tests.asking import compare
from tests.builders import tiny
from tests.pages import LLAMA, Page, page_handlers
from tests.sizers import embedded_sizer

EXAMPLES = {**comparisons(), **TRAININGS, **MACHINES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_answered(name: str) -> None:
    questions, example = page_handlers().questions, EXAMPLES[name]
    _, query = question_href(example, "zh").split("?")
    assert {field: values[0] for field, values in parse_qs(query).items()} == example
    opening = (Wish("load", "?" + urlencode(example)),)
    if example["tab"] == "train":
        *_, shown = questions.train(FormCall({}, wishes=opening))
        assert "gs-ranked" in shown["answer"]
    elif example["tab"] == "reverse":
        *_, shown = questions.models_for(FormCall({}, wishes=opening))
        assert shown["models"]["value"]["data"]
    else:
        state = PageState.from_query(urlencode(example))
        compared = compare(embedded_sizer(), {"model": state.model, "gpus": list(state.gpus or ())})
        assert len(compared.items) == len(name.split(" · ")) == 3
        assert all(item.ranked for item in compared.items)


def test_each_empty_tab_has_three_examples() -> None:
    assert len(comparisons()) == len(TRAININGS) == len(MACHINES) == 3
    for language in LANGUAGES:
        for name, examples in (("train", TRAININGS), ("reverse", MACHINES)):
            page = Page(tab_html(name, examples, Words(language)))
            assert page.text.count(next(iter(examples))) == 1


def test_examples_of_the_comparison_keep_the_model() -> None:
    links = links_html(comparisons("a/<b>&tab=know"), Words("en"))
    assert "model=a/%3Cb%3E%26tab%3Dknow" in links
    *_, shown = page_handlers().compare_for(FormCall({"model": LLAMA}))
    assert f"model={LLAMA}" in shown["cards"]


def test_the_example_of_an_answer_is_the_answer() -> None:
    sizer = embedded_sizer()
    snapshot = sizer.fetch(sizer.parse(LLAMA))
    sample = sample_answer(sizer, LLAMA, lambda model: snapshot)
    assert sample is not None
    whole = answer(sizer, PageState(LLAMA))
    assert sample.tiers == whole.tiers
    for language in LANGUAGES:
        words = Words(language)
        page = Page(sample_html(sample, words))
        for tier in whole.tiers:
            assert words.amount(tier.row.estimate.all_gpus.total.likely) in page.text


def test_no_example_where_nothing_is_stored() -> None:
    def refuse(model: str) -> RepoSnapshot:
        raise AssertionError(model)

    sizer = embedded_sizer().reading(lambda ref: refuse(ref.repo_id))
    assert sample_answer(sizer, LLAMA, lambda model: None) is None
    assert sample_answer(sizer, "a/b", lambda model: tiny()) is not None, "the Hub is not asked"


def test_the_catalogue_starts_with_what_is_sold() -> None:
    gpus = sold_first(embedded_sizer().catalogue.gpus)
    statuses = [gpu.status == "current" for gpu in gpus]
    assert statuses == sorted(statuses, reverse=True)
    sold = [gpu.release_year for gpu in gpus if gpu.status == "current"]
    assert sold == sorted(sold, reverse=True)
    questions = page_handlers().questions
    table, found = (questions.catalogue(text)["catalogue.table"] for text in ("", "rtx 4090"))
    assert table["value"]["data"][0][0] == gpus[0].name
    assert found["value"]["data"][0][0].startswith("GeForce RTX 4090"), "the likeliest first"
