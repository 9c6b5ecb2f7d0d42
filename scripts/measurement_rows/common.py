"""Functions that converters share: units, sources, and the map of models in logs."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.measurements import known_ids
from gpusizer.core.errors import UnknownGpu
from gpusizer.core.units import GIB, MIB
from gpusizer.gpus import Catalogue, load_catalogue

Row = dict[str, Any]

_URL = re.compile(r"https?://\S+")
_FORGES = ("github.com", "huggingface.co")
_BASES = (
    ("guess", "inferred"),
    ("fine-tune", "same_shapes"),
    ("distill", "same_shapes"),
    ("same shapes", "same_shapes"),
    ("base model only", "base_model"),
)


@dataclass(frozen=True, slots=True)
class Match:
    """The model with which a row is predicted.

    `basis` says how it was identified: "id" (named by the source), "inferred" (from sizes or the
    text around), "same_shapes" (a fine-tune), "file_name" (of a GGUF repository). `converted` is
    true when an FP8 conversion of the checkpoint ran.
    """

    profile: str
    basis: str
    converted: bool = False


class ModelMap:
    """Maps names of models in logs to repositories with a snapshot.

    It is read from a CSV with the columns `log_model_id`, `corpus_id` and `basis`.
    """

    def __init__(self, path: Path) -> None:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self._rows = {row["log_model_id"]: row for row in rows}
        self._ids = {repo_id.casefold(): repo_id for repo_id in known_ids()}
        names: dict[str, set[str]] = {}
        for repo_id in self._ids.values():
            names.setdefault(repo_id.partition("/")[2].casefold(), set()).add(repo_id)
        self._by_name = {name: min(ids) for name, ids in names.items() if len(ids) == 1}

    def find(self, *texts: str | None) -> Match | None:
        """Return the match of the first name that has a snapshot."""
        for text in texts:
            if not text:
                continue
            row = self._rows.get(text)
            target = self._ids.get((row["corpus_id"] if row else text).casefold())
            if target:
                basis = row["basis"] if row else ""
                return Match(target, _basis(basis), "ran an FP8 conversion" in basis)
        return None

    def by_file(self, repo: str | None) -> Match | None:
        """Return the match of a GGUF repository that is named after exactly one known model."""
        name = (repo or "").partition("/")[2].removesuffix("-GGUF").casefold()
        target = self._by_name.get(name)
        return Match(target, "file_name") if target else None


def _basis(text: str) -> str:
    return next((basis for start, basis in _BASES if text.startswith(start)), "id")


def source_url(text: str) -> str | None:
    """Return the address in a source note, None when readers could not open it."""
    address = _URL.search(text)
    return address[0] if address and urlsplit(address[0]).path.strip("/") else None


def source_group(url: str) -> str:
    """Return the publisher of a measurement: owner/repository on a forge, else the host."""
    parts = urlsplit(url)
    path = [piece for piece in parts.path.split("/") if piece]
    return "/".join(path[:2]) if parts.netloc in _FORGES and len(path) > 1 else parts.netloc


def gib(value: float | None) -> int | None:
    """Convert printed GiB to bytes."""
    return None if value is None else round(value * GIB)


def mib(value: float | None) -> int | None:
    """Convert printed MiB to bytes."""
    return None if value is None else round(value * MIB)


def copied(source: Mapping[str, Any], names: Mapping[str, str]) -> Row:
    """Return values under other names: fields of a row by those of a collector's."""
    return {name: source.get(field) for name, field in names.items()}


def digest(text: str) -> str:
    """Return a short name of a text, the same in every run."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def gpu_slug(*spellings: str) -> str | None:
    """Return the catalogue's card that the first of these names, None where none is one's name."""
    for spelling in spellings:
        with suppress(UnknownGpu):
            return _catalogue().find(spelling).slug
    return None


@cache
def _catalogue() -> Catalogue:
    return load_catalogue()


def compact(row: Mapping[str, Any]) -> Row:
    """Remove unknown values: a missing field means that the source does not state it."""
    return {key: value for key, value in row.items() if value not in (None, "", {}, [])}
