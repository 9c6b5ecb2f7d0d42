"""Published recommendations: the reader's question, and whether a suggestion is accepted.

`data/measurements/README.md` describes the rows; `recommended_setups.toml` holds their words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.measurements import FOLDER, Row, load
from gpusizer.core.tables import records_by, toml_of

FILE = FOLDER / "recommendations.jsonl"
CLASSES = FOLDER / "card_classes.csv"

HOME, WORKSTATION, MANY = "one user at home", "workstation", "serve many"
TUNE, PICTURE = "fine-tune", "picture"
ANY = "any"
PARTS = ("card", "boards", "precision", "engine")

_WORDS = toml_of(__file__)
_PRECISIONS = tuple((re.compile(entry["pattern"]), entry["words"]) for entry in _WORDS["precision"])
_ENGINES: Mapping[str, list[str]] = _WORDS["engine"]
_FIELDS: Mapping[str, str] = _WORDS["fields"]
_MAC = "mac:"
_MEMORY = re.compile(r"-(\d+)gb")
_USERS, _FEW_USERS, _TOKENS = 64, 4, 1024


@dataclass(frozen=True, slots=True)
class CardClass:
    """Cards that recommendations treat as one kind."""

    name: str
    title: str
    slugs: tuple[str, ...]


@cache
def card_classes() -> Mapping[str, CardClass]:
    """Return classes of cards by name."""
    return records_by(CLASSES, "name", CardClass)


@cache
def _class_of_card() -> Mapping[str, str]:
    return {slug: name for name, kind in card_classes().items() for slug in kind.slugs}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A run config that an answer suggests."""

    kind: str  # "headline", a kind of alternative such as "fastest", or "" for a row of the ranking
    gpu: str  # slug of the card
    count: int  # number of boards
    quant: str = ""  # slug, "" if a training has none
    engine: str = ""  # slug, "" if a training has none

    @classmethod
    def from_row(cls, kind: str, item: Mapping[str, Any]) -> Suggestion:
        """Return the suggestion of a row of the ranking or of an alternative."""
        quant, engine = item.get("quant") or "", item.get("engine") or ""
        return cls(kind, item["gpu"], item["count"], quant, engine)

    @property
    def card_class(self) -> str:
        """Name of the card's class, or ""."""
        return _class_of_card().get(self.gpu, "")

    @property
    def memory_gb(self) -> int:
        """Memory of one board by its slug, 0 for a slug without it."""
        match = _MEMORY.search(self.gpu)
        return int(match[1]) if match else 0

    @property
    def precision(self) -> frozenset[str]:
        """Words of recommendations for the quantization, or its slug."""
        for pattern, words in _PRECISIONS:
            if match := pattern.match(self.quant.lower()):
                return frozenset(match.expand(word) for word in words)
        return frozenset({self.quant.lower()})

    @property
    def bits(self) -> int:
        """Nominal bits of a weight, 16 for a slug without them."""
        numbers = re.findall(r"\d+", " ".join(sorted(self.precision)))
        return int(numbers[0]) if numbers else 16


@dataclass(frozen=True, slots=True)
class Setup:
    """A set-up that a source accepts."""

    # names of classes of cards, or `mac:N` for Apple chips of at least N GB
    classes: tuple[str, ...]
    boards: tuple[int, int]  # the fewest and the most of them
    precision: tuple[str, ...]  # words of `recommended_setups.toml`, or "any"
    engine: tuple[str, ...]  # words of `recommended_setups.toml`, or "any"

    @classmethod
    def from_option(cls, option: Mapping[str, Any]) -> Setup:
        """Return the set-up of an entry of `recommended`."""
        low, high = option["boards"]
        texts = (tuple(option[name]) for name in ("classes", "precision", "engine"))
        classes, precision, engine = texts
        return cls(classes, (low, high), precision, engine)

    @property
    def text(self) -> str:
        """The set-up in one line."""
        low, high = self.boards
        boards = str(low) if low == high else f"{low} to {high}"
        words = (self.classes, self.precision, self.engine)
        classes, precision, engine = (", ".join(part) for part in words)
        return f"{boards} of {classes}; precision {precision}; engine {engine}"

    def missed_by(self, item: Suggestion, *, tunes: bool) -> tuple[str, ...]:
        """Return the parts (`PARTS`) in which a suggestion differs.

        Precision and engine do not count for a training.
        """
        low, high = self.boards
        met = (
            any(_is_in_class(item, name) for name in self.classes),
            low <= item.count <= high,
            tunes or ANY in self.precision or not item.precision.isdisjoint(self.precision),
            tunes or ANY in self.engine or any(item.engine in _ENGINES[e] for e in self.engine),
        )
        return tuple(part for part, is_met in zip(PARTS, met, strict=True) if not is_met)


def _is_in_class(item: Suggestion, name: str) -> bool:
    if name.startswith(_MAC):
        return item.gpu.startswith("apple-") and item.memory_gb >= int(name.removeprefix(_MAC))
    return item.card_class == name


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A published recommendation."""

    id: str  # field of the row, like the next two
    source_url: str
    use: str
    model: str  # the row's model, or one of its shape
    constraint: Mapping[str, Any]  # the source's conditions, such as a card or a budget
    setups: tuple[Setup, ...]  # set-ups that the source accepts

    @classmethod
    def from_row(cls, row: Row) -> Recommendation:
        """Return the recommendation of a row."""
        model = row.get("asked_as", row["model"])
        setups = tuple(map(Setup.from_option, row["recommended"]))
        constraint = row.get("constraint", {})
        return cls(row["id"], row["source_url"], row["use"], model, constraint, setups)

    @property
    def names_card(self) -> bool:
        """Whether the source is about one card, and not about the choice of one."""
        return "gpu" in self.constraint

    @property
    def wants_speed(self) -> bool:
        """Whether the source prefers the least latency."""
        return "latency" in self.constraint

    @property
    def tunes(self) -> bool:
        """Whether the model is trained."""
        return self.use == TUNE

    def question(self) -> tuple[str, dict[str, str]]:
        """Return the command and the fields of a reader's question."""
        fields: dict[str, str] = {"model": self.model}
        if self.use == MANY:
            users = _FEW_USERS if self.wants_speed else self.constraint.get("users", _USERS)
            fields |= {"concurrency": str(users)}
            fields |= dict.fromkeys(("prompt_tokens", "answer_tokens"), str(_TOKENS))
            fields |= {"rank_by": "fastest"} if self.wants_speed else {}
        fields |= {
            field: str(self.constraint[name])
            for name, field in _FIELDS.items()
            if name in self.constraint
        }
        return "train" if self.tunes else "size", fields

    def missed_by(self, item: Suggestion) -> tuple[str, ...]:
        """Return the parts in which a suggestion differs from the nearest set-up."""
        missed = (setup.missed_by(item, tunes=self.tunes) for setup in self.setups)
        return min(missed, key=lambda parts: (len(parts), "card" in parts))


def read_recommendations(path: Path = FILE) -> tuple[Recommendation, ...]:
    """Return the recommendations of a file of rows. Raises ValueError for malformed JSON."""
    return tuple(map(Recommendation.from_row, load([path])))
