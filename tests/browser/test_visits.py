"""Eight visits with the questions that people bring, each in few actions to a right answer: the
verdict, the figures and the command that an expert accepts, at two widths."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from tests.browser.axe import serious
from tests.browser.conftest import Visit, wait_for_values
from tests.browser.test_page import PATHS, Open, small_texts, wait_for_answer

QWEN_8B, QWEN_32B = "Qwen/Qwen3-8B", "Qwen/Qwen3-32B"
EXPERTS, OSS = "Qwen/Qwen3-30B-A3B", "openai/gpt-oss-120b"
FLUX, GEMMA = "black-forest-labs/FLUX.1-dev", "google/gemma-3-27b-it"
FIRST_SCREEN = 844  # pixels of a phone
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass
class Visitor:
    """A visitor, whose actions are counted: a field that is filled, with Enter or without, or
    something that is clicked."""

    window: Visit
    path: str = "/"
    actions: int = 0

    def __post_init__(self) -> None:
        self.page = self.window.go(self.path)
        self.page.wait_for_function("() => window.gsLoaded")

    def fill(self, field: str, text: str, *, enter: bool = False) -> None:
        self.actions += 1
        entry = self.page.locator(f"{field} :is(input, textarea)")
        entry.wait_for()
        wait_for_values(self.page)
        entry.fill(text)
        if enter:
            entry.press("Enter")

    def click(self, selector: str) -> None:
        self.actions += 1
        self.page.locator(selector).locator("visible=true").first.click()

    def size(self, model: str, machine: str = "") -> None:
        """Ask about a model, on a machine where one is named, and wait for the answer."""
        self.fill("#gs-model", model, enter=not machine)
        if machine:
            self.fill("#gs-gpu", machine, enter=True)
        wait_for_answer(self.page, model)

    @property
    def tone(self) -> str:
        """How the verdict sounds: yes, slow or no; "" for a suggestion."""
        classes = str(self.page.locator("h2.gs-answer").get_attribute("class"))
        return classes.partition("gs-tone-")[2]

    @property
    def figures(self) -> list[float]:
        """The first number of each large figure."""
        return [number(text) for text in self.page.locator(".gs-figures dd").all_inner_texts()]

    @property
    def command(self) -> str:
        return str(self.page.locator("#gs-answer .gs-start code").inner_text())

    def sees_all(self, most_actions: int) -> None:
        """Assert that the actions were few, and that in both widths the first screen has verdict,
        figures and command, and no text is small or beside the page."""
        assert self.actions <= most_actions
        parts = ("h2.gs-answer", ".gs-figures", ".gs-start pre")
        for width in (1280, 390):
            self.window.show(width, "light")
            boxes = [self.page.locator(f"#gs-answer {part}").bounding_box() for part in parts]
            ends = [box["y"] + min(box["height"], 90) for box in boxes]
            assert max(ends) <= FIRST_SCREEN, (width, ends)
            assert small_texts(self.page) == []


def number(text: str) -> float:
    found = _NUMBER.search(text)
    assert found, text
    return float(found[0].replace(",", ""))


def test_a_newcomer_wants_to_run_a_model(visit: Open) -> None:
    """A suggestion of a card at a price of such cards, in the quantization that loses nothing."""
    visitor = Visitor(visit(390))
    visitor.size(QWEN_8B)
    speed, memory, price = visitor.figures
    assert visitor.tone == "" and 25 <= speed <= 150 and 7 <= memory <= 14 and 150 <= price <= 600
    assert re.fullmatch(r"llama-server -hf \S+:Q8_0 -c 8192 -ngl all", visitor.command)
    visitor.sees_all(2)


def test_a_small_card_and_ram(visit: Open) -> None:
    """Experts in system memory: as fast as published runs, and the switch that puts them there."""
    visitor = Visitor(visit())
    visitor.size(EXPERTS, "3060 + 64 GB RAM")
    speed, memory, _ = visitor.figures
    assert visitor.tone == "yes" and 20 <= speed <= 57 and 8 <= memory <= 12
    gpu, ram = visitor.page.locator(".gs-held dd").all_inner_texts()
    assert 8 <= number(gpu) <= 12 and 4 <= number(ram) <= 12
    assert re.search(r"-hf \S+ .*--n-cpu-moe \d+", visitor.command)
    visitor.sees_all(3)


def test_a_load_of_requests_a_second(visit: Open) -> None:
    """Servers with a waiting time and a price of a month; the first row holds at the low end."""
    visitor = Visitor(visit(390))
    visitor.click(".gs-questions a[href*='requests_per_second']")
    wait_for_answer(visitor.page, QWEN_32B)
    first_token, month, _ = visitor.figures
    assert first_token < 3 and 500 <= month <= 5_000
    assert visitor.command.startswith(f"vllm serve {QWEN_32B}")
    rows = visitor.page.locator("#gs-plan .gs-offers").first.locator("tbody tr")
    for row in rows.all():
        hour, of_month = map(number, row.locator("td").all_inner_texts()[2:4])
        hours = of_month / hour
        assert 600 < hours < 860 and row.locator(".gs-lacking").count() == 0
    assert rows.count() >= 3 and rows.first.locator(".gs-verdict-fits").count() == 1
    visitor.sees_all(5)
    visitor.fill("#gs-requests_per_second", "20", enter=True)
    visitor.page.wait_for_url("**requests_per_second=20**")
    expect(visitor.page.locator("h2.gs-answer")).to_contain_text("20 requests per second")
    assert visitor.figures[1] >= 2 * month


def test_a_mac_whose_chip_is_open(visit: Open) -> None:
    """The name that is sold with several chips is asked back; with one it is answered."""
    visitor = Visitor(visit(390), "/zh")
    visitor.size(OSS, "Mac Studio 128GB")
    expect(visitor.page.locator("#gs-answer .gs-message")).to_contain_text("M4 Max")
    visitor.fill("#gs-gpu", "M4 Max 128GB", enter=True)
    expect(visitor.page.locator("h2.gs-answer")).to_contain_text("M4 Max")
    speed, memory, _ = visitor.figures
    assert visitor.tone == "yes" and 30 <= speed <= 110 and 55 <= memory <= 96
    visitor.sees_all(3)


def test_pictures_on_a_card(visit: Open) -> None:
    """The time of a picture with its size, which the options change."""
    visitor = Visitor(visit(390))
    visitor.size(FLUX, "3060")
    seconds, memory = visitor.figures
    assert visitor.tone == "yes" and 40 <= seconds <= 300 and 7 <= memory <= 12
    expect(visitor.page.locator(".gs-figures")).to_contain_text("1,024 × 1,024")
    assert "DiffusionPipeline" in visitor.command
    visitor.sees_all(2)
    visitor.click("#gs-advanced > button")
    visitor.fill("#gs-steps", "4", enter=True)
    visitor.page.wait_for_url("**steps=4**")
    assert visitor.figures[0] < seconds / 3


def test_four_machines_side_by_side(visit: Open) -> None:
    """One quantization for all, which fits on each, with speeds one can read along with."""
    window = visit()
    visitor = Visitor(window)
    visitor.click("#gs-tab-compare-button")
    visitor.fill("#gs-compare-model", GEMMA)
    visitor.fill("#gs-compare-gpus", "4090, 2x 3090, L40S, A100", enter=True)
    table = visitor.page.locator("#gs-compare-cards .gs-side")
    expect(table.locator("thead th[data-gpu]")).to_have_count(4)
    fits, runs = (table.locator("tbody tr").nth(row).locator("td") for row in (0, 1))
    assert fits.locator(".gs-verdict-fits, .gs-verdict-tight").count() == 4
    assert len({text.splitlines()[0] for text in runs.all_inner_texts()}) == 1
    row = table.locator("tbody tr", has_text="tok/s").first
    speeds = [number(text) for text in row.locator("td").all_inner_texts()]
    assert len(speeds) == 4 and min(speeds) >= 15 and max(speeds) <= 80
    assert visitor.actions == 3
    for width in (1280, 390):
        window.show(width, "light")
        assert small_texts(visitor.page) == []


def test_models_for_coding_on_a_card(visit: Open) -> None:
    """Three picks, each with a reason, fast enough to use, the first as large as experts name."""
    visitor = Visitor(visit(390))
    visitor.click(".gs-questions a[href*='tab=reverse']")
    visitor.page.locator("#gs-reverse").wait_for()
    visitor.click("#gs-reverse-purpose label:nth-of-type(3)")
    visitor.page.wait_for_url("**purpose=code**")
    picks = visitor.page.locator(".gs-picks article")
    expect(picks).to_have_count(3)
    for pick in picks.all():
        speed, memory, context = map(number, pick.locator("dd").all_inner_texts())
        assert speed >= 15 and memory <= 12 and context >= 8192
        assert "model=" in str(pick.locator("h3 a").get_attribute("href"))
    assert visitor.actions == 2
    for width in (1280, 390):
        visitor.window.show(width, "light")
        assert visitor.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_qlora_on_a_free_card(visit: Open) -> None:
    """An example is changed to the visitor's card: memory within it, and how long it takes."""
    visitor = Visitor(visit(), "/pt")
    visitor.click("#gs-tab-train-button")
    visitor.click("#gs-train-answer .gs-try >> nth=0")
    visitor.page.locator("#gs-training").wait_for()
    visitor.fill("#gs-train-gpu", "Colab T4", enter=True)
    expect(visitor.page.locator("#gs-training h2")).to_contain_text("T4")
    need, memory = re.findall(r"([\d,]+) GiB", visitor.page.inner_text("#gs-training h2"))
    assert 9 <= float(need.replace(",", ".")) <= float(memory.replace(",", ".")) <= 16
    assert visitor.actions == 3
    for width in (1280, 390):
        visitor.window.show(width, "light")
        assert small_texts(visitor.page) == []


@pytest.mark.parametrize(
    "question", (f"model={QWEN_8B}", f"model={EXPERTS}&gpu=3060 %2B 64 GB RAM")
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_in_every_look(visit: Open, language: Language, question: str) -> None:
    """In each language and theme, at both widths, the first screen holds the answer, and axe-core
    finds nothing serious."""
    window = visit(390)
    visitor = Visitor(window, f"{PATHS[language]}?{question}")
    wait_for_answer(visitor.page, question.partition("&")[0].removeprefix("model="))
    visitor.sees_all(0)
    for theme in ("light", "dark"):
        window.show(390, theme)
        window.shot(f"visit-{language}-{theme}")
    assert serious(visitor.page) == []
