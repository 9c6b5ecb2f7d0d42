"""Languages, and the file with the words of each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from gpusizer.core.errors import InvalidRequest

Language = Literal["en", "zh", "pt"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
LANGUAGE_FIELD = "lang"
"""The field that names the language of an answer."""


def read_language(value: object) -> Language:
    """Return the language of an answer's sentences. Raises InvalidRequest for an unknown one."""
    language = next((name for name in LANGUAGES if name == value), None)
    if language is None:
        raise InvalidRequest(
            field=LANGUAGE_FIELD,
            value=str(value)[:80],
            reason="not_one_of",
            choices=", ".join(LANGUAGES),
        )
    return language


@cache
def sentences(language: Language) -> Mapping[str, str]:
    """Return every sentence of a language by key, read from its file on first use."""
    return read_sentences(file_of(language))


def file_of(language: Language) -> Path:
    """Return the TOML file with the words of a language."""
    return Path(__file__).with_name(f"{language}.toml")


def read_sentences(file: Path) -> Mapping[str, str]:
    """Return the sentences of a file by key.

    Its sections group them for people; a key is unique in the whole file. Raises ValueError for a
    file that is not TOML, a key in two sections, or a value that is not text.
    """
    by_key: dict[str, str] = {}
    for section in tomllib.loads(file.read_text(encoding="utf-8")).values():
        for key, sentence in section.items():
            if key in by_key:
                raise ValueError(f"{file.name} has {key} in two sections")
            if not isinstance(sentence, str):
                raise ValueError(f"{file.name}: {key} is not a string")
            by_key[key] = sentence
    return by_key
