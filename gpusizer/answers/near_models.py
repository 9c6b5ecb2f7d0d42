"""Models with names like one that could not be read, among those that come with gpusizer."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property

from gpusizer.answers.models_for.model_use import embedded_use
from gpusizer.core.errors import (
    GpusizerError,
    HubUnreachable,
    InvalidModelId,
    ModelNotFound,
    PrivateOrMissing,
)
from gpusizer.core.paths import GENERATED_DIR

MOST = 4
_INDEX = GENERATED_DIR / "models" / "index.json"
_MOST_CHARS = 120
_LIKE = 0.82
"""Least likeness of two names by difflib's ratio: a letter or two of ten differ."""
_OUT_OF_REACH = ("offline",)
"""Why a model that is not stored cannot be had at all; other failures say nothing of its name."""
_ALIKE = 2
"""Kind of a name that is spelt alike, after those that begin so (0) and have all words (1)."""
_FOR_NAMES = (InvalidModelId, ModelNotFound, PrivateOrMissing, HubUnreachable)


@contextmanager
def suggesting_models() -> Iterator[None]:
    """Add `suggestions` to errors about a model that is misspelt, missing or out of reach."""
    try:
        yield
    except _FOR_NAMES as error:
        if error.fields.get("reason") not in _OUT_OF_REACH and isinstance(error, HubUnreachable):
            raise
        near = near_models(str(error.fields.get("repo_id") or error.fields.get("value", "")))
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
