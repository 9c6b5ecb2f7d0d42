"""The desk on the page: its address, its bars, its table, what waits and why, and its files."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from urllib.parse import urlencode

import pytest

from gpusizer.advice.conclusion.desk import conclude_desk
from gpusizer.advice.desk.changes import ChangeSearch
from gpusizer.advice.desk.rooms import MOST_MODELS
from gpusizer.api.desk import desk_answer
from gpusizer.cli.desk_summary import desk_summary
from gpusizer.cli.output import gib
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.ui.page.asked import START, FormCall, PageEvent
from gpusizer.ui.page.forms import FORMS
from gpusizer.ui.presenters.desk import desk_html
from gpusizer.ui.presenters.figures import used_text
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tab_examples import DESKS
from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.requests.desk_request import DeskRequest
from tests.pages import ENGLISH, hostile_sizer, inert, page_handlers
from tests.sizers import embedded_sizer

SMALL, MEDIUM, TINY = "Qwen/Qwen3-8B", "Qwen/Qwen3-14B", "Qwen/Qwen3-0.6B"
MIXED = (
    f"Qwen/Qwen3-30B-A3B users=2 context=32768\n{TINY} engine=vllm\nopenai/whisper-large-v3",
    "3090 + 3060 + 64 GB RAM",
)
CROWDED = (f"{SMALL}\n{MEDIUM} resident=no\n{MEDIUM} resident=no\n{SMALL} quant=bf16", "3090")


def placed(models: str, gpu: str) -> Desk:
    return desk(embedded_sizer(), DeskRequest.from_fields({"models": models, "gpu": gpu}))


def cells(markup: str, column: str) -> list[str]:
    """Texts of one column, with small print after a space."""
    found = re.findall(rf'<t[hd][^>]* class="gs-col-{column}[ "][^>]*>(.*?)</t[hd]>', markup)
    texts = [unescape(re.sub(r"<[^>]+>", " ", cell)).strip() for cell in found]
    return texts[1:]  # below the heading


@pytest.mark.parametrize("name", DESKS)
def test_an_example_is_answered_and_its_address_brings_it_back(name: str) -> None:
    questions, form = page_handlers().questions, FORMS["desk"]
    fields = {name: text for name, text in DESKS[name].items() if name != "tab"}
    *_, shown = questions.desk(FormCall(fields))
    assert 'id="gs-desk"' in shown["answer"]
    assert form.read(str(shown["query"])) == fields
    *_, again = questions.desk(FormCall({}, events=(PageEvent("load", str(shown["query"])),)))
    assert again == shown


def test_an_address_holds_as_many_models_as_a_request() -> None:
    line = f"{'organisation' * 8}/{'model-name' * 9} users=2 context=32768 resident=no"
    text = "\n".join([line] * MOST_MODELS)
    assert FORMS["desk"].read({"models": text})["models"] == text


def test_nothing_is_asked_without_a_model_unless_the_visitor_does() -> None:
    questions = page_handlers().questions
    assert [*questions.desk(FormCall({"models": "", "gpu": "3090"}))] == [{}]
    cleared = FormCall({}, "models=x", (PageEvent("load", "tab=desk"),))
    assert [*questions.desk(cleared)] == [START]
    *_, shown = questions.desk(FormCall({"models": ""}, events=(PageEvent("ask", ""),)))
    assert "gs-error" in str(shown["answer"])


def test_memory_of_an_own_machine_is_left_out_where_none_is_named() -> None:
    questions = page_handlers().questions
    bought = [
        [*questions.desk(FormCall({"models": TINY, **own}))][-1]["answer"]
        for own in ({}, {"used_gb": 4, "ram_gb": 64})
    ]
    assert bought[0] == bought[1] and "$" in unescape(str(bought[0]))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("question", [MIXED, CROWDED])
def test_the_table_says_what_the_answer_does(question: tuple[str, str], language: Language) -> None:
    found, words = placed(*question), Words(language)
    markup = desk_html(found, words)
    inert(markup)
    order = found.in_starting_order
    names = [model.profile.repo_id.partition("/")[2] for model in order]
    assert cells(markup, "model") == names
    starts = [str(model.server.start) for model in order if model.server and model.server.start]
    assert cells(markup, "desk_start")[: len(starts)] == starts
    assert starts == [str(1 + place) for place in range(len(starts))]
    told = [model.server.told if model.server else "" for model in order]
    assert cells(markup, "desk_told") == told
    held = cells(markup, "desk_holds")
    for model, text in zip(order, held, strict=True):
        takings = () if model.server is None else model.server.seat.option.takings
        assert all(words.gib(taking.held_bytes) in text for taking in takings)
        assert (text == DASH) is (model.server is None)


def test_bars_are_full_of_what_stays_and_what_is_free() -> None:
    found = placed(*MIXED)
    markup = desk_html(found, ENGLISH)
    bars = re.findall(r'<div class="gs-bar" style="width:([\d.]+)%">(.*?)</div>', markup, re.DOTALL)
    in_ram = any(model.server and model.server.seat.option.ram_bytes for model in found.models)
    assert len(bars) == len(found.machine.gpus) + in_ram
    largest = max(gpu.device_free_bytes for gpu in found.machine.gpus)
    if not in_ram:
        assert [float(width) for width, _ in bars] == pytest.approx(
            [100 * gpu.device_free_bytes / largest for gpu in found.machine.gpus], abs=0.01
        )
    for number, (_, segments) in enumerate(bars[: len(found.machine.gpus)]):
        widths = [float(width) for width in re.findall(r"width:([\d.]+)%", segments)]
        assert sum(widths) == pytest.approx(100, abs=0.01)
        marks = re.findall(r'class="gs-(model-\d)"', segments)
        order = [found.models.index(model) for model in found.in_starting_order]
        servers = [(n, found.models[n].server) for n in order]
        there = [n for n, server in servers if server and number in server.devices]
        assert marks == [f"model-{n}" for n in there]


def test_page_shell_and_json_have_the_same_figures_of_each_memory() -> None:
    """The page counted 4 GiB of RAM as free that the system itself uses."""
    found = placed(f"Qwen/Qwen3-30B-A3B\n{SMALL}\n{TINY}", "3060 + 3060 + 32 GB RAM")
    answer = desk_answer(found, say_note).document()
    memories = [*answer["devices"], answer["system_memory"]]
    assert memories[-1]["free_bytes"] == found.machine.free_ram_bytes
    assert memories[-1]["held_bytes"] == sum(model["ram_bytes"] for model in answer["models"]) > 0
    shell = desk_summary(found)
    markup = desk_html(found, ENGLISH)
    used = re.findall(r'<div class="gs-bar-name">.*?<small>(.*?)</small>', markup, re.DOTALL)
    bars = re.findall(r'<div class="gs-bar" style="width:[\d.]+%">(.*?)</div>', markup, re.DOTALL)
    assert len(used) == len(bars) == len(memories) == 3
    for number, (memory, text, segments) in enumerate(zip(memories, used, bars, strict=True)):
        held, left, free = (memory[f"{it}_bytes"] for it in ("held", "left", "free"))
        assert held + left == free
        assert text == used_text(held, free, ENGLISH)
        marks = re.findall(r'class="gs-model-(\d)"', segments)
        assert [*map(int, marks)] == memory["models"]
        name = re.escape("RAM" if number == 2 else f"{number}: {found.machine.gpu.name}")
        (row,) = re.findall(rf"^{name} +(\S+) +(\S+)  (.*)$", shell, re.MULTILINE)
        assert row[:2] == (gib(held, 1), gib(left, 1))
        assert len(row[2].split(", ")) == len(memory["models"])


def test_what_waits_is_said_with_the_reason_and_the_change_that_helps() -> None:
    found = placed(*CROWDED)
    markup = desk_html(found, ENGLISH)
    assert [model.state for model in found.models].count("resident") < 4
    for model in found.models:
        if model.state == "resident":
            continue
        name = model.profile.repo_id.partition("/")[2]
        why = "no_room" if model.must_stay else "may_wait"
        if model.server is None:
            why = "left_out" if model.choices.all else "no_place"
        said = ENGLISH(f"desk.{why}", model=name, time="TIME").partition("TIME")[0]
        assert said in unescape(markup)
    last = ENGLISH.note(found.conclusion.said[-1])
    assert f'<p class="gs-change">{last}</p>' in unescape(markup)
    assert "gs-change" not in desk_html(placed(*MIXED), ENGLISH)


def test_a_model_without_a_place_is_not_said_to_lack_room_beside_others() -> None:
    for models in ("Qwen/Qwen2.5-72B-Instruct", f"Qwen/Qwen2.5-72B-Instruct\n{TINY}"):
        found = placed(models, "3060")
        said = found.conclusion.sentence(say_note)
        assert "No place on this machine, even alone: Qwen2.5-72B-Instruct." in said
        assert "beside" not in said
        markup = unescape(desk_html(found, ENGLISH))
        assert "Qwen2.5-72B-Instruct: no place on this machine, even alone." in markup
    crowded = placed(*CROWDED).conclusion.sentence(say_note)
    assert "No room beside those that stay: Qwen3-8B." in crowded


@pytest.mark.parametrize(
    ("language", "one", "both", "half", "none"),
    [
        (
            "en",
            "1 model stays loaded on GeForce RTX 3090 24GB.",
            "2 models stay loaded together on GeForce RTX 3090 24GB.",
            "1 of 2 models can stay loaded on GeForce RTX 3090 24GB.",
            "No model stays loaded on GeForce RTX 3090 24GB.",
        ),
        (
            "zh",
            "1 个模型可以常驻在 GeForce RTX 3090 24GB 上。",
            "2 个模型可以同时常驻在 GeForce RTX 3090 24GB 上。",
            "2 个模型中有 1 个可以常驻在 GeForce RTX 3090 24GB 上。",
            "没有模型常驻在 GeForce RTX 3090 24GB 上。",
        ),
        (
            "pt",
            "1 modelo fica carregado em GeForce RTX 3090 24GB.",
            "2 modelos ficam carregados ao mesmo tempo em GeForce RTX 3090 24GB.",
            "Modelos que podem ficar carregados em GeForce RTX 3090 24GB: 1 de 2.",
            "Nenhum modelo fica carregado em GeForce RTX 3090 24GB.",
        ),
    ],
)
def test_the_first_sentence_agrees_with_how_many_stay(
    language: Language, one: str, both: str, half: str, none: str
) -> None:
    found = placed(TINY, "3090")
    profile = found.models[0].profile
    for states, expected in (
        (["resident"], one),
        (["resident", "resident"], both),
        (["resident", "on_demand"], half),
        (["on_demand", "on_demand"], none),
    ):
        conclusion = conclude_desk(found.machine, [(profile, it) for it in states], None, None)
        assert say_note(conclusion.said[0], language) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_change_is_denied_where_the_search_was_cut_short(language: Language) -> None:
    found, words = placed(*CROWDED), Words(language)
    states = [(model.profile, model.state) for model in found.models]
    said = []
    for is_complete, boards in ((True, 2), (True, 0), (False, 2)):
        changes = ChangeSearch(None, is_complete, boards)
        conclusion = conclude_desk(found.machine, states, changes, None)
        assert conclusion.said[-1] == changes.note
        shown = unescape(desk_html(replace(found, changes=changes, conclusion=conclusion), words))
        said.append(words.note(changes.note))
        assert f'<p class="gs-change">{said[-1]}</p>' in shown
    assert len(set(said)) == 3


def test_files_are_those_of_the_answer() -> None:
    found = placed(*MIXED)
    codes = re.findall(r"<code>(.*?)</code>", desk_html(found, ENGLISH), re.DOTALL)
    assert [*map(unescape, codes)] == [found.files.compose, found.files.llama_swap]
    pictures = placed("black-forest-labs/FLUX.1-dev", "4090")  # no server starts it
    assert pictures.files.compose == "" and "<code>" not in desk_html(pictures, ENGLISH)


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_models_are_escaped(language: Language) -> None:
    request = DeskRequest.from_fields({"models": "hostile/model\nhostile/model", "gpu": "3090"})
    inert(desk_html(desk(hostile_sizer(), request), Words(language)))
    *_, shown = page_handlers(language).questions.desk(
        FormCall({"models": '<img src=x onerror="1">\n${x}', "gpu": "<b>"}),
    )
    inert(str(shown["answer"]))


@pytest.mark.parametrize(
    "line", ['<script src="x">', "'\"><img src=x onerror=alert(1)>", "${x}`{{7*7}}", "\x00\ud800é"]
)
@pytest.mark.parametrize("joint", ["\n", " ", ""])
def test_models_of_a_hostile_address_are_bounded_and_escaped(line: str, joint: str) -> None:
    text = joint.join([line] * 9_000)
    query = urlencode({"tab": "desk", "models": text, "gpu": "3090"}, errors="surrogatepass")
    read = FORMS["desk"].read(query)
    assert 0 < len(read["models"]) <= 2400
    *_, shown = page_handlers().questions.desk(FormCall({}, events=(PageEvent("load", query),)))
    answer = str(shown["answer"])
    assert "gs-error" in answer and len(answer) < 10_000
    inert(answer)
    assert len(str(shown["query"])) < 22_000  # nine letters for each at most
