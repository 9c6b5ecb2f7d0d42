"""Words for people, in three languages: the only place where codes become sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from gpusizer.errors import GpusizerError
from gpusizer.notes import Note
from gpusizer.text import buying, pages
from gpusizer.text.en import STRINGS as EN
from gpusizer.text.pt import STRINGS as PT
from gpusizer.text.zh import STRINGS as ZH
from gpusizer.units import format_count, format_gib

Language = Literal["en", "zh", "pt"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_TABLES: Mapping[Language, Mapping[str, str]] = {
    "en": {**EN, **buying.EN, **pages.EN},
    "zh": {**ZH, **buying.ZH, **pages.ZH},
    "pt": {**PT, **buying.PT, **pages.PT},
}


def text(key: str, language: Language, **fields: object) -> str:
    """The string under `key`, with its fields filled in. Raises KeyError for an unknown key."""
    return _TABLES[language][key].format(**{k: _shown(k, v) for k, v in fields.items()})


def say_note(note: Note, language: Language = "en") -> str:
    """The sentence of a caveat or reason."""
    return text(f"note.{note.code}", language, **note.fields)


def say_error(error: GpusizerError, language: Language = "en") -> str:
    """The sentence of an error."""
    fields = {"value": "", "reason": "", "suggestions": "", **error.fields}
    fields["reason"] = _reason(error.code, fields, language)
    key = f"error.{error.code}"
    special = f"{key}.{error.fields.get('reason')}"  # some reasons deserve their own sentence
    sentence = text(special if special in _TABLES[language] else key, language, **fields)
    suggestions = fields["suggestions"]
    if isinstance(suggestions, list) and suggestions:
        names = ", ".join(map(str, suggestions))
        sentence += " " + text("error.did_you_mean", language, names=names)
    return sentence


def _reason(code: str, fields: Mapping[str, object], language: Language) -> str:
    """The words of a reason: this error's own, else everybody's, else the reason as it is."""
    reason, table = str(fields["reason"]), _TABLES[language]
    words = table.get(f"reason.{code}.{reason}") or table.get(f"reason.{reason}")
    return reason if words is None else words.format(**fields)


def _shown(name: str, value: object) -> object:
    """Amounts get their unit, counts their suffix, by the name of the field; lists commas."""
    if name.endswith("_bytes") and isinstance(value, int | float):
        return format_gib(value)
    if name == "parameters" and isinstance(value, int | float):
        return format_count(value)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "—"
    return value
