"""Words for people, in three languages: the only place where codes become sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.core.printable import printable
from gpusizer.core.units import format_count, format_gib, format_usd, significant
from gpusizer.text.languages import LANGUAGE_FIELD as LANGUAGE_FIELD
from gpusizer.text.languages import LANGUAGES as LANGUAGES
from gpusizer.text.languages import Language as Language
from gpusizer.text.languages import read_language as read_language
from gpusizer.text.languages import sentences as sentences
from gpusizer.text.notation import NOTATIONS as NOTATIONS


def text(key: str, language: Language, **fields: object) -> str:
    """Return the sentence under `key` with its fields filled in. Raises KeyError if unknown."""
    return sentences(language)[key].format(**_formatted(fields, language))


def say_note(note: Note, language: Language = "en") -> str:
    """Return the sentence of a caveat or reason."""
    return text(f"note.{note.code}", language, **note.fields)


def say_error(error: GpusizerError, language: Language = "en") -> str:
    """Return the sentence of an error, with near names if the error suggests some.

    An error with one particular reason may have its own sentence under `error.<code>.<reason>`, one
    of a particular field under `error.<code>.field_<field>`.
    """
    fields = {"value": "", "reason": "", "suggestions": "", **error.fields}
    fields["reason"] = _reason_words(error.code, fields, language)
    key = f"error.{error.code}"
    own = (f"{key}.{error.fields.get('reason')}", f"{key}.field_{error.fields.get('field')}")
    key = next((name for name in own if name in sentences(language)), key)
    sentence = text(key, language, **fields)
    suggestions = fields["suggestions"]
    if isinstance(suggestions, list) and suggestions:
        names = ", ".join(map(str, suggestions))
        sentence += " " + text("error.did_you_mean", language, names=names)
    return sentence


def _reason_words(code: str, fields: Mapping[str, object], language: Language) -> str:
    # Words for this error's reason, else words for the reason in any error, else the reason itself.
    reason, words = str(fields["reason"]), sentences(language)
    clause = words.get(f"reason.{code}.{reason}") or words.get(f"reason.{reason}")
    return reason if clause is None else clause.format(**_formatted(fields, language))


def _formatted(fields: Mapping[str, object], language: Language) -> dict[str, object]:
    # Numbers in the language's notation, lists with commas, codes and durations in words. Texts may
    # be a stranger's: only their printable characters are shown.
    notation = NOTATIONS[language]
    formatted: dict[str, object] = {}
    for name, value in fields.items():
        with_unit = _WITH_UNIT.get(_unit(name))
        if with_unit and isinstance(value, int | float):
            formatted[name] = notation.write(with_unit(value))
        elif name in _WORDED:
            formatted[name] = sentences(language)[f"{_WORDED[name]}{value}"]
        elif name == "duration_hours" and isinstance(value, int | float):
            formatted[name] = _duration(value, language)
        elif isinstance(value, list):
            formatted[name] = printable(", ".join(map(str, value))) or "—"
        elif isinstance(value, str):
            formatted[name] = printable(value)
        else:
            formatted[name] = notation.number(value)
    return formatted


def _duration(hours: float, language: Language) -> str:
    if hours >= 1:
        return text("note.hours", language, number=significant(hours))
    return text("note.minutes", language, number=significant(hours * 60))


def _unit(name: str) -> str:
    if name.endswith("_bytes"):
        return "bytes"
    return "usd" if name.endswith("_usd") else name


# prefix of the words of a code, by the name of the field
_WORDED = {"loss": "note.loss_", "tuning": "note.tuning_", "how": "note.how_", "work": "note.work_"}

# format of an amount with its unit, by the name of the field
_WITH_UNIT: Mapping[str, Callable[[float], str]] = {
    "bytes": format_gib,
    "parameters": format_count,
    "usd": format_usd,
}
