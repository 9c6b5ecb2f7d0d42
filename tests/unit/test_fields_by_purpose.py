"""The fold of options: fields by the purpose, and no request with a field that is hidden."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from gpusizer.ui.page.asked import FormCall, PageEvent
from gpusizer.ui.page.forms import FORMS, PURPOSES_OF_FIELDS, SEVERAL, hidden_fields, purpose_of
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.choices import ModelUse
from tests.pages import LLAMA, page_handlers

FLUX = "black-forest-labs/FLUX.1-dev"
GEMMA = "google/gemma-4-31B-it"
OPTIONS = tuple(name for row in FORMS["size"].more for name in row)
STATED = {
    "prompt_tokens": "1000",
    "steps": "20",
    "width": "512",
    "images": "2",
    "image_width": "640",
    "kv_offload_gb": "32",
    "min_tok_s": "5",
    "max_usd": "9e5",
}


def shown(address: str = "", query: str = "", **typed: str) -> dict[str, Any]:
    """Return the last of what the page shows for an address or for what is typed."""
    events = (PageEvent("load", address),) if address else ()
    fields = PageState.from_query(query).form if query else {}
    *_, last = page_handlers().ask(FormCall({**fields, **typed}, query, events))
    return last


def stated(answer: dict[str, Any]) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(str(answer["query"])).items()}


def test_every_field_of_a_purpose_is_an_option_of_the_fold() -> None:
    assert {name for names in PURPOSES_OF_FIELDS.values() for name in names} < set(OPTIONS)
    assert [name for name in OPTIONS if not purpose_of(name)] == ["max_loss", "max_usd"]
    assert set(PURPOSES_OF_FIELDS["users"]) < set(SEVERAL)


@pytest.mark.parametrize(
    ("model", "use"), [(LLAMA, "tokens"), (GEMMA, "vision"), (FLUX, "pictures")]
)
def test_what_is_hidden_for_a_model_is_not_asked(model: str, use: ModelUse) -> None:
    """The answer, its address and the fields are those without it."""
    asked = {"model": model, **STATED, "gpus": "4090"}
    hidden = hidden_fields(use) & STATED.keys()
    answer = shown(urlencode(asked))
    kept = {name: text for name, text in asked.items() if name not in hidden}
    assert hidden and stated(answer).keys() == kept.keys()
    assert {name: answer[name] for name in hidden} == FORMS["size"].values({}, hidden)
    plain = shown(urlencode(kept))
    assert (answer["answer"], answer["cards"]) == (plain["answer"], plain["cards"])
    assert f'data-model-use="{use}"' in str(answer["answer"])


def test_pictures_take_the_size_and_the_steps_that_are_typed() -> None:
    usual = shown(urlencode({"model": FLUX, "gpus": "4090"}))
    small = shown(urlencode({"model": FLUX, "gpus": "4090", "width": "512", "height": "512"}))
    assert "512 × 512" in small["answer"] and "512 × 512" not in usual["answer"]
    text = shown(query=str(small["query"]), model=LLAMA)
    assert "width" not in stated(text) and text["width"] == ""


def test_pictures_of_a_prompt_are_asked_of_models_that_read_them() -> None:
    """Two of 1920 x 1080 pixels take 2 x 264 tokens; their usual sides stay out of the address."""
    asked = {"model": GEMMA, "gpus": "4090", "images": "2", "image_width": "1920"}
    answer = shown(urlencode({**asked, "image_height": "1080"}))
    assert stated(answer)["images"] == "2" and "528 tokens for 2 pictures" in answer["answer"]
    usual = shown(urlencode({"model": GEMMA, "gpus": "4090", "images": "2"}))
    assert stated(usual).keys() == {"model", "images", "gpus"}
    assert "2 pictures of 1024 × 1024 pixels" in usual["answer"]
    text = shown(query=str(answer["query"]), model=LLAMA)
    assert "images" not in stated(text) and text["images"] == ""


def test_a_number_of_pictures_that_no_prompt_has_is_refused_where_it_is_shown() -> None:
    asked = {"gpus": "4090", "images": "99999"}
    seen = shown(urlencode({"model": GEMMA, **asked}))
    assert "99999" in seen["answer"] and "gs-figures" not in seen["answer"]
    text = shown(urlencode({"model": LLAMA, **asked}))
    assert "images" not in stated(text) and "gs-figures" in text["answer"]


def test_memory_for_earlier_prompts_is_a_field_of_several_users() -> None:
    load = {"concurrency": "8", "kv_offload_gb": "32", "engine": "vllm"}
    answer = shown(urlencode({"model": LLAMA, "gpus": "4090", **load}))
    assert stated(answer)["kv_offload_gb"] == "32"
    text = str(answer["answer"])
    assert "of earlier prompts in system memory" in text and "--kv-offloading-size 32" in text
    assert "GiB, your RAM 32.0 GiB for the" in text and "your RAM the other" not in text


def test_a_refused_field_of_the_other_kind_is_dropped_too() -> None:
    """The page hides it, so that no visitor could mend it. One of the own kind is an error."""
    text = shown(urlencode({"model": LLAMA, "gpus": "4090", "width": "99999"}))
    assert "width" not in stated(text) and text["width"] == "" and "gs-figures" in text["answer"]
    picture = shown(urlencode({"model": FLUX, "gpus": "4090", "width": "99999"}))
    assert "99999" in picture["answer"] and "gs-figures" not in picture["answer"]
    picture = shown(urlencode({"model": FLUX, "gpus": "4090", "context": "-1"}))
    assert "context" not in stated(picture) and "gs-figures" in picture["answer"]


def test_for_one_user_no_field_of_a_load_stays() -> None:
    load = {"concurrency": "8", "prompt_tokens": "900", "ttft_ms": "300", "peak_to_mean": "3"}
    load["kv_offload_gb"] = "32"
    query = urlencode({"model": LLAMA, **load, "gpus": "4090"})
    call = FormCall(PageState.from_query(query).form, query, (PageEvent("alone", ""),))
    emptied, *_, answer = page_handlers().ask(call)
    assert set(emptied) == set(SEVERAL)
    assert emptied == FORMS["size"].values({}, SEVERAL)
    assert stated(answer) == {"model": LLAMA, "gpus": "4090"}
