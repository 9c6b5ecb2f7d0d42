"""Types that publishers of GGUF files choose for some tensors under a recipe's plain name.

Rows of data/gguf_publishers.csv; a publisher is the owner of the repository. Mixes under names of
their own (UD, XL) are not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from gpusizer.paths import DATA_DIR
from gpusizer.quants.layouts import ModelShape, runs_for_every_token
from gpusizer.quants.publisher_rows import BASE, FIRST_DOWN, PublisherRow, read_rows
from gpusizer.quants.recipes import Recipe, first
from gpusizer.roles import Kind, Slot, is_layer_table, is_recurrent_out
from gpusizer.weights import WeightGroup

_NOT_QUANTIZED = ("F16", "F32")


def _is_layer_table(group: WeightGroup, model: ModelShape) -> bool:
    return is_layer_table(group.pattern)


def _is_tied_embedding(group: WeightGroup, model: ModelShape) -> bool:
    table = group.kind is Kind.EMBEDDING and group.layers is None
    return table and model.tied_embeddings and not _is_layer_table(group, model)


def _is_expert_down(group: WeightGroup, model: ModelShape) -> bool:
    return group.kind is Kind.EXPERT and group.slot is Slot.DOWN


def _is_shared_expert(group: WeightGroup, model: ModelShape) -> bool:
    return runs_for_every_token(group)


def _is_recurrent_out(group: WeightGroup, model: ModelShape) -> bool:
    return is_recurrent_out(group.pattern)


_TENSORS: dict[str, Callable[[WeightGroup, ModelShape], bool]] = {
    "tied_embedding": _is_tied_embedding,
    "layer_table": _is_layer_table,
    "expert_down": _is_expert_down,
    "shared_experts": _is_shared_expert,
    "recurrent_out": _is_recurrent_out,
}


@dataclass(frozen=True, slots=True)
class Choice(PublisherRow):
    """One row, applied to tensors."""

    def made_for(self, publisher: str, slug: str) -> bool:
        """Whether files of that recipe by that publisher have it."""
        return self.publisher == publisher and (not self.recipes or slug in self.recipes)

    def type_of(self, group: WeightGroup, model: ModelShape, base: str) -> str:
        """The type of the tensor, "" for one it says nothing about."""
        if self.models and model.model_type not in self.models:
            return ""
        if not _TENSORS[self.tensor](group, model):
            return ""
        return base if self.type == BASE else self.type


@cache
def _rows() -> tuple[Choice, ...]:
    rows = read_rows(DATA_DIR / "gguf_publishers.csv", _TENSORS)
    return tuple(
        Choice(row.publisher, row.models, row.recipes, row.tensor, row.type) for row in rows
    )


def publishers() -> frozenset[str]:
    """Owners with types of their own."""
    return frozenset(choice.publisher for choice in _rows())


def choices_of(publisher: str, slug: str, recipe: Recipe) -> tuple[Recipe, tuple[Choice, ...]]:
    """The recipe as that publisher makes it, and what else it chooses, rows for fewer first."""
    if recipe.base in _NOT_QUANTIZED:
        return recipe, ()
    made = [choice for choice in _rows() if choice.made_for(publisher, slug)]
    for choice in made:
        if choice.tensor == FIRST_DOWN:
            widened = {**recipe.exceptions, Slot.DOWN: ((first(8), choice.type),)}
            recipe = replace(recipe, exceptions=widened)
    others = (choice for choice in made if choice.tensor != FIRST_DOWN)
    return recipe, tuple(sorted(others, key=lambda choice: not choice.recipes))
