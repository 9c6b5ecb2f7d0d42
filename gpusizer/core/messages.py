"""Note: a remark by code and facts. `gpusizer.text` turns it into a sentence at the edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusizer.core.loose_values import JsonObject, StoredObject

NoteValue = str | int | float


class Note:
    """A caveat or reason: a stable code plus the facts its sentence mentions.

    >>> Note("mtp_layers_counted", parameters=13_460_000_000).code
    'mtp_layers_counted'
    """

    __slots__ = ("code", "fields")

    def __init__(self, code: str, **fields: NoteValue) -> None:
        self.code = code
        self.fields: Mapping[str, NoteValue] = fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Note):
            return NotImplemented
        return (self.code, self.fields) == (other.code, other.fields)

    def __hash__(self) -> int:
        return hash((self.code, tuple(sorted(self.fields.items()))))

    def __repr__(self) -> str:
        return f"Note({self.code!r}, {dict(self.fields)!r})"

    def to_json(self) -> JsonObject:
        return {"code": self.code, "fields": dict(self.fields)}

    @classmethod
    def from_json(cls, data: StoredObject) -> Note:
        return cls(data["code"], **data["fields"])


Translate = Callable[[Note], str]  # Turns a note into a sentence in the reader's language.
