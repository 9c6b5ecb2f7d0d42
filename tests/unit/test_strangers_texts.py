"""Every text of a repository, with characters that are not seen: no answer shows any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import pandas as pd
import pytest

from gpusizer.cli import Roots, run
from gpusizer.core.errors import GpusizerError, MalformedRepo, UnsupportedDtype
from gpusizer.gpus import load_catalogue
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.asked import FormCall, PageEvent
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.pieces.errors import error_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.sizer import Sizer
from tests.poison import (
    POISON,
    SIGN,
    every_text_poisoned,
    gguf,
    gptq,
    hidden,
)
from tests.shelf import MadeUpShelf

CATALOGUE = load_catalogue()
MODEL, GPU = "org/model", "4090"


REPOSITORIES = {"gptq": gptq(), "gguf": gguf()}


def of(answering: Sizer) -> Roots:
    """Roots with this Sizer; no command here serves."""

    def refuse(*arguments: object) -> NoReturn:
        raise AssertionError(arguments)

    return Roots(lambda arguments: answering, refuse)


def sizer(repo: RepoSnapshot) -> Sizer:
    def lister(base: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        return (QuantizedRepo(f"org/q{POISON}", f"GGUF{POISON}", 5, None),)

    return Sizer(lambda ref: repo, CATALOGUE, lister, ModelLibrary(MadeUpShelf(repo)))


def shell(
    repo: RepoSnapshot, *arguments: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    code = run(arguments, of(sizer(repo)))
    return (code, *capsys.readouterr())


def assert_clean(shown: str) -> None:
    assert set(hidden(shown)) <= {"\n"}
    assert not [line for line in shown.split("\n") if line.strip().startswith(SIGN)]


COMMANDS = {
    "size": ("size", MODEL, "--gpu", GPU, "--quantized-repos", "list"),
    "train": ("train", MODEL, "--gpu", GPU),
    "compare": ("compare", GPU, "--model", MODEL),
    "models-for": ("models-for", GPU, "--models", MODEL),
}


@pytest.mark.parametrize("name", REPOSITORIES)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_prints_no_control_characters(
    name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = every_text_poisoned(REPOSITORIES[name])
    for more in ((), ("--details",)):
        code, output, errors = shell(repo, *COMMANDS[command], *more, capsys=capsys)
        assert (code, errors) == (0, "")
        assert_clean(output)
        assert SIGN in output, "what the stranger wrote is shown all the same"
    code, output, _ = shell(repo, *COMMANDS[command], "--json", capsys=capsys)
    assert code == 0
    assert set(hidden(output)) == {"\n"} and output.count("\n") == 1
    assert POISON in " ".join(strings(json.loads(output))), "JSON is faithful"


def test_errors_print_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(error: GpusizerError) -> tuple[int, str, str]:
        def fetch(ref: ModelRef) -> RepoSnapshot:
            raise error

        code = run(["size", MODEL], of(sizer(gptq()).reading(fetch)))
        return (code, *capsys.readouterr())

    hostile = f"x{POISON}"
    for error in (
        UnsupportedDtype(repo_id=hostile, dtype=hostile),
        MalformedRepo(repo_id=hostile, file=hostile, reason=hostile),
    ):
        code, output, errors = fails(error)
        assert (code, output) == (3, "")
        assert_clean(errors)
        for language in LANGUAGES:
            assert set(hidden(error_html(error, (hostile,), Words(language)))) <= {"\n"}


@pytest.mark.parametrize("name", REPOSITORIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_has_no_control_characters(name: str, language: Language) -> None:
    """Each listener of the page, as Gradio calls it."""
    hostile = sizer(every_text_poisoned(REPOSITORIES[name]))
    handlers = Handlers(hostile, lambda token: hostile.fetch, language, (MODEL,))
    questions = handlers.questions
    query = PageState(model=MODEL, gpus=(GPU,)).query
    opening = (PageEvent("load", query),)
    answers: list[Any] = [
        *handlers.ask(FormCall({}, events=opening)),
        *handlers.compare_for(FormCall({}, events=opening)),
        handlers.draw(query),
        *questions.train(FormCall({"model": MODEL, "gpu": GPU})),
        *questions.models_for(FormCall({"gpu": GPU})),
    ]
    shown = list(strings(answers))
    assert SIGN in " ".join(shown), "what the stranger wrote is shown all the same"
    assert [text for text in shown if set(hidden(text)) - {"\n"}] == []


@pytest.mark.parametrize("name", REPOSITORIES)
@pytest.mark.parametrize("kind", ["json", "csv", "memory", "markdown"])
def test_files_of_an_answer_have_no_control_characters(name: str, kind: str) -> None:
    hostile = sizer(every_text_poisoned(REPOSITORIES[name]))
    handlers = Handlers(hostile, lambda token: hostile.fetch, "en", (MODEL,))
    query = PageState(model=MODEL, gpus=(GPU,)).query
    (file,) = json.loads(handlers.share(query, json.dumps([["take", kind]])))
    text = file["text"].replace("\r\n", "\n")
    assert_clean(text)
    if kind == "json":
        assert POISON in " ".join(strings(json.loads(text)))


def strings(value: Any) -> Iterator[str]:
    """Every text in what Gradio is given, or in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for item in value.items() for text in strings(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in strings(item))
    elif isinstance(value, pd.DataFrame):
        yield from strings([list(value.columns), value.to_numpy().tolist()])
