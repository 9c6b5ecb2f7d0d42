"""Models by the names that people use: Ollama's, spoken ones, IDs without an owner; and those with
names like one that could not be read."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property

from gpusizer.core.errors import (
    GpusizerError,
    HubUnreachable,
    InvalidModelId,
    ModelNotFound,
    PrivateOrMissing,
    UnknownQuant,
)
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import read_table, toml_of
from gpusizer.hub.model_ref import ModelRef, ParseRef
from gpusizer.memory.quants import find_quant
from gpusizer.usecases.models_for.live_use import embedded_use

MOST = 4
_INDEX = GENERATED_DIR / "models" / "index.json"
_MOST_CHARS = 120
_LIKE = 0.82
"""Least likeness of two names by difflib's ratio: a letter or two of ten differ."""
_OUT_OF_REACH = ("offline",)
"""Why a model that is not stored cannot be had at all; other failures say nothing of its name."""
_ALIKE = 2
"""Kind of a name that is spelt alike, after those that begin so (0) and have all words (1)."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([bmt])")
_NEAR_SIZE = 1.5
"""How many times larger or smaller a model of another family may be that takes a model's place."""
_NO_FAMILY = frozenset(toml_of(__file__)["no_family"])
"""Words of names that say how a model is stored or tuned."""
_FOR_NAMES = (InvalidModelId, ModelNotFound, PrivateOrMissing, HubUnreachable)


@contextmanager
def suggesting_models() -> Iterator[None]:
    """Add `suggestions` to errors about a model that is misspelt, missing or out of reach."""
    try:
        yield
    except _FOR_NAMES as error:
        if error.fields.get("reason") not in _OUT_OF_REACH and isinstance(error, HubUnreachable):
            raise
        named = str(error.fields.get("repo_id") or error.fields.get("value", ""))
        near = near_models(named)
        if isinstance(error, HubUnreachable):  # it may well exist: others can take its place
            near = list(dict.fromkeys((*near, *models_alike(named))))[:MOST]
        if near:
            error.fields.setdefault("suggestions", near)
        raise


def suggested_models(error: GpusizerError) -> list[str]:
    """The models that an error suggests."""
    near = error.fields.get("suggestions")
    return near if isinstance(error, _FOR_NAMES) and isinstance(near, list) else []


def near_models(text: str) -> list[str]:
    """IDs of known models that a text may mean, the likeliest first, at most four.

    Owners do not count, nor do case and signs: "llama 3.1 8b" means names that begin so, "Qwen3-8"
    those with one letter more. Among equals the most downloaded comes first.
    """
    wanted = Spelling(text.strip()[:_MOST_CHARS])
    if len(wanted.letters) < 3:
        return []
    if any(wanted.repo_id.casefold() == model.repo_id.casefold() for model in known_models()):
        return []
    rated = [
        (unlike, model.repo_id) for model in known_models() if (unlike := _unlike(wanted, model))
    ]
    rated.sort()
    if rated and not rated[0][0][0]:  # a name begins so: those that are only spelt alike are noise
        rated = [pair for pair in rated if pair[0][0] < _ALIKE]
    return [repo_id for _, repo_id in rated[:MOST]]


def models_alike(text: str) -> list[str]:
    """IDs of known models that can take the place of one, by the words and the size in its name: of
    its family with the nearest size, else of about its size; at most four.
    """
    wanted = Spelling(text.strip()[:_MOST_CHARS])
    rated: list[tuple[bool, float, int, str]] = []
    for model in known_models():
        stranger = not wanted.family & model.family
        apart = _sizes_apart(wanted.billions, model.billions)
        if stranger and apart > _NEAR_SIZE:
            continue
        rated.append(
            (stranger, apart, -_downloads().get(model.repo_id.casefold(), 0), model.repo_id)
        )
    return [repo_id for *_, repo_id in sorted(rated)[:MOST]]


def _sizes_apart(wanted: float | None, other: float | None) -> float:
    """How many times larger one size is than the other, infinite where one is not known."""
    if not wanted or not other:
        return math.inf
    return max(wanted / other, other / wanted)


@dataclass(frozen=True)
class Spelling:
    """What was typed, or an ID, as it is compared. Without `slots`, because words are cached."""

    repo_id: str

    @cached_property
    def words(self) -> Sequence[str]:
        name = self.repo_id.split(":")[0].rstrip("/").rpartition("/")[2]
        return re.findall(r"[^\W_]+(?:\.\d+)*", name.casefold())

    @cached_property
    def letters(self) -> str:
        return "".join(self.words)

    @cached_property
    def family(self) -> frozenset[str]:
        """Its words without digits, but for those that say how a model is tuned or packed."""
        words = (re.sub(r"[\d.]+\w?$", "", word) for word in self.words)
        return frozenset(word for word in words if len(word) > 2 and word not in _NO_FAMILY)

    @cached_property
    def billions(self) -> float | None:
        """Billions of parameters that the name states, None where it states none."""
        units = {"b": 1.0, "m": 0.001, "t": 1000.0}
        for word in self.words:
            match = _SIZE.fullmatch(word)
            if match:
                return float(match[1]) * units[match[2]]
        return None


def _unlike(wanted: Spelling, known: Spelling) -> tuple[float, ...]:
    """Sort key of a known model, empty for one that is not meant."""
    if known.letters.startswith(wanted.letters):
        kind = 0
    elif len(wanted.words) > 1 and all(word in known.letters for word in wanted.words):
        kind = 1
    else:
        matcher = difflib.SequenceMatcher(None, wanted.letters, known.letters)
        if matcher.quick_ratio() < _LIKE or matcher.ratio() < _LIKE:
            return ()
        return (_ALIKE, -matcher.ratio(), -_downloads().get(known.repo_id.casefold(), 0))
    return (kind, len(known.letters), -_downloads().get(known.repo_id.casefold(), 0))


@cache
def known_models() -> tuple[Spelling, ...]:
    """The models that come with gpusizer."""
    if not _INDEX.is_file():
        return ()
    return tuple(map(Spelling, json.loads(_INDEX.read_text("utf-8"))["models"]))


@cache
def _downloads() -> dict[str, int]:
    return {repo_id: use.downloads or 0 for repo_id, use in embedded_use().items()}


_CHAT_WORDS = ("instruct", "it", "chat")
_TAG = re.compile(r"(?P<name>[^\s:]+:[^\s:]+?)-(?P<quant>[^\s:-]+)")
"""A tag of Ollama that ends in a quantization: "qwen3:32b-q4_K_M"."""


def by_loose_names(parse: ParseRef) -> ParseRef:
    """A `parse` that also reads loose names; IDs, addresses and paths are read as before.

    A name is looked up in `data/model_names.csv`, then among the models that come with gpusizer: it
    means the one that is spelt with the same letters, or with these and a word for chat. What
    several may mean is left to `near_models`, which lists them.
    """

    def parse_loosely(text: str) -> ModelRef:
        name, tag = _without_quant(text.strip()[:_MOST_CHARS])
        meant = meant_model(name)
        return parse(text) if meant is None else replace(parse(meant), tag=tag)

    return parse_loosely


def meant_model(name: str) -> str | None:
    """The ID of the model that a name without an owner means; None for none and for several."""
    if not name or "/" in name or "\\" in name:
        return None
    listed = _listed().get(name.casefold())
    if listed is not None:
        return listed
    letters = Spelling(name.replace(":", "-")).letters
    spelt = [model.repo_id for model in known_models() if model.letters == letters]
    chats = {letters + word for word in _CHAT_WORDS}
    spelt = spelt or [model.repo_id for model in known_models() if model.letters in chats]
    return spelt[0] if len(spelt) == 1 else None


def _without_quant(text: str) -> tuple[str, str | None]:
    """A name of Ollama and the quantization that ends its tag."""
    match = _TAG.fullmatch(text)
    if match is None:
        return text, None
    try:
        find_quant(match["quant"])
    except UnknownQuant:
        return text, None
    return match["name"].removesuffix("-instruct").removesuffix("-it"), match["quant"]


@cache
def _listed() -> Mapping[str, str]:
    rows = read_table(DATA_DIR / "model_names.csv", lambda row: row)
    return {row.text("name"): row.text("repo_id") for row in rows}
