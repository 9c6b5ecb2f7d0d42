"""What the converters share: units, sources, and which embedded model a log's model is."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.models import known_ids
from gpusizer.units import GIB

Row = dict[str, Any]
MIB = 2**20

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
    """The model a row is predicted with.

    `basis` says how it was found: "id" (named by the source), "inferred" (from sizes or the
    text around), "same_shapes" (a fine-tune), "file_name" (of a GGUF repository). `converted`:
    what ran was an FP8 conversion of the checkpoint.
    """

    profile: str
    basis: str
    converted: bool = False


class ModelMap:
    """Model names in logs -> repositories with a snapshot.

    Read from a CSV with the columns `log_model_id`, `corpus_id` and `basis`.
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
        """The first of the names that has a snapshot."""
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
        """A repository of GGUF files named after exactly one known model."""
        name = (repo or "").partition("/")[2].removesuffix("-GGUF").casefold()
        target = self._by_name.get(name)
        return Match(target, "file_name") if target else None


def _basis(text: str) -> str:
    return next((basis for start, basis in _BASES if text.startswith(start)), "id")


def source_url(text: str) -> str | None:
    """The address in a source note, None when a reader could not open it."""
    found = _URL.search(text)
    return found[0] if found else None


def source_group(url: str) -> str:
    """Whose measurements these are: owner/repository on a forge, else the host."""
    parts = urlsplit(url)
    path = [piece for piece in parts.path.split("/") if piece]
    return "/".join(path[:2]) if parts.netloc in _FORGES and len(path) > 1 else parts.netloc


def gib(value: float | None) -> int | None:
    """Printed GiB as bytes."""
    return None if value is None else round(value * GIB)


def mib(value: float | None) -> int | None:
    """Printed MiB as bytes."""
    return None if value is None else round(value * MIB)


def compact(row: Mapping[str, Any]) -> Row:
    """Without what is unknown: missing means not stated by the source."""
    return {key: value for key, value in row.items() if value not in (None, "", {}, [])}
