"""The words: the same keys and fields in every language, and a sentence for every code."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from gpusizer.core.errors import GpusizerError, HubUnreachable, MalformedRepo, NoWeights
from gpusizer.fit.audience import rules
from gpusizer.fit.fit import Verdict
from gpusizer.gpus.purpose import INFERENCE_LEVELS, TRAINING_LEVELS
from gpusizer.gpus.unlisted import REASONS
from gpusizer.quality.boards import PURPOSES as WORK_PURPOSES
from gpusizer.quality.prediction import BASES
from gpusizer.quality.quality import WORDS as LOSS_WORDS
from gpusizer.text import LANGUAGES, Language, say_error, sentences
from gpusizer.text.languages import file_of, read_sentences
from gpusizer.training.plan import METHODS, SHARDINGS
from gpusizer.usecases.models_for.ordering import How

WORDS = {language: sentences(language) for language in LANGUAGES}
ENGLISH = WORDS["en"]
VERDICTS = tuple(verdict.value for verdict in Verdict)

# Keys that the code puts together from a beginning and a value of an enumeration.
FAMILIES: Mapping[str, Iterable[str]] = {
    "verdict.": VERDICTS,
    "note.verdict_": VERDICTS,
    "note.why_": VERDICTS,
    "note.why_training_": (*TRAINING_LEVELS, "unknown"),
    "note.why_inference_": (*INFERENCE_LEVELS, "unknown"),
    "note.why_audience_": [rule.code for rule in rules()],
    "note.answer_misses_audience_": [rule.code for rule in rules()],
    "note.gpu_": REASONS,
    "error.unknown_gpu.": (*REASONS, "several_chips", "here"),
    "error.invalid_model_id.": ("organisation", "ollama_user", "ollama_unknown"),
    "error.invalid_request.field_": ("gpu", "rig"),
    "note.how_": get_args(How),
    "note.tuning_": METHODS,
    "note.training_": SHARDINGS,
    "note.loss_": LOSS_WORDS,
    "note.weighed_": LOSS_WORDS,
    "note.beyond_": LOSS_WORDS[:-1],
    "note.quality_basis_": BASES,
    "note.work_": WORK_PURPOSES,
    "note.scores_": ("of", "of_makers"),
    "note.pick_longest_": ("good", "unmeasured"),
    "note.pick_smallest_": ("good", "unmeasured"),
    "note.pick_": ("best", "newer"),
    "page.pick.": ("best", "largest", "faster", "newer", "longer", "smaller"),
    "page.field.purpose.": ("all", *WORK_PURPOSES),
    "page.reverse.order_by_": ("board", "unmeasured"),
}


def fields_of(sentence: str) -> set[tuple[str, str]]:
    """Return the fields of a sentence with their format specifications, without nouns."""
    return {
        (name, (specification or "").partition("|")[0])
        for _, name, specification, _ in Formatter().parse(sentence)
        if name
    }


def errors(base: type[GpusizerError] = GpusizerError) -> Iterator[type[GpusizerError]]:
    yield base
    for child in base.__subclasses__():
        yield from errors(child)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys_in_the_same_order(language: Language) -> None:
    def layout(name: Language) -> list[tuple[str, list[str]]]:
        sections = tomllib.loads(file_of(name).read_text(encoding="utf-8"))
        return [(section, list(rows)) for section, rows in sections.items()]

    assert layout(language) == layout("en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_use_the_same_fields(language: Language) -> None:
    differing = {
        key: (fields_of(sentence), fields_of(ENGLISH[key]))
        for key, sentence in WORDS[language].items()
        if fields_of(sentence) != fields_of(ENGLISH[key])
    }
    assert differing == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_single_lines_without_markup(language: Language) -> None:
    """A missing backslash at the end of a line would leave a line break and an indent."""
    odd = re.compile(r"\s{2}|[\n\t]|<\w|</|&\w+;")
    assert [key for key, text in WORDS[language].items() if odd.search(text)] == []
    assert [key for key, text in WORDS[language].items() if not text] in (
        [],
        ["page.between_sentences"],
    )


@pytest.mark.parametrize(
    "words",
    ['[a]\n"k" = "x"\n[b]\n"k" = "y"\n', '[a]\n"k" = 1\n', '[a]\n"k" = "x"\n"k" = "y"\n'],
    ids=["in two sections", "not text", "twice in a section"],
)
def test_a_file_with_a_doubtful_key_is_refused(words: str, tmp_path: Path) -> None:
    file = tmp_path / "en.toml"
    file.write_text(words, encoding="utf-8")
    with pytest.raises(ValueError):
        read_sentences(file)


def test_every_error_and_every_value_has_a_sentence() -> None:
    codes = {f"error.{error.code}" for error in errors()}
    values = {beginning + ending for beginning, all_of in FAMILIES.items() for ending in all_of}
    assert (codes | values) - ENGLISH.keys() == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_error_sentences_include_their_fields(language: Language) -> None:
    sentence = say_error(NoWeights(repo_id="a/b", formats=["pickle", "gguf"]), language)
    assert "a/b" in sentence
    assert "pickle, gguf" in sentence
    assert "[" not in sentence


def test_a_reason_has_the_words_of_its_error_or_is_shown_as_it_is() -> None:
    sentence = say_error(MalformedRepo(repo_id="a/b", file="x", reason="shape"))
    assert "tensor" in sentence and "organisation" not in sentence
    assert "{odd}" in say_error(HubUnreachable(repo_id="a/b", reason="{odd}"))
