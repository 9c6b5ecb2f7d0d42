"""The words: the same keys and fields in every language, and a sentence for every code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from gpusizer import text as words
from gpusizer.errors import GpusizerError, HubUnreachable, MalformedRepo, NoWeights
from gpusizer.fit import Verdict
from gpusizer.purpose import INFERENCE_LEVELS, TRAINING_LEVELS
from gpusizer.text import LANGUAGES, Language, say_error
from gpusizer.training.plan import SHARDINGS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "gpusizer", ROOT / "scrapers")
TABLES = {language: words.table(language) for language in LANGUAGES}
ENGLISH = TABLES["en"]

LABELS = ("training", "inference", "light_inference", "neither", "unknown")
LACKING = (
    "matrix_rate", "compute_per_byte", "fabric", "memory", "fast_16_bit", "bandwidth",
)  # fmt: skip
# Notes whose code is not written out where they are made: file -> the codes it may have.
COMPUTED_NOTES = {
    "ranking.py": {f"verdict_{verdict.value}" for verdict in Verdict},
    "why.py": {
        *(f"why_{verdict.value}" for verdict in Verdict),
        *(f"why_training_{level}" for level in (*TRAINING_LEVELS, "unknown")),
        *(f"why_inference_{level}" for level in (*INFERENCE_LEVELS, "unknown")),
        "why_price_street",
        "why_price_launch",
        "why_per_million_rented",
        "why_per_million_owned",
        "why_per_hour_rented",
        "why_per_hour_owned",
    },
    "purpose.py": {
        *(f"purpose_{label}" for label in LABELS),
        *(f"purpose_also_{level}" for level in ("workstation", "one_board")),
        *(f"purpose_lacks_{name}" for name in LACKING),
        *(f"purpose_unknown_{name}" for name in LACKING if name not in ("memory", "fast_16_bit")),
    },
    "offload.py": {"pipeline_offload_model", "pipeline_offload_sequential"},
    "changes.py": {"try_cpu_offload_model", "try_cpu_offload_sequential"},
    "caveats.py": {
        "recovered_from_tensors",
        "metadata_recovered",
        "class_defaults_used",
        "gated_totals",
        "sizes_from_files",
    },
    "fit.py": {  # of training: verdicts, and ways to divide
        *(f"training_{verdict}" for verdict in ("fits", "tight", "does_not_fit")),
        *(f"training_{sharding}" for sharding in SHARDINGS),
    },
}
# The same in every language: units, names and bare fields.
UNIVERSAL = {
    "page.column.rank", "page.column.speed", "page.tokens_per_second", "page.tokens",
    "page.several_gpus", "page.between_sentences", "page.experts",
    "page.column.bandwidth", "page.column.fp16", "page.share.json",
    "page.column.energy",
}  # fmt: skip
SAME_IN_PORTUGUESE = UNIVERSAL | {
    "page.kind.mac", "page.part.overhead", "page.column.overhead", "page.column.gpu",
    "page.column.total", "page.column.power", "page.per_hour", "page.cards.placeholder",
    "page.cards.used", "page.accuracy.ours", "page.column.n", "page.seconds",
    "page.catalogue.title",
}  # fmt: skip


def fields_of(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of a function or class of this name."""
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", None))
                if called == name:
                    yield path, node


def errors(base: type[GpusizerError] = GpusizerError) -> Iterator[type[GpusizerError]]:
    yield base
    for child in base.__subclasses__():
        yield from errors(child)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys(language: Language) -> None:
    assert TABLES[language].keys() == ENGLISH.keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_use_the_same_fields(language: Language) -> None:
    differing = {
        key: (fields_of(sentence), fields_of(ENGLISH[key]))
        for key, sentence in TABLES[language].items()
        if fields_of(sentence) != fields_of(ENGLISH[key])
    }
    assert differing == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_is_empty_or_holds_markup(language: Language) -> None:
    odd = [
        key
        for key, sentence in TABLES[language].items()
        if (not sentence and key != "page.between_sentences")
        or re.search(r"<\w|</|&\w+;", sentence)
    ]
    assert odd == []


def test_every_error_has_a_sentence() -> None:
    missing = {error.code for error in errors() if f"error.{error.code}" not in ENGLISH}
    assert missing == set()


def test_every_note_has_a_sentence() -> None:
    codes: set[str] = set()
    computed: set[str] = set()
    for path, call in calls("Note"):
        code = call.args[0]
        if isinstance(code, ast.Constant):
            codes.add(str(code.value))
        else:
            computed.add(path.name)
    assert computed == set(COMPUTED_NOTES)
    codes |= set().union(*COMPUTED_NOTES.values())
    assert {code for code in codes if f"note.{code}" not in ENGLISH} == set()
    assert {key for key in ENGLISH if key.startswith("note.")} == {f"note.{c}" for c in codes}


def test_every_reason_written_out_has_words() -> None:
    reasons = {
        str(keyword.value.value)
        for error in errors()
        for _, call in calls(error.__name__)
        for keyword in call.keywords
        if keyword.arg == "reason" and isinstance(keyword.value, ast.Constant)
    }
    for name, place in (("_fail", 2), ("_refuse", 1)):
        for _, call in calls(name):
            if len(call.args) > place and isinstance(call.args[place], ast.Constant):
                reasons.add(str(call.args[place].value))  # type: ignore[attr-defined]
    assert reasons
    # Either words that complete a sentence, or a sentence of its own for that error.
    worded = {key.rsplit(".", 1)[-1] for key in ENGLISH if key.startswith(("reason.", "error."))}
    assert reasons - worded == set()


def test_no_fact_is_called_path() -> None:
    """Gradio's client takes any object with a `path` for a file, and fails to download it."""
    named = {
        (path.name, call.lineno)
        for name in ("Note", *(error.__name__ for error in errors()))
        for path, call in calls(name)
        if any(keyword.arg == "path" for keyword in call.keywords)
    }
    assert named == set()


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_nothing_is_left_untranslated(key: str) -> None:
    chinese, portuguese = TABLES["zh"][key], TABLES["pt"][key]
    if key not in UNIVERSAL:
        assert re.search(r"[\u4e00-\u9fff]", chinese), chinese
    if key not in SAME_IN_PORTUGUESE and fields_of(ENGLISH[key]) != {ENGLISH[key].strip("{}")}:
        assert portuguese != ENGLISH[key]


def test_the_page_uses_every_key_and_no_other() -> None:
    """Keys asked for in `gpusizer/ui` exist; keys nobody could ask for do not."""
    asked: set[str] = set()
    patterns: list[str] = []
    for path in sorted((ROOT / "gpusizer" / "ui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                asked.add(node.value)
            if isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"[\w.]+"
                    for part in node.values
                ]
                if re.search(r"[a-z]{3}", re.sub(r"\[.*?\]\+", "", "".join(parts))):
                    patterns.append("".join(parts))
    keys = {key.removeprefix("page.") for key in ENGLISH if key.startswith("page.")}
    for group in ("facts", "cards", "memory", "ranking"):
        asked |= {f"{group}.title", f"{group}.lead"}  # Words.heading adds the ends
    unused = {
        key for key in keys - asked if not any(re.fullmatch(pattern, key) for pattern in patterns)
    }
    assert unused == set()
    written = {
        str(call.args[0].value)
        for _, call in calls("words")
        if call.args and isinstance(call.args[0], ast.Constant)
    }
    assert written - keys == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_errors_are_said_with_their_facts(language: Language) -> None:
    said = say_error(NoWeights(repo_id="a/b", formats=["pickle", "gguf"]), language)
    assert "a/b" in said
    assert "pickle, gguf" in said
    assert "[" not in said


def test_the_same_reason_can_mean_another_thing_to_another_error() -> None:
    said = say_error(MalformedRepo(repo_id="a/b", file="x", reason="shape"))
    assert "tensor" in said
    assert "organisation" not in said


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert "{odd}" in say_error(HubUnreachable(repo_id="a/b", reason="{odd}"))
