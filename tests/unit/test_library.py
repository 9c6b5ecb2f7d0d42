"""The library: typed answers, errors as exceptions, and no token that was not given."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import get_type_hints

import pytest

import gpusizer
from gpusizer import library
from gpusizer.core.errors import HubUnreachable, InvalidRequest, UnknownGpu
from gpusizer.library import keywords
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.use_cases import USE_CASES
from scripts.library_keywords import MODULE, SIGNATURES, module_text
from tests import library_user
from tests.cli.test_cli import ENVIRONMENT
from tests.hub_emulator import HubEmulator, llama_repo

MODEL = "Qwen/Qwen3-8B"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def test_keyword_arguments_are_current() -> None:
    """`python -m scripts.write_contract` would change nothing."""
    assert MODULE.read_text("utf-8") == module_text()


@pytest.mark.parametrize("question", USE_CASES)
def test_every_field_of_a_request_is_an_argument(question: str) -> None:
    signature = SIGNATURES[question]
    arguments = get_type_hints(getattr(keywords, signature.name)).keys()
    fields = described_fields(USE_CASES[question].request).keys()
    assert arguments | {*signature.named} == fields
    assert not arguments & {*signature.named}


def test_a_strictly_typed_program_runs() -> None:
    assert library_user.most_context(MODEL, "4090") == 40_960
    assert library_user.most_context("deepseek-ai/DeepSeek-R1", "3060") is None
    weights = library_user.bytes_by_quantization(MODEL)
    assert weights == {"q4_k_m": 4_671_766_528, "q8_0": 8_042_336_256}
    assert library_user.cards_that_hold("Qwen/Qwen3-32B", ["4090", "8gb 4060"]) == ["rtx-4090-24gb"]
    assert library_user.bytes_of_a_method(MODEL, "qlora") < library_user.bytes_of_a_method(
        MODEL, "full"
    )
    lines = [MODEL, "Qwen/Qwen3-14B quant=bf16"]
    assert library_user.waiting_beside(lines, "3090") == ["Qwen/Qwen3-14B"]
    assert library_user.waiting_beside(lines, "2x 3090") == []
    assert library_user.vendor_of("4090") == "NVIDIA"
    assert "/" in library_user.first_family("4090")


def test_an_error_has_its_sentence_in_the_language_asked_for() -> None:
    with pytest.raises(UnknownGpu) as raised:
        gpusizer.size(MODEL, gpu="banana", offline=True, lang="pt")
    assert raised.value.__notes__ == [gpusizer.say_error(raised.value, "pt")]
    assert "banana" in raised.value.__notes__[0] and "catálogo" in raised.value.__notes__[0]
    assert library_user.explained("nope/nope").startswith("Sem rede")


def test_a_sentence_shows_no_escape_sequence() -> None:
    with pytest.raises(InvalidRequest) as raised:
        gpusizer.size(MODEL, gpu="\x1b[31mred", offline=True)
    assert "\x1b" not in raised.value.__notes__[0]


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest) as raised:
        library_user.misspelled()
    fields = raised.value.fields
    assert (fields["field"], fields["suggestions"]) == ("concurency", ["concurrency"])
    assert fields["known"] == sorted(described_fields(USE_CASES["size"].request))


@pytest.mark.parametrize("lang", ["", "de", "EN"])
def test_an_unknown_language_is_refused(lang: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        gpusizer.list_gpus("4090", lang=lang)
    assert (raised.value.fields["field"], raised.value.fields["choices"]) == ("lang", "en, zh, pt")


def test_sentences_are_in_the_language_asked_for() -> None:
    chinese = gpusizer.size(MODEL, gpu="4090", offline=True, lang="zh")
    english = gpusizer.size(MODEL, gpu="4090", offline=True)
    assert "显存" in chinese.answer.sentence
    assert chinese.ranking[0].verdict == english.ranking[0].verdict == "fits"


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="sizze"):
        gpusizer.sizze  # type: ignore[attr-defined]  # noqa: B018
    assert all(getattr(gpusizer, name) is getattr(library, name) for name in gpusizer.__all__)


def test_importing_loads_nothing_of_ours() -> None:
    code = "import sys, gpusizer; print([n for n in sys.modules if n.startswith('gpusizer.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


OWN = "hf_users_own"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubEmulator]:
    """Yield a Hub with a gated model, whose token the host has in its environment."""
    with HubEmulator([llama_repo("org/gated", layers=4, gated="manual")]) as running:
        running.options.valid_tokens = {OWN: {"org/gated"}}
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        monkeypatch.setenv("GPUSIZER_CDN_ORIGINS", running.cdn_endpoint)
        monkeypatch.setenv("HF_TOKEN", OWN)
        monkeypatch.setenv("GPUSIZER_USE_HOST_TOKEN", "1")
        monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
        yield running


def test_the_hub_is_sent_no_token_but_a_given_one(hub: HubEmulator) -> None:
    without = gpusizer.size("org/gated", gpu="4090")
    sent = {request.headers.get("authorization") for request in hub.requests_to("hub")}
    assert sent == {None}, "neither HF_TOKEN nor the operator's"
    hub.reset_log()
    own = gpusizer.size("org/gated", gpu="4090", token=f" {OWN}\n")
    sent = {request.headers.get("authorization") for request in hub.requests_to("hub")}
    assert sent == {f"Bearer {OWN}"}
    assert own.estimates != without.estimates, "layers are counted in the files"
    again = gpusizer.size("org/gated", gpu="4090")
    assert again.estimates == without.estimates, "nothing that the token opened is kept"


def test_offline_asks_nobody(hub: HubEmulator) -> None:
    with pytest.raises(HubUnreachable):
        gpusizer.size("org/gated", offline=True, token=OWN)
    assert gpusizer.size(MODEL, gpu="4090", offline=True).model.repo_id == MODEL
    assert hub.requests_to("hub") == []
