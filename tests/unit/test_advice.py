"""The answer as advice: what is said first, in few words, and how the model is started."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from urllib.parse import urlencode

import pytest
from jinja2 import UndefinedError

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import Advice, advice_of, answer_html
from gpusizer.ui.presenters.choices import PageAnswer
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.verdict import boards_phrase, with_name
from tests.pages import ENGLISH, Page
from tests.sizers import embedded_sizer

MOST_WORDS = 120
QUESTIONS: tuple[dict[str, str], ...] = (
    {"model": "Qwen/Qwen3-8B"},
    {"model": "Qwen/Qwen3-30B-A3B", "gpu": "3060 + 64 GB RAM"},
    {"model": "deepseek-ai/DeepSeek-R1"},
    {"model": "openai/gpt-oss-20b"},
    {"model": "black-forest-labs/FLUX.1-dev"},
    {"model": "Qwen/Qwen3-32B", "concurrency": "50"},
)


@cache
def answered(**fields: str) -> PageAnswer:
    return answer(embedded_sizer(), PageState.from_query(urlencode(fields)))


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def advised(**fields: str) -> Advice:
    return advice_of(answered(**fields), ENGLISH)


def words_of(text: str) -> int:
    """Words of a text; of Chinese, which has no spaces, a word for 1.7 characters."""
    chinese = len(re.findall(r"[\u4e00-\u9fff]", text))
    others = re.sub(r"[\u4e00-\u9fff]", " ", text).split()
    return round(chinese / 1.7) + sum(any(map(str.isalnum, word)) for word in others)


def before_details(markup: str) -> str:
    """Return the text before the first fold, without the command."""
    first, _ = markup.split("<details", maxsplit=1)
    without_code = re.sub(r"<pre.*?</pre>|<button.*?</button>", " ", first, flags=re.S)
    return unescape(re.sub(r"<[^>]+>", " ", without_code))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("fields", QUESTIONS, ids=lambda fields: fields["model"])
def test_an_answer_is_short_before_its_details(fields: dict[str, str], language: Language) -> None:
    text = before_details(answer_html(answered(**fields), Words(language)))
    assert 25 < words_of(text) <= MOST_WORDS, text


@pytest.mark.parametrize(
    ("fields", "begins", "tone"),
    [
        ({"model": "Qwen/Qwen3-8B"}, "For Qwen3-8B we suggest a GeForce RTX", ""),
        ({"model": "Qwen/Qwen3-8B", "gpu": "4060"}, "Yes. Qwen3-8B runs on your GeForce", "yes"),
        ({"model": "Qwen/Qwen3-30B-A3B", "gpu": "3060 + 64 GB RAM"}, "Yes. Your GeForce", "yes"),
        ({"model": "Qwen/Qwen3-32B", "gpu": "3060"}, "Only slowly. Your GeForce", "slow"),
        ({"model": "black-forest-labs/FLUX.1-dev", "gpu": "3060"}, "Probably. FLUX.1-dev", "yes"),
        ({"model": "deepseek-ai/DeepSeek-R1", "gpu": "M4 Max 128GB"}, "No. DeepSeek-R1", "no"),
        ({"model": "Qwen/Qwen3-32B", "concurrency": "50"}, "To serve 50 users of", ""),
        # who has one card has no four, so this is no "yes"
        ({"model": LLAMA, "gpu": "3060", "context": "131072"}, "Not on one GeForce RTX 3060", "no"),
        ({"model": LLAMA, "gpu": "4x 3060", "context": "131072"}, "Yes. Llama-3.1-8B", "yes"),
        ({"model": "deepseek-ai/DeepSeek-R1", "gpu": "H200"}, "Not on one H200", ""),
    ],
)
def test_the_verdict_is_one_plain_sentence(fields: dict[str, str], begins: str, tone: str) -> None:
    headline = advised(**fields).headline
    sentence = Page(headline.sentence).text.replace(" " * 2, " ")
    assert re.sub(r"\s+", " ", sentence).strip().startswith(begins)
    assert headline.tone == tone


def test_what_is_slower_than_one_reads_is_no_plain_yes() -> None:
    """Below the reading speed the figure is in the sentence, and RAM has a bar beside the GPU's."""
    advice = advised(model="Qwen/Qwen3-32B", gpu="3060")
    speed = advice.figures[0].value
    assert float(speed.split()[0]) < 10 and speed in advice.headline.sentence
    assert [bar.name for bar in advice.bars] == ["GPU", "RAM"]
    assert not any(bar.is_over for bar in advice.bars)
    ram = advice.bars[1].value.removesuffix(" GiB")
    assert ram in advice.split
    heading, changes = advice.remedies
    assert heading.endswith(":") and changes


def test_a_model_that_is_too_large_has_a_full_bar_and_no_command() -> None:
    advice = advised(model="deepseek-ai/DeepSeek-R1", gpu="M4 Max 128GB")
    assert advice.start is None and advice.bars[0].is_over and advice.bars[0].share == 100
    (tip,) = advice.options
    assert tip.name == ENGLISH("option.buy")


def test_no_weights_are_said_to_be_rounded_that_are_as_published() -> None:
    published = advised(model="openai/gpt-oss-20b")
    assert published.explanation == ENGLISH("explain.published", bits=4)
    assert "instead of" in advised(model="openai/gpt-oss-20b", gpu="3060").explanation
    assert "no measurable loss" in advised(model="Qwen/Qwen3-8B").explanation


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "openai/whisper-large-v3", "gpu": "CPU + 16 GB RAM"},
        {"model": "black-forest-labs/FLUX.1-dev", "gpu": "CPU + 16 GB RAM"},
    ],
)
def test_what_no_engine_runs_is_an_answer_too(fields: dict[str, str]) -> None:
    advice = advised(**fields)
    assert "engine" in advice.headline.sentence and advice.start is None


@pytest.mark.parametrize("gpu", ["M4 Max 128GB", "Strix Halo 128GB"])
def test_too_large_is_said_of_a_format_that_people_try_there(gpu: str) -> None:
    """Not of AWQ on a Mac, nor of EXL2 on a processor of AMD, though these are the smallest."""
    sentence = advised(model="Qwen/Qwen3-235B-A22B", gpu=gpu).headline.sentence
    assert sentence.startswith("No.") and "GGUF IQ4_XS" in sentence


def test_a_context_that_the_model_lacks_is_said_below_the_verdict() -> None:
    asked = {"model": "Qwen/Qwen3-8B", "gpu": "4090"}
    assert "planned for 40,960" in advised(**asked, context="131072").more
    assert not advised(**asked, context="32768").more


def test_weights_published_in_few_bits_are_not_said_to_lose_nothing_or_to_be_full() -> None:
    awq = "Qwen/Qwen2.5-72B-Instruct-AWQ"
    stored = advised(model=awq, gpu="A100 80GB", quant="native")
    lost = ENGLISH("loss.small")
    assert stored.explanation == ENGLISH("explain.published_lossy", bits=4, lost=lost)
    other = advised(model=awq, gpu="2x 3090", quant="q4_k_s").explanation
    assert other == ENGLISH("explain.remade", bits=4, lost=ENGLISH("loss.very_small"))


def test_cheaper_is_cheaper() -> None:
    for fields in QUESTIONS:
        page = answered(**fields)
        names = {option.name for option in advice_of(page, ENGLISH).options}
        first, *_ = page.report.ranking
        cheapest = [it.item for it in page.report.alternatives if it.kind == "cheapest"]
        is_cheaper = any(
            it.costs.buy_usd is not None
            and first.costs.buy_usd is not None
            and it.costs.buy_usd < first.costs.buy_usd
            for it in cheapest
        )
        assert ENGLISH("option.cheapest") not in names or is_cheaper


def test_the_command_loads_a_published_file_and_making_one_is_folded_once() -> None:
    markup = answer_html(answered(model="Qwen/Qwen3-8B"), ENGLISH)
    first, folded = markup.split("<details", maxsplit=1)
    assert "llama-server -hf Qwen/Qwen3-8B-GGUF:Q8_0 -c 8192" in first
    assert "convert_hf_to_gguf" not in first
    assert folded.count("llama-quantize Qwen3-8B-BF16.gguf") == 1


def test_several_picks_are_advised_on_by_their_best() -> None:
    advice = advised(model="Qwen/Qwen3-8B", gpus="4090,3060")
    assert "RTX 4090" in advice.more and "8-bit" in advice.more
    assert advice.start is not None and advice.figures


def test_boards_have_the_article_that_english_says() -> None:
    names = {gpu.slug: gpu for gpu in embedded_sizer().catalogue.gpus}
    said = {
        "rtx-3060-12gb": "a GeForce RTX 3060 12GB",
        "h100-sxm-80gb": "an H100 SXM5 80GB",
        "l40s-48gb": "an L40S 48GB",
        "tesla-t4-16gb": "a Tesla T4 16GB",
        "arc-b580-12gb": "an Arc B580 12GB",
        "apple-m3-max-128gb": "a Mac with Apple M3 Max 128GB",
    }
    assert {slug: boards_phrase(names[slug], 1, ENGLISH) for slug in said} == said
    assert boards_phrase(names["l40s-48gb"], 2, ENGLISH) == "2 × L40S 48GB"


def test_templates_escape_and_miss_nothing_in_silence() -> None:
    hostile = "<script>${x}</script>{{y}}"
    markup = str(with_name(f"For {hostile} we suggest", hostile))
    advice, explained = advised(model="Qwen/Qwen3-8B"), Glossary(ENGLISH)
    shown = render("sample.html", ENGLISH, explained=explained, model=hostile, advice=advice)
    for text in (markup, str(shown)):
        assert "<script" not in text and "${" not in text and "{{" not in text
        assert "&lt;script&gt;" in text
    with pytest.raises(UndefinedError):
        render("sample.html", ENGLISH, model="a/b")
