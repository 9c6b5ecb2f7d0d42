"""Words for people, in three languages: the only place where codes become sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Literal, get_args

from gpusizer.errors import GpusizerError
from gpusizer.notes import Note
from gpusizer.text.notation import NOTATIONS as NOTATIONS
from gpusizer.units import format_count, format_gib, format_usd

Language = Literal["en", "zh", "pt"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_CORE = ("{}", "buying.{}")
_PAGE = (
    "pages.{}", "pages.{}_accuracy", "pages.{}_derivation", "pages.{}_method", "pages.{}_pictures",
    "pages.{}_tabs", "pages.{}_tools", "pages.{}_training",
)  # fmt: skip
"""Modules of one language: what the core says itself, and the words of the web page."""


@cache
def table(language: Language, modules: tuple[str, ...] = (*_CORE, *_PAGE)) -> Mapping[str, str]:
    """Strings of a language, loaded when they are first asked for.

    Raises ValueError for a key that two modules have.
    """
    strings: dict[str, str] = {}
    for name in modules:
        own = import_module(f"gpusizer.text.{name.format(language)}").STRINGS
        if repeated := strings.keys() & own.keys():
            raise ValueError(f"in two modules: {sorted(repeated)}")
        strings |= own
    return strings


def text(key: str, language: Language, **fields: object) -> str:
    """The string under `key`, with its fields filled in. Raises KeyError for an unknown key."""
    strings = table(language, _PAGE if key.startswith("page.") else _CORE)
    return strings[key].format(**_shown(fields, language))


def say_note(note: Note, language: Language = "en") -> str:
    """The sentence of a caveat or reason."""
    return text(f"note.{note.code}", language, **note.fields)


def say_error(error: GpusizerError, language: Language = "en") -> str:
    """The sentence of an error."""
    fields = {"value": "", "reason": "", "suggestions": "", **error.fields}
    fields["reason"] = _reason(error.code, fields, language)
    key = f"error.{error.code}"
    special = f"{key}.{error.fields.get('reason')}"  # some reasons deserve their own sentence
    sentence = text(special if special in table(language, _CORE) else key, language, **fields)
    suggestions = fields["suggestions"]
    if isinstance(suggestions, list) and suggestions:
        names = ", ".join(map(str, suggestions))
        sentence += " " + text("error.did_you_mean", language, names=names)
    return sentence


def _reason(code: str, fields: Mapping[str, object], language: Language) -> str:
    """The words of a reason: this error's own, else everybody's, else the reason as it is."""
    reason, strings = str(fields["reason"]), table(language, _CORE)
    words = strings.get(f"reason.{code}.{reason}") or strings.get(f"reason.{reason}")
    return reason if words is None else words.format(**_shown(fields, language))


def _shown(fields: Mapping[str, object], language: Language) -> dict[str, object]:
    """What fills a sentence: numbers in the language's notation, lists with commas."""
    notation = NOTATIONS[language]
    shown: dict[str, object] = {}
    for name, value in fields.items():
        write = _UNITS.get("bytes" if name.endswith("_bytes") else name)
        if write and isinstance(value, int | float):
            shown[name] = notation.write(write(value))
        elif isinstance(value, list):
            shown[name] = ", ".join(map(str, value)) or "—"
        else:
            shown[name] = notation.number(value)
    return shown


_UNITS: Mapping[str, Callable[[float], str]] = {
    "bytes": format_gib, "parameters": format_count, "usd": format_usd,
}  # fmt: skip
"""Amounts get their unit, counts their suffix, by the name of the field."""
