"""GGUF recipes: the base type of each and its exceptions by tensor, layer and model.

`recipes.toml` has them, re-stated from llama.cpp's src/llama-quant.cpp. If a choice depends on
an importance matrix and the request does not mention one, the recipe is that of the usual
published file: with one for every IQ type, without for the older Q types.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from gpusizer.core.loose_values import Arguments, StoredObject
from gpusizer.core.tables import toml_of
from gpusizer.memory.quants.layouts import ModelShape
from gpusizer.model.tensor_roles import Slot


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a tensor: its layer, its model, and the kind of expert it belongs to."""

    layer: int
    model: ModelShape
    rank: int = 0  # 1 for routed experts, 2 for shared ones, 0 for anything else

    def downs_before(self) -> int:
        """Return the number of matrices named ffn_down before this one."""
        ranks = self.model.down_layers or (range(self.model.layers),)
        return sum(
            bisect_right(layers, self.layer)
            if rank < self.rank
            else bisect_left(layers, self.layer)
            for rank, layers in enumerate(ranks)
        )


Condition = Callable[[Place], bool]
Choices = tuple[tuple[Condition, str], ...]  # the first condition that holds decides


def always(place: Place) -> bool:
    return True


def more_bits(place: Place) -> bool:
    """Return whether it is in the first or last eighth, or every third between (use_more_bits)."""
    i, n = place.layer, place.model.layers
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


def more_of_eight(place: Place) -> bool:
    """Return `more_bits` for a mixture of eight experts, else False."""
    return place.model.experts == 8 and more_bits(place)


def middle(place: Place) -> bool:
    """Return whether it is in neither the first nor the last eighth of the layers."""
    n = place.model.layers
    return n // 8 <= place.layer < 7 * n // 8


def shared_kv(place: Place) -> bool:
    """Return whether at least four query heads use each value head, so its bits cost little."""
    return place.model.heads_per_kv_head >= 4


def shared_or_moe(place: Place) -> bool:
    """Return `shared_kv`, or whether it is a mixture of at least four experts."""
    # Attention is a small part of such a mixture.
    return shared_kv(place) or place.model.experts >= 4


def with_matrix(condition: Condition) -> Condition:
    """Build the condition for files that are made with an importance matrix."""
    return lambda place: place.model.importance_matrix is True and condition(place)


def without_matrix(condition: Condition) -> Condition:
    """Build the condition for files that are made without an importance matrix."""
    return lambda place: place.model.importance_matrix is False and condition(place)


def first(divisor: int) -> Condition:
    """Build the condition for the first n/divisor layers."""
    return lambda place: place.layer < place.model.layers // divisor


def first_downs(divisor: int) -> Condition:
    """Build the condition for the first n/divisor matrices named ffn_down."""
    # llama.cpp counts these matrices, not layers.
    return lambda place: place.downs_before() < place.model.layers // divisor


def first_layers(count: int) -> Condition:
    """Build the condition for the first `count` layers."""
    return lambda place: place.layer < count


@dataclass(frozen=True, slots=True)
class Recipe:
    """A base type and the exceptions to it."""

    base: str  # ggml type of matrices without an exception
    output: str = "Q6_K"  # type of the output head, and of a tied embedding
    embedding: str = ""  # type of an untied input embedding, if it differs from `base`
    experts: str = ""  # type of routed experts, if it differs from all other matrices'
    # Types by slot; V also means attn_qkv and the up-projection of a latent.
    exceptions: dict[Slot, Choices] = field(default_factory=dict, hash=False)
    # Type of attn_qkv before llama.cpp's pull request 19770, if it differs from `base`.
    early_qkv: str = ""
    # Types of attn_k and attn_v of a model of eight experts.
    eight_k: tuple[str, str] = ("Q8_0", "Q8_0")
    eight_o: str = ""  # type of attn_output of such a model, "" if it is not spared
    # Exceptions of Falcon by slot, instead of those of other models.
    falcon: dict[Slot, Choices] = field(default_factory=dict, hash=False)


_CONDITIONS: dict[str, Condition] = {
    "always": always,
    "more_bits": more_bits,
    "more_of_eight": more_of_eight,
    "middle": middle,
    "shared_kv": shared_kv,
    "shared_or_moe": shared_or_moe,
}
_OF_NUMBER = {"first": first, "first_downs": first_downs, "first_layers": first_layers}
_OF_CONDITION = {"with_matrix": with_matrix, "without_matrix": without_matrix}


@cache
def _condition(text: str) -> Condition:
    # "middle", "first 8" or "with_matrix first 8"; one object for each text
    name, _, rest = text.partition(" ")
    if name in _OF_CONDITION:
        return _OF_CONDITION[name](_condition(rest))
    return _OF_NUMBER[name](int(rest)) if rest else _CONDITIONS[name]


def _choices(texts: Mapping[str, Sequence[str]]) -> dict[Slot, Choices]:
    pairs = {slot: [text.rpartition(": ") for text in chosen] for slot, chosen in texts.items()}
    return {
        Slot(slot): tuple((_condition(when or "always"), kind) for when, _, kind in parts)
        for slot, parts in pairs.items()
    }


def _recipe(facts: StoredObject) -> Recipe:
    read: Arguments = {
        name: tuple(value) if name == "eight_k" else value for name, value in facts.items()
    }
    for name in ("exceptions", "falcon"):
        read[name] = _choices(facts.get(name, {}))
    return Recipe(**read)


_PLAIN: dict[str, Recipe] = {slug: _recipe(facts) for slug, facts in toml_of(__file__).items()}

# llama-quantize --token-embedding-type q8_0 --output-tensor-type q8_0: bartowski's names for them.
WIDE_TABLES = {
    "q6_k_l": "q6_k",
    "q5_k_l": "q5_k_m",
    "q4_k_l": "q4_k_m",
    "q3_k_xl": "q3_k_l",
    "q2_k_l": "q2_k",
}

# Slug -> recipe.
RECIPES: dict[str, Recipe] = _PLAIN | {
    slug: replace(_PLAIN[plain], output="Q8_0", embedding="Q8_0")
    for slug, plain in WIDE_TABLES.items()
}
