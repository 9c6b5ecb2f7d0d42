"""The words: the same keys and fields in every language, a sentence for every code, none unused."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from gpusizer.core.errors import GpusizerError, HubUnreachable, MalformedRepo, NoWeights
from gpusizer.core.tables import toml_of
from gpusizer.fit.audience import rules
from gpusizer.fit.fit import Verdict
from gpusizer.gpus.purpose import INFERENCE_LEVELS, TRAINING_LEVELS
from gpusizer.gpus.unlisted import REASONS
from gpusizer.quality.prediction import BASES
from gpusizer.quality.quality import WORDS as LOSS_WORDS
from gpusizer.text import LANGUAGES, Language, say_error, sentences
from gpusizer.text.languages import file_of, read_sentences
from gpusizer.training.plan import METHODS, SHARDINGS
from gpusizer.ui.page.forms import FORMS
from gpusizer.usecases.models_for.ordering import How

ROOT = Path(__file__).resolve().parents[2]
CODE = (ROOT / "gpusizer", ROOT / "scrapers")
WORDS = {language: sentences(language) for language in LANGUAGES}
ENGLISH = WORDS["en"]

VERDICTS = tuple(verdict.value for verdict in Verdict)
PURPOSES = ("training", "inference", "light_inference", "neither", "unknown")
CRITERIA = ("matrix_rate", "compute_per_byte", "fabric", "memory", "fast_16_bit", "bandwidth")

# Families: keys that the code puts together from a beginning and one of these endings.
FAMILIES: Mapping[str, Iterable[str]] = {
    "verdict.": VERDICTS,
    "purpose.": PURPOSES,
    "note.verdict_": VERDICTS,
    "note.why_training_": (*TRAINING_LEVELS, "unknown"),
    "note.why_offer_": ("special", "too_old", "unpriced"),
    "note.why_computer_": ("several", "module"),
    "note.why_audience_": tuple({rule.code for rule in rules()}),
    "note.why_train_": ("fits", "tight", "does_not_fit"),
    "note.answer_": (
        *("fits", "tight", "from_disk", "offload"),
        *("fits_slowly", "tight_slowly", "offload_slowly"),
    ),
    "note.answer_free_": ("one", "each"),
    "note.answer_taken_": ("one", "each"),
    "note.answer_filled_": ("one", "each"),
    "note.answer_fastest": ("", "_each"),
    "note.answer_equally_fast": ("", "_each"),
    "note.answer_speed_alone": ("", "_each"),
    "note.answer_memory_": ("1", "2", "3"),
    "note.answer_price_": ("new", "used", "system", "launch", "own"),
    "note.answer_per_million_": ("rented", "owned"),
    "note.answer_misses_": (
        *("little_room", "support_ended", "too_slow", "slow_end", "unmeasured"),
        *("computer_several", "computer_module", "wide_band"),
        *{f"audience_{rule.code}" for rule in rules()},
        *("offer_special", "offer_too_old", "offer_unpriced"),
    ),
    "note.answer_or_": (
        *("cheapest_bought", "cheapest_bought_without_speed"),
        *("cheapest_rented", "cheapest_rented_without_speed"),
        *("fastest_bought", "fastest_bought_without_speed"),
        *("fastest_rented", "fastest_rented_without_speed"),
        *("rent_rented", "rent_rented_without_speed"),
        *("at_once_bought", "at_once_bought_without_speed"),
        *("at_once_rented", "at_once_rented_without_speed"),
    ),
    "note.gpu_": REASONS,
    "error.unknown_gpu.": (*REASONS, "several_chips", "here"),
    "error.invalid_model_id.": ("organisation", "ollama_user", "ollama_unknown"),
    "error.invalid_request.field_": ("gpu", "rig"),
    "note.how_": get_args(How),
    "note.answer_train_": ("fits", "tight"),
    "note.answer_train_or_": ("cheapest", "fastest", "rent"),
    "note.tuning_": METHODS,
    "note.why_": (*VERDICTS, "network", "pcie"),
    "note.why_inference_": (*INFERENCE_LEVELS, "unknown"),
    "note.why_price_": ("new", "used", "system", "launch", "own"),
    "note.why_per_million_": ("rented", "owned"),
    "note.why_per_hour_": ("rented", "owned"),
    "note.why_per_thousand_": ("rented", "owned"),
    "note.purpose_": PURPOSES,
    "note.purpose_also_": ("workstation", "one_board"),
    "note.purpose_lacks_": CRITERIA,
    "note.quant_needs_": ("fp8", "fp4", "int8", "int4", "cuda"),
    "note.purpose_unknown_": ("matrix_rate", "compute_per_byte", "fabric", "bandwidth"),
    "note.pipeline_offload_": ("model", "sequential"),
    "note.ram_speed_": ("stated", "desktop", "workstation", "server"),
    "note.try_cpu_offload_": ("model", "sequential"),
    "note.try_gpu_limit_": ("linux", "macos"),
    "note.loss_": LOSS_WORDS,
    "note.weighed_": LOSS_WORDS,
    "note.beyond_": LOSS_WORDS[:-1],
    "note.quality_basis_": BASES,
    "note.quality_matrix_": ("yes", "no", "unknown"),
    "note.training_": ("fits", "tight", "does_not_fit", *SHARDINGS),
    # Codes that stand in a table beside what they depend on.
    "note.": (
        "recovered_from_tensors",
        "metadata_recovered",
        "class_defaults_used",
        "gated_totals",
        "sizes_from_files",
    ),
}
FAMILY_KEYS = {beginning + ending for beginning, endings in FAMILIES.items() for ending in endings}

# The same in every language: units, names and bare fields.
UNIVERSAL = {
    "page.spec.boards",
    "page.column.rank",
    "page.column.speed",
    "page.tokens_per_second",
    "page.tokens",
    "note.answer_joined",
    "page.between_sentences",
    "page.experts",
    "page.column.bandwidth",
    "page.column.fp16",
    "page.share.json",
    "page.column.energy",
}
SAME_IN_PORTUGUESE = UNIVERSAL | {
    "page.spec.sound",
    "page.view.ranking",
    "page.kind.mac",
    "page.part.overhead",
    "page.column.overhead",
    "page.column.gpu",
    "page.column.total",
    "page.column.power",
    "page.per_hour",
    "page.cards.placeholder",
    "page.cards.used",
    "page.column.n",
    "page.seconds",
    "page.catalogue.title",
}


def fields_of(sentence: str) -> set[tuple[str, str]]:
    """The fields of a sentence, each with its format specification, without what is counted."""
    return {
        (name, (specification or "").partition("|")[0])
        for _, name, specification, _ in Formatter().parse(sentence)
        if name
    }


@cache
def modules(*folders: Path) -> tuple[ast.Module, ...]:
    paths = chain.from_iterable(sorted(folder.rglob("*.py")) for folder in folders)
    return tuple(ast.parse(path.read_text(encoding="utf-8")) for path in paths)


@cache
def all_calls() -> Mapping[str, list[ast.Call]]:
    """Every call in the code, by the name of the function or class."""
    by_name: defaultdict[str, list[ast.Call]] = defaultdict(list)
    for module in modules(*CODE):
        for node in ast.walk(module):
            if isinstance(node, ast.Call):
                by_name[getattr(node.func, "id", getattr(node.func, "attr", ""))].append(node)
    return by_name


def calls(name: str) -> list[ast.Call]:
    return all_calls().get(name, [])


def strings(*folders: Path) -> set[str]:
    """Every string that is written out in the code of these folders."""
    return {
        node.value
        for module in modules(*folders)
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def words_in(table: object) -> Iterator[str]:
    """Every name and every text of a table."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, Mapping):
        yield from (*table, *chain.from_iterable(map(words_in, table.values())))
    elif isinstance(table, list):
        yield from chain.from_iterable(map(words_in, table))


def pattern_of(joined: ast.JoinedStr) -> str:
    """A regular expression for the values of an f-string, with a group for each field."""
    return "".join(
        re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"([\w.]+)"
        for part in joined.values
    )


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
def test_no_sentence_is_empty_or_holds_markup(language: Language) -> None:
    odd = [
        key
        for key, sentence in WORDS[language].items()
        if (not sentence and key != "page.between_sentences")
        or re.search(r"<\w|</|&\w+;", sentence)
    ]
    assert odd == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_single_lines(language: Language) -> None:
    """A missing backslash at the end of a line would leave a line break and an indent."""
    assert [key for key, text in WORDS[language].items() if re.search(r"\s{2}|[\n\t]", text)] == []


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


def test_every_error_has_a_sentence() -> None:
    missing = {error.code for error in errors() if f"error.{error.code}" not in ENGLISH}
    assert missing == set()


def test_every_note_has_a_sentence() -> None:
    codes = [call.args[0] for call in calls("Note")]
    written = {f"note.{code.value}" for code in codes if isinstance(code, ast.Constant)}
    assert written - ENGLISH.keys() == set()
    patterns = {"note." + pattern_of(code) for code in codes if isinstance(code, ast.JoinedStr)}
    undeclared = {
        pattern
        for pattern in patterns
        if not any(re.fullmatch(pattern, key) for key in FAMILY_KEYS)
    }
    assert patterns and undeclared == set()


def test_families_have_their_sentences() -> None:
    assert FAMILY_KEYS - ENGLISH.keys() == set()


def test_every_key_is_used() -> None:
    """Dead words are found: a key stands in the code or in the tables beside it, is of a field of
    a form, or can be put together by it.

    Codes of errors, notes and reasons stand there without their kind ("note."). What is put
    together is listed in FAMILIES; for the page it is read off the f-strings of its modules,
    where whatever fills a blank has to stand somewhere in the code.
    """
    tables = [toml_of(str(file)) for file in (ROOT / "gpusizer" / "ui").rglob("*.toml")]
    shown = {name for form in FORMS.values() for name in form.names}
    written = strings(*CODE) | set(words_in(tables)) | shown
    unused = {
        key
        for key in ENGLISH.keys() - FAMILY_KEYS
        if not (
            key in written
            or (key.startswith(("note.", "page.")) and key.split(".", 1)[1] in written)
            or (key.startswith(("error.", "reason.")) and set(key.split(".")[1:]) <= written)
        )
    }
    patterns = {
        pattern_of(node)
        for module in modules(ROOT / "gpusizer" / "ui")
        for node in ast.walk(module)
        if isinstance(node, ast.JoinedStr)
        and re.search(
            "[a-z]{3}", "".join(p.value for p in node.values if isinstance(p, ast.Constant))
        )
    }

    def is_known(words: str) -> bool:
        matches = (re.fullmatch(pattern, words) for pattern in patterns)
        return words in written or any(
            match and all(map(is_known, match.groups())) for match in matches
        )

    assert {key for key in unused if not is_known(key.removeprefix("page."))} == set()


def test_the_page_asks_for_no_other_key() -> None:
    page_keys = {
        f"page.{call.args[0].value}"
        for call in calls("words")
        if call.args and isinstance(call.args[0], ast.Constant)
    }
    assert page_keys and page_keys - ENGLISH.keys() == set()


def test_every_reason_written_out_has_words() -> None:
    reasons = {
        str(keyword.value.value)
        for error in errors()
        for call in calls(error.__name__)
        for keyword in call.keywords
        if keyword.arg == "reason" and isinstance(keyword.value, ast.Constant)
    }
    for name, place in (("_fail", 2), ("_refuse", 1)):
        for call in calls(name):
            if len(call.args) > place and isinstance(call.args[place], ast.Constant):
                reasons.add(str(call.args[place].value))  # type: ignore[attr-defined]
    assert reasons
    # Either words that complete a sentence, or a sentence of its own for that error.
    worded = {key.rsplit(".", 1)[-1] for key in ENGLISH if key.startswith(("reason.", "error."))}
    assert reasons - worded == set()


def test_no_field_of_an_answer_is_called_path() -> None:
    """Gradio's client takes any object with a `path` for a file, and fails to download it."""
    calls_with_path = [
        ast.unparse(call)
        for call in chain(calls("Note"), *(calls(error.__name__) for error in errors()))
        if any(keyword.arg == "path" for keyword in call.keywords)
    ]
    assert calls_with_path == []


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_nothing_is_left_untranslated(key: str) -> None:
    chinese, portuguese = WORDS["zh"][key], WORDS["pt"][key]
    if key not in UNIVERSAL:
        assert re.search(r"[\u4e00-\u9fff]", chinese), chinese
    if key not in SAME_IN_PORTUGUESE and not re.fullmatch(r"\{\w+\}", ENGLISH[key]):
        assert portuguese != ENGLISH[key]


@pytest.mark.parametrize("language", LANGUAGES)
def test_error_sentences_include_their_fields(language: Language) -> None:
    sentence = say_error(NoWeights(repo_id="a/b", formats=["pickle", "gguf"]), language)
    assert "a/b" in sentence
    assert "pickle, gguf" in sentence
    assert "[" not in sentence


def test_the_same_reason_can_mean_another_thing_to_another_error() -> None:
    sentence = say_error(MalformedRepo(repo_id="a/b", file="x", reason="shape"))
    assert "tensor" in sentence
    assert "organisation" not in sentence


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert "{odd}" in say_error(HubUnreachable(repo_id="a/b", reason="{odd}"))
