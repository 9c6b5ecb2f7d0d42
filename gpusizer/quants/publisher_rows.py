"""data/gguf_publishers.csv as rows that are checked when they are read."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpusizer.dtypes import GGML_BLOCKS
from gpusizer.quants.recipes import RECIPES

COLUMNS = ("publisher", "models", "recipes", "tensor", "type", "source")
BASE = "base"
"""Type of a row: that of the recipe's matrices."""
FIRST_DOWN = "first_down"
"""Tensor of a row: ffn_down of the first eighth of the layers, whatever the model."""

_PUBLISHER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,95}")  # requests are compared in lower case
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class MalformedTable(ValueError):
    """A row that says nothing usable. Its text names the file, the line and the field.

    Attributes:
        line: of the file, from 1; field: a column, or "columns" for a wrong number of them.
    """

    def __init__(self, name: str, line: int, field: str, value: str) -> None:
        self.line, self.field = line, field
        super().__init__(f"{name}, line {line}: field {field}: {value!r}")


@dataclass(frozen=True, slots=True)
class PublisherRow:
    """A ggml type, or BASE, for some tensors of some models. No models or recipes are all."""

    publisher: str
    models: frozenset[str]
    recipes: frozenset[str]
    tensor: str
    type: str


def read_rows(path: Path, tensors: Collection[str]) -> tuple[PublisherRow, ...]:
    """Every row in file order; `tensors` are the names a row may have beside FIRST_DOWN.

    Raises MalformedTable.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if tuple(header) != COLUMNS:
            raise MalformedTable(path.name, 1, "columns", ",".join(header))
        rows = []
        for fields in reader:
            line = reader.line_num
            if len(fields) != len(COLUMNS):
                raise MalformedTable(path.name, line, "columns", ",".join(fields))
            row = dict(zip(COLUMNS, fields, strict=True))
            wrong = _wrong_field(row, tensors)
            if wrong:
                raise MalformedTable(path.name, line, wrong, row[wrong])
            models, recipes = (frozenset(row[name].split()) for name in ("models", "recipes"))
            rows.append(PublisherRow(row["publisher"], models, recipes, row["tensor"], row["type"]))
    return tuple(rows)


def _wrong_field(row: Mapping[str, str], tensors: Collection[str]) -> str:
    """The first column with an impossible value, "" where all are possible."""
    first_down = row["tensor"] == FIRST_DOWN
    possible = {
        "publisher": _PUBLISHER.fullmatch(row["publisher"]) is not None,
        # Nothing tells which model the first layers are those of.
        "models": all(map(_MODEL.fullmatch, row["models"].split()))
        and not (first_down and row["models"]),
        "recipes": all(recipe in RECIPES for recipe in row["recipes"].split()),
        "tensor": first_down or row["tensor"] in tensors,
        "type": row["type"] in GGML_BLOCKS or (row["type"] == BASE and not first_down),
        "source": bool(row["source"].strip()),
    }
    return next((column for column in COLUMNS if not possible[column]), "")
