"""Tabs that ask one thing: their addresses, and the rights they read with."""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qsl

import gradio as gr
import pytest

from gpusizer.errors import GatedModel
from gpusizer.hub_id import ModelRef
from gpusizer.snapshot import RepoSnapshot
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.questions import Questions
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
TOKEN = gr.OAuthToken(token="theirs", scope="gated-repos", expires_at=2**40)


def _closed(ref: ModelRef) -> RepoSnapshot:
    raise GatedModel(repo_id=ref.repo_id)


@pytest.fixture
def questions() -> Questions:
    """Of a Hub that shows the model to the visitor alone."""
    sizer = embedded_sizer()
    rights = {TOKEN.token: sizer.fetch}
    return Questions(sizer.reading(_closed), lambda token: rights[token], Words("en"))


@pytest.mark.parametrize("asked", [("4090", "vision", 65536), ("2x3090", "", 8192)])
def test_the_reverse_address_brings_back_the_question(
    questions: Questions, asked: tuple[str, str, int]
) -> None:
    shown, query = questions.models_for(*asked)
    again = questions.models_for_again(dict(parse_qsl(query)))
    assert again == (*asked, shown, query)


@pytest.mark.parametrize(
    ("asked", "shown"), [("poetry", ""), ("VISION", "vision"), ("", ""), ("<b>", "")]
)
def test_an_unknown_task_of_an_address_is_said_and_not_shown(
    questions: Questions, asked: str, shown: str
) -> None:
    gpu, task, _, answer, _ = questions.models_for_again({"gpu": "4090", "model_task": asked})
    assert (gpu, task) == ("4090", shown)
    unknown = asked.lower() != shown
    assert ("gs-error" in answer) is unknown
    assert (escape(asked) in answer) or not unknown


@pytest.mark.parametrize(
    ("asked", "shown"), [("osmosis", "lora"), ("QLoRA", "qlora"), ("sft", "full"), ("", "lora")]
)
def test_an_unknown_method_of_an_address_is_said_and_not_shown(
    questions: Questions, asked: str, shown: str
) -> None:
    _, method, *_, answer, _ = questions.train_again({"model": LLAMA, "method": asked}, TOKEN)
    assert method == shown
    assert ("gs-error" in answer and asked in answer) is (asked == "osmosis")


def test_who_signed_in_trains_and_checks_what_they_may_read(questions: Questions) -> None:
    fields = (LLAMA, "lora", 2048, 1, "4090")
    assert "gs-training" in questions.train(*fields, TOKEN)[0]
    assert "gs-training" not in questions.train(*fields)[0]
    log = "Model loading took 14.9888 GiB and 3.2 seconds"
    assert questions.check_log(log, LLAMA, "4090", TOKEN) != questions.check_log(log, LLAMA, "4090")
