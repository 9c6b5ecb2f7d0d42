"""Types that publishers of GGUF files choose for some tensors under a recipe's plain name.

Rows of data/gguf_publishers.csv; a publisher is the owner of the repository. Mixes under names of
their own (UD) are in `dynamic.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusizer.core.dtypes import GGML_BLOCKS
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.memory.quants.layouts import ModelShape
from gpusizer.memory.quants.recipes import RECIPES, Recipe
from gpusizer.model.tensor_roles import Kind, Slot, is_layer_table, is_recurrent_out
from gpusizer.model.weights import WeightGroup

COLUMNS = ("publisher", "models", "recipes", "tensor", "type", "source")
BASE = "base"  # type of a row: that of the recipe's matrices
# Tensor of a row about whole files, of every model and recipe; its type is one of HABITS.
FILE = "file"
IMPORTANCE_MATRIX, NO_TIED_HEAD = "importance_matrix", "no_tied_head"
# Quantizes with an importance matrix; converts copies of checkpoints that lack a tied head.
HABITS = (IMPORTANCE_MATRIX, NO_TIED_HEAD)

_NOT_QUANTIZED = ("F16", "F32")
_PUBLISHER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,95}")  # requests are compared in lower case
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def _is_tied_embedding(group: WeightGroup, model: ModelShape) -> bool:
    table = group.kind is Kind.EMBEDDING and group.layers is None
    return table and model.tied_embeddings and not is_layer_table(group.pattern)


_TENSORS: dict[str, Callable[[WeightGroup, ModelShape], bool]] = {
    "tied_embedding": _is_tied_embedding,
    "expert_down": lambda group, model: group.kind is Kind.EXPERT and group.slot is Slot.DOWN,
    "recurrent_out": lambda group, model: is_recurrent_out(group.pattern),
}


@dataclass(frozen=True, slots=True)
class PublisherRule:
    """One row of the table: a ggml type, or BASE, for some tensors of some models."""

    publisher: str
    models: frozenset[str]  # values of `model_type` it holds for; empty for every model
    recipes: frozenset[str]  # slugs of recipes it holds for; empty for every recipe
    tensor: str  # FILE or a key of `_TENSORS`
    type: str

    def holds_for(self, publisher: str, slug: str) -> bool:
        """Return whether this publisher makes files of this recipe so."""
        return self.publisher == publisher and (not self.recipes or slug in self.recipes)

    def type_of(self, group: WeightGroup, model: ModelShape, base: str) -> str:
        """Return the ggml type of a group's tensors, "" if the rule is about other tensors."""
        if self.models and model.model_type not in self.models:
            return ""
        if not _TENSORS[self.tensor](group, model):
            return ""
        return base if self.type == BASE else self.type


def read_rules(path: Path) -> tuple[PublisherRule, ...]:
    """Return every row of the table in file order. Raise MalformedTable."""
    return read_table(path, _rule, COLUMNS)


def _rule(row: TableRow) -> PublisherRule:
    models, recipes = frozenset(row.parts("models")), frozenset(row.parts("recipes"))
    tensor, ggml_type = row.one_of("tensor", (FILE, *_TENSORS)), row.text("type")
    whole = tensor == FILE
    possible = {
        "publisher": _PUBLISHER.fullmatch(row.text("publisher")) is not None,
        "models": all(map(_MODEL.fullmatch, models)) and not (whole and models),
        "recipes": all(recipe in RECIPES for recipe in recipes) and not (whole and recipes),
        "type": ggml_type in (HABITS if whole else (*GGML_BLOCKS, BASE)),
        "source": bool(row.text("source").strip()),
    }
    for column, is_possible in possible.items():
        if not is_possible:
            raise row.malformed(column, repr(row.text(column)))
    return PublisherRule(row.text("publisher"), models, recipes, tensor, ggml_type)


@cache
def all_rules() -> tuple[PublisherRule, ...]:
    """Return every row of the table."""
    return read_rules(DATA_DIR / "gguf_publishers.csv")


def publishers() -> frozenset[str]:
    """Return owners with types of their own."""
    return frozenset(rule.publisher for rule in all_rules())


def choices_of(publisher: str, slug: str, recipe: Recipe) -> tuple[PublisherRule, ...]:
    """Return a publisher's rules for single tensors of files of a recipe."""
    if recipe.base in _NOT_QUANTIZED:
        return ()
    rules = (rule for rule in all_rules() if rule.holds_for(publisher, slug))
    singles = (rule for rule in rules if rule.tensor != FILE)
    # Rules for named recipes come before those for every recipe: the first that applies decides.
    return tuple(sorted(singles, key=lambda rule: not rule.recipes))


def file_overrides(publisher: str) -> frozenset[str]:
    """Return the publisher's deviations for whole files."""
    return frozenset(
        rule.type for rule in all_rules() if rule.publisher == publisher and rule.tensor == FILE
    )
