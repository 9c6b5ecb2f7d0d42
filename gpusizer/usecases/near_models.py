"""Models with names near one that could not be read, and those of an organisation."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property

from gpusizer.core.errors import (
    GpusizerError,
    HubUnreachable,
    InvalidModelId,
    ModelNotFound,
    PrivateOrMissing,
)
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import toml_of
from gpusizer.usecases.models_for.live_use import embedded_use

MOST = 4
_MOST_OF_OWNER = 8
_INDEX = GENERATED_DIR / "models" / "index.json"
_MOST_CHARS = 120
_LIKE = 0.82  # least difflib ratio of two names: a letter or two of ten differ

# reasons why a model that is not stored cannot be had at all; others tell nothing of its name
_OUT_OF_REACH = ("offline",)
_ALIKE = 2  # kind of a name spelt alike, after those that begin so (0) and have all words (1)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([bmt])")
_NEAR_SIZE = 1.5  # largest ratio of sizes at which a model of another family may replace a model
_NO_FAMILY = frozenset(toml_of(__file__)["no_family"])  # words of names for storage or tuning
_FOR_NAMES = (InvalidModelId, ModelNotFound, PrivateOrMissing, HubUnreachable)


@contextmanager
def suggesting_models() -> Iterator[None]:
    """Add `suggestions` to errors about a model that is misspelt, missing or unreachable."""
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
    """Return the models that an error suggests."""
    near = error.fields.get("suggestions")
    return near if isinstance(error, _FOR_NAMES) and isinstance(near, list) else []


def near_models(text: str) -> list[str]:
    """Return IDs of known models that a text may mean, the most likely first, at most four.

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
    """Return at most four IDs of known models that can replace one, by words and size of its name.

    Models of its family with the nearest size come first, then others of about its size.
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
    # Ratio of the larger to the smaller, infinite if one is unknown.
    if not wanted or not other:
        return math.inf
    return max(wanted / other, other / wanted)


@dataclass(frozen=True)  # without `slots`: words are cached
class Spelling:
    """A typed text or an ID, in comparable form."""

    repo_id: str

    @cached_property
    def words(self) -> Sequence[str]:
        name = self.repo_id.split(":")[0].rstrip("/").rpartition("/")[2]
        return re.findall(r"[^\W_]+(?:\.\d+)*", name.casefold())

    @cached_property
    def letters(self) -> str:
        return "".join(self.words)

    def ends_within_number(self, other: Spelling) -> bool:
        """Return whether `other`, which begins so, continues this name's last number.

        A Llama 30B is no Llama 3.
        """
        rest = other.letters[len(self.letters) :]
        return self.letters[-1:].isdecimal() and rest[:1].isdecimal() and "." not in self.letters

    @cached_property
    def family(self) -> frozenset[str]:
        """Words without digits, except those for tuning or packing."""
        words = (re.sub(r"[\d.]+\w?$", "", word) for word in self.words)
        return frozenset(word for word in words if len(word) > 2 and word not in _NO_FAMILY)

    @cached_property
    def billions(self) -> float | None:
        """Billions of parameters that the name states, or None."""
        units = {"b": 1.0, "m": 0.001, "t": 1000.0}
        for word in self.words:
            match = _SIZE.fullmatch(word)
            if match:
                return float(match[1]) * units[match[2]]
        return None


def models_of(owner: str) -> list[str]:
    """Return at most eight IDs of an organisation's known models, most downloaded first."""
    wanted = f"{owner}/".casefold()
    own = [m.repo_id for m in known_models() if m.repo_id.casefold().startswith(wanted)]
    own.sort(key=lambda repo_id: -_downloads().get(repo_id.casefold(), 0))
    return own[:_MOST_OF_OWNER]


def _unlike(wanted: Spelling, known: Spelling) -> tuple[float, ...]:
    # Sort key of a known model, empty if it is not meant.
    downloads = -_downloads().get(known.repo_id.casefold(), 0)
    if known.letters.startswith(wanted.letters) and not wanted.ends_within_number(known):
        kind = 0
        if wanted.billions is None and known.letters != wanted.letters:
            return (kind, math.inf, downloads)  # a family: what most people use of it
    elif len(wanted.words) > 1 and all(word in known.letters for word in wanted.words):
        kind = 1
    else:
        matcher = difflib.SequenceMatcher(None, wanted.letters, known.letters)
        if matcher.quick_ratio() < _LIKE or matcher.ratio() < _LIKE:
            return ()
        return (_ALIKE, -matcher.ratio(), downloads)
    return (kind, len(known.letters), downloads)


@cache
def known_models() -> tuple[Spelling, ...]:
    """Return the models that come with gpusizer."""
    if not _INDEX.is_file():
        return ()
    return tuple(map(Spelling, json.loads(_INDEX.read_text("utf-8"))["models"]))


@cache
def _downloads() -> dict[str, int]:
    return {repo_id: use.downloads or 0 for repo_id, use in embedded_use().items()}
