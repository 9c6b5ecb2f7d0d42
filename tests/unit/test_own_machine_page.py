"""The page's part of the visitor's own machine and prices: state, fields, cards, scripts."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlencode

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.request_model import RequestModel
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import answer, compare, report_of
from gpusizer.ui.page.asked import FormCall, PageEvent
from gpusizer.ui.page.forms import FORMS, OF_NAMED_GPUS, OWN_FIELDS
from gpusizer.ui.page.other_tabs import Questions
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.page.picked_memory import on_possible_gpus
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from gpusizer.ui.presenters.choices import MAX_PICKS
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.reading import RANKED
from gpusizer.usecases.requests.request import SizeRequest
from tests.pages import ENGLISH, LLAMA, Page, cards, page_handlers
from tests.sizers import embedded_sizer

OWN = PageState(
    LLAMA,
    {
        "used_gb": "3.5",
        "ram_gb": "64",
        "ram_gb_per_s": "96",
        "disk_gb_per_s": "3.2",
        "gpu_usd": "1234.5",
        "gpu_usd_per_hour": "0.25",
        "usd_per_kwh": "0.4",
    },
    gpus=("4090",),
)


def card(state: PageState, language: Language = "en") -> str:
    words = Words(language)
    return Page(
        side_by_side_html(compare(embedded_sizer(), state), state.gpus or (), "", words)
    ).text


def test_the_fields_and_the_address_say_the_same() -> None:
    assert PageState.from_query(OWN.query) == OWN
    values = [3.5, None, 64, 96, 3.2, 1234.5, 0.25, 0.4]
    plain = PageState(LLAMA, gpus=("4090",))
    assert plain.stating(dict(zip(FORMS["size"].machine, values, strict=True))) == OWN
    assert OWN.stating(dict.fromkeys(OWN_FIELDS)) == plain
    assert OWN.shows(OWN.form) and not plain.shows(OWN.form)


def loaded(query: str) -> dict[str, object]:
    return page_handlers().load(f"?{query}", "")


def test_an_address_fills_the_fields_of_every_tab_and_opens_their_folds() -> None:
    outputs = loaded(OWN.query)
    for tab, form in FORMS.items():
        fold = outputs[f"{tab}.machine"]
        assert isinstance(fold, dict) and fold["open"] is True, tab
        for name in form.machine:
            stated = OWN.stated.get(name)
            assert outputs[f"{tab}.{name}"] == (float(stated) if stated else "")
    outputs = loaded("ram_gb=64")
    assert "train.machine" not in outputs, "training asks for no system memory"
    assert {outputs[f"train.{name}"] for name in FORMS["train"].machine} == {""}


@pytest.mark.parametrize(
    "name", [*FORMS["size"].machine, "requests_per_second", "acceptance_rate", "ttft_ms"]
)
@pytest.mark.parametrize("text", ["many", "-1", "<b>", "1e12", "nan", "1" * 40])
def test_what_the_request_refuses_leaves_its_field_empty(name: str, text: str) -> None:
    outputs = loaded(urlencode({name: text}))
    assert [value for value in outputs.values() if isinstance(value, float)] == []
    with pytest.raises(InvalidRequest):
        SizeRequest.from_fields({name: text})


def test_a_field_shows_a_number_as_the_request_reads_it() -> None:
    form = PageState(LLAMA, {"gpu_usd": "1e3", "context": "8,192"}).form
    assert (form["gpu_usd"], form["context"]) == (1000.0, 8192)


def test_a_page_checks_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of its address serves headline, places, pictures and files."""
    checked: list[type[RequestModel]] = []
    validate = SizeRequest.model_validate

    def counted(cls: type[RequestModel], fields: object) -> object:
        checked.append(cls)
        return validate(fields) if cls is SizeRequest else pytest.fail(f"checks a {cls}")

    monkeypatch.setattr(RequestModel, "model_validate", classmethod(counted))
    handlers = page_handlers()
    address = {"model": LLAMA, "gpu": "3060 + 64 GB RAM", "gpus": "4090,2x3090", "context": "4097"}
    *_, shown = handlers.ask(FormCall({}, "", (PageEvent("load", urlencode(address)),)))
    assert "RTX 3060" in shown["answer"].partition("</h2>")[0]
    assert shown["cards"].count("data-remove") == 2
    assert handlers.draw(shown["query"])["along.plot"]["visible"]
    (taken,) = json.loads(handlers.share(shown["query"], '[["take", "json"]]'))
    assert len(json.loads(taken["text"])["ranking"]) == RANKED
    assert checked == [SizeRequest]


def test_what_is_wrong_with_the_machine_leaves_the_ranking() -> None:
    wrong = PageState(LLAMA, {"gpu": "4090", "ram_gb": "0.5"})
    shown = answer(embedded_sizer(), wrong)
    assert shown.report.ranking and isinstance(shown.own, InvalidRequest)
    assert shown.own.fields["field"] == "ram_gb"
    with pytest.raises(InvalidRequest, match="context"):
        answer(embedded_sizer(), wrong.stating({"context": "0"}))


def test_an_address_names_as_many_places_as_a_request_may() -> None:
    state = PageState.from_query(urlencode({"gpus": ",".join(["4090"] * 500)}))
    assert len(state.gpus or ()) == 64
    (long,) = PageState.from_query(urlencode({"gpus": "x" * 2000})).gpus or ()
    assert len(long) == 300


def test_a_ranking_of_all_is_asked_without_what_counts_for_named_gpus() -> None:
    sizer = embedded_sizer()
    report = report_of(sizer, OWN)
    codes = {note.code for note in report.notes}
    assert not codes & {"own_memory_not_applied", "own_prices_need_a_gpu"}
    assert report.request.usd_per_kwh == 0.4 and report.request.disk_gb_per_s == 3.2
    plain = answer(sizer, PageState(LLAMA, {"usd_per_kwh": "0.4", "disk_gb_per_s": "3.2"}))
    assert answer(sizer, OWN).tiers == plain.tiers
    assert set(OF_NAMED_GPUS) < set(OWN_FIELDS)


def test_a_card_says_what_a_million_tokens_costs() -> None:
    state = PageState(LLAMA, gpus=("4090",))
    comparison = compare(embedded_sizer(), state)
    assert comparison is not None and comparison.items[0].ranked is not None
    costs = comparison.items[0].ranked.costs
    for language in LANGUAGES:
        words, text = Words(language), card(state, language)
        assert words("spec.million") in text
        for config, usd in (
            ("owned", costs.usd_per_million_tokens_owned),
            ("rented", costs.usd_per_million_tokens),
        ):
            assert usd is not None
            assert words(f"spec.million_{config}", price=words.usd(usd)) in text
        months = costs.break_even_months
        assert months is not None and words.number(months, ",.3g") in text


def test_a_price_that_nobody_knows_is_left_out() -> None:
    text = card(PageState(LLAMA, gpus=("custom:24GB@1000GB/s@100TFLOPS@CUDA",)))
    assert ENGLISH("spec.million") not in text and ENGLISH("spec.break_even") not in text


def test_memory_in_use_is_stated_of_every_gpu() -> None:
    catalogue = embedded_sizer().catalogue
    assert on_possible_gpus(OWN.request, ("4090",), catalogue) == (OWN.request, ("4090",), ())
    free = PageState("", {"usable_gb": "20.5"}).request
    picked = ("2x4090", "3070", "3090 (10 GB free)")
    request, gpus, refusals = on_possible_gpus(free, picked, catalogue)
    assert gpus == ("2x4090 (20.500 GB free)", "3070", "3090 (10 GB free)")
    assert request == PageState().request
    assert [error.fields["reason"] for error in refusals] == ["free_memory_beyond"]
    used = PageState("", {"used_gb": "9"}).request
    _, gpus, _ = on_possible_gpus(used, ("4090", "3070"), catalogue)
    assert gpus == ("4090 (9.000 GB used)", "3070")


def test_a_gpu_that_cannot_have_that_is_counted_whole_and_said_so() -> None:
    query = PageState(gpus=("4090", "3070")).query
    *_, shown = page_handlers().compare_for(FormCall({"model": LLAMA, "usable_gb": 20.5}, query))
    cards, address = shown["cards"], shown["query"]
    assert cards.count("20.5 GB free") > 0 and "rtx-3070-8gb: 20.5 GB" in cards
    assert PageState.from_query(address).gpus == ("4090", "3070")


def test_a_gpu_is_picked_on_the_machine_that_the_fields_state() -> None:
    before = PageState(LLAMA, gpus=("4090",))
    fields = {**before.form, "used_gb": 8}
    asked = FormCall(fields, before.query, (PageEvent("pick", "h100"),))
    *_, shown = page_handlers().ask(asked)
    after = PageState(LLAMA, {"used_gb": "8"}, ("4090", "h100"))
    assert PageState.from_query(shown["query"]) == after
    assert shown["cards"].count("GB free)</span><button") == 2


def test_places_that_the_page_filled_give_way() -> None:
    """The oldest of them first, and at last the first choice; a fifth pick of the visitor's not."""
    filled = PageState(LLAMA).filling(("b60", "4090", "a100", "m3 max"))
    seen, state = [], filled
    for gpu in ("h100", "3090", "a100", "3070"):
        after = state.with_gpu(gpu, 4)
        assert after is not None
        state = after
        seen.append(state.gpus)
    assert seen == [
        ("b60", "a100", "m3 max", "h100"),
        ("b60", "m3 max", "h100", "3090"),
        ("b60", "h100", "3090", "a100"),
        ("h100", "3090", "a100", "3070"),
    ]
    assert state.with_gpu("l40s", 4) is None and state.with_gpu("3090", 4) == state
    assert PageState.from_query(filled.query) == filled
    dropped = filled.without_gpu("4090")
    assert (dropped.gpus, dropped.filled) == (("b60", "a100", "m3 max"), "3")
    assert filled.with_gpu("4090", 4) == PageState(
        LLAMA, gpus=("b60", "a100", "m3 max", "4090"), filled="3"
    ), "what the visitor picks himself is his"
    assert PageState(gpus=("a", "b"), filled="99").own_gpus == ()


def test_the_visitors_machine_stands_before_what_is_compared() -> None:
    handlers = page_handlers()
    question = {"model": LLAMA, "gpu": "3060 + 64 GB RAM"}
    *_, shown = handlers.ask(FormCall(question, "", (PageEvent("ask", ""),)))
    state = PageState.from_query(shown["query"])
    assert state.places[0] == "3060 + 64 GB RAM" and len(state.places) == MAX_PICKS
    assert "RTX 3060" in shown["answer"].partition("</h2>")[0]
    assert shown["cards"].count("data-remove") == MAX_PICKS - 1
    four = "4090, 2x3090, L40S, A100, H100"
    *_, shown = handlers.ask(FormCall({"model": LLAMA, "gpu": four}, "", (PageEvent("ask", ""),)))
    state = PageState.from_query(shown["query"])
    assert (state.gpus, state.filled) == ((), "") and len(state.places) == 5
    *_, told = handlers.ask(FormCall({"model": LLAMA, "gpu": "4091"}, "", (PageEvent("ask", ""),)))
    assert "gs-message" in told["answer"] and "gs-error" not in told["answer"]


def test_the_compare_tab_has_one_field_of_gpus() -> None:
    """Typed GPUs are compared and are in the address; buttons write them again.

    Unreadable text stays as typed.
    """
    handlers = page_handlers()
    assert FORMS["compare"].first == ("model", "gpus") and "gpu" not in FORMS["compare"].own
    assert "gs-adder" not in handlers.no_cards
    typed = {"model": LLAMA, "gpus": "4090, 2x3090"}
    *_, shown = handlers.compare_for(FormCall(typed, "", (PageEvent("ask", ""),)))
    assert PageState.from_query(shown["query"]).gpus == ("4090", "2x3090")
    assert shown["cards"].count("data-remove") == 2 and "gpus" not in shown
    assert "gs-adder" not in shown["cards"]
    dropping = FormCall(typed, shown["query"], (PageEvent("drop", "4090"),))
    *_, dropped = handlers.compare_for(dropping)
    assert (dropped["gpus"], PageState.from_query(dropped["query"]).gpus) == (
        "2x3090",
        ("2x3090",),
    )
    *_, wrong = handlers.compare_for(FormCall({**typed, "gpus": "4090, rtx 4091"}, shown["query"]))
    assert "gs-message" in wrong["cards"] and "gpus" not in wrong
    assert PageState.from_query(wrong["query"]).gpus == ("4090", "2x3090")
    *_, emptied = handlers.compare_for(FormCall({**typed, "gpus": ""}, shown["query"]))
    assert PageState.from_query(emptied["query"]).gpus == ()


def test_a_question_that_is_answered_is_not_asked_again() -> None:
    handlers, state = page_handlers(), PageState(LLAMA, {"context": "4096"}, ("4090",))
    assert list(handlers.ask(FormCall(state.form, state.query))) == [{}]
    assert list(handlers.ask(FormCall(PageState().form))) == [{}], "nothing is asked"
    *_, told = handlers.ask(FormCall(PageState().form, "", (PageEvent("ask", ""),)))
    assert "gs-error" in told["answer"]
    *_, ranked = handlers.ask(FormCall(state.form, state.query, (PageEvent("rank", "fastest"),)))
    assert set(ranked) == {"answer", "memory", "facts", "ranking", "ranked", "query"}
    assert PageState.from_query(ranked["query"]).rank_by == "fastest"


def test_both_amounts_at_once_are_refused() -> None:
    query = PageState(gpus=("4090",)).query
    fields = {"model": "", "used_gb": 2, "usable_gb": 20}
    *_, shown = page_handlers().compare_for(FormCall(fields, query))
    cards = shown["cards"]
    assert ENGLISH("cards.empty") in cards and "gs-message" in cards


def _asked(tab: str, questions: Questions) -> dict[str, list[str]]:
    asked: dict[str, object] = {"used_gb": 4, "usable_gb": ""}
    if tab == "train":
        asked |= {"model": LLAMA, "gpu": "4090", "usd_per_kwh": 0.3}
        *_, shown = questions.train(FormCall(asked))
    else:
        asked |= {"gpu": "4090", "live": False, "ram_gb": 32, "disk_gb_per_s": 3.5}
        *_, shown = questions.models_for(FormCall(asked))
    return parse_qs(shown["query"])


@pytest.mark.parametrize("tab", ["train", "reverse"])
def test_other_tabs_write_their_own_fields_into_the_address(tab: str) -> None:
    query = _asked(tab, page_handlers().questions)
    own = {"used_gb": ["4"]}
    own |= {"usd_per_kwh": ["0.3"]} if tab == "train" else {}
    own |= {"ram_gb": ["32"], "disk_gb_per_s": ["3.5"]} if tab == "reverse" else {}
    assert own.items() <= query.items()


def test_training_without_a_named_gpu_leaves_free_memory_out() -> None:
    questions = page_handlers().questions
    *_, shown = questions.train(FormCall({"model": LLAMA, "used_gb": 4}))
    assert "gs-training" in shown["answer"] and "used_gb" not in shown["answer"]
    assert parse_qs(shown["query"])["used_gb"] == ["4"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_requests_at_once_are_counted_in_words(language: Language) -> None:
    words = Words(language)
    assert words.at_once(1) == words("at_once.one")
    assert words.whole(2048) in words.at_once(2048)


def test_a_part_in_ram_is_no_shortage_side_by_side() -> None:
    """A machine whose RAM takes a part says how much, not what its card lacks for all of it."""
    text = cards(("3060 + 64 GB RAM",), "Qwen/Qwen3-30B-A3B").text
    assert re.search(r"\d\.\d\d GiB in RAM", text) and " short" not in text
