"""GGUF recipes: the base type of each and its exceptions by tensor, layer and model.

Re-stated from llama.cpp's src/llama-quant.cpp (llama_tensor_get_type_impl, 2025-2026). Where a
choice depends on an importance matrix and nothing is said of one, the recipe is that of the usual
published file: with one for every IQ type, without for the older Q types.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

from gpusizer.memory.quants.layouts import ModelShape
from gpusizer.model.tensor_roles import Slot


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a tensor: its layer, its model, and the kind of expert it belongs to.

    Attributes:
        rank: 1 for routed experts, 2 for shared ones, 0 for anything else.
    """

    layer: int
    model: ModelShape
    rank: int = 0

    def downs_before(self) -> int:
        """Matrices named ffn_down before this one of that name."""
        ranks = self.model.down_layers or (range(self.model.layers),)
        return sum(
            bisect_right(layers, self.layer)
            if rank < self.rank
            else bisect_left(layers, self.layer)
            for rank, layers in enumerate(ranks)
        )


Condition = Callable[[Place], bool]
Choices = tuple[tuple[Condition, str], ...]
"""The first condition that holds decides."""


def always(place: Place) -> bool:
    return True


def more_bits(place: Place) -> bool:
    """First and last eighth of the layers, and every third between (use_more_bits)."""
    i, n = place.layer, place.model.layers
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


def more_of_eight(place: Place) -> bool:
    """As `more_bits`, in a mixture of eight experts."""
    return place.model.experts == 8 and more_bits(place)


def middle(place: Place) -> bool:
    """All but the first and last eighth of the layers."""
    n = place.model.layers
    return n // 8 <= place.layer < 7 * n // 8


def shared_kv(place: Place) -> bool:
    """At least four query heads use each value head, so its extra bits cost little."""
    return place.model.heads_per_kv_head >= 4


def shared_or_moe(place: Place) -> bool:
    """As `shared_kv`, or attention is a small part of a mixture of at least four experts."""
    return shared_kv(place) or place.model.experts >= 4


def with_matrix(condition: Condition) -> Condition:
    """The condition, where the file is said to be made with an importance matrix."""
    return lambda place: place.model.importance_matrix is True and condition(place)


def without_matrix(condition: Condition) -> Condition:
    """The condition, where the file is said to be made without one."""
    return lambda place: place.model.importance_matrix is False and condition(place)


@cache
def first(divisor: int) -> Condition:
    """The first n/divisor layers. Cached, so that recipes with the same divisor compare equal."""
    return lambda place: place.layer < place.model.layers // divisor


def first_downs(divisor: int) -> Condition:
    """The first n/divisor matrices named ffn_down, where llama.cpp counts them and not layers."""
    return lambda place: place.downs_before() < place.model.layers // divisor


def first_layers(count: int) -> Condition:
    """The first `count` layers."""
    return lambda place: place.layer < count


@dataclass(frozen=True, slots=True)
class Recipe:
    """A base type and the exceptions to it.

    Attributes:
        base: ggml type of matrices without an exception.
        output: of the output head, and of a tied embedding.
        embedding: of an untied input embedding, where it differs from `base`.
        experts: of routed experts, where it differs from all other matrices'.
        exceptions: by slot; V stands for attn_qkv and the up-projection of a latent as well.
        early_qkv: of attn_qkv before llama.cpp's pull request 19770, where it differs from `base`.
        eight_k: attn_k and attn_v of a model of eight experts.
        eight_o: attn_output of such a model, "" where it is not spared.
        falcon: exceptions of Falcon by slot, instead of those of other models.
    """

    base: str
    output: str = "Q6_K"
    embedding: str = ""
    experts: str = ""
    exceptions: dict[Slot, Choices] = field(default_factory=dict, hash=False)
    early_qkv: str = ""
    eight_k: tuple[str, str] = ("Q8_0", "Q8_0")
    eight_o: str = ""
    falcon: dict[Slot, Choices] = field(default_factory=dict, hash=False)


def _to(kind: str) -> Choices:
    return ((always, kind),)


def _one_bit(base: str, wide: str, embedding: str, attn_output: str) -> Recipe:
    """The IQ1 and IQ2 family: `wide` for the tensors that suffer most."""
    exceptions = {
        Slot.V: ((shared_or_moe, "Q4_K"), (always, wide)),
        Slot.DOWN: ((first_downs(8), wide),),
    }
    if attn_output:
        exceptions[Slot.O] = _to(attn_output)
    return Recipe(
        base, "Q5_K", embedding, exceptions=exceptions, eight_k=("Q4_K", "Q4_K"), eight_o="Q5_K"
    )


_MORE: dict[Slot, Choices] = {Slot.V: ((more_bits, "Q6_K"),), Slot.DOWN: ((more_bits, "Q6_K"),)}
_IQ4: dict[Slot, Choices] = {
    Slot.V: ((shared_kv, "Q5_K"),),
    Slot.DOWN: ((without_matrix(first(8)), "Q5_K"),),
}
_V_IF_SHARED: Choices = ((shared_kv, "Q4_K"),)

_PLAIN: dict[str, Recipe] = {
    "gguf-f32": Recipe("F32", output="F32"),
    "gguf-f16": Recipe("F16", output="F16"),
    "q8_0": Recipe("Q8_0", output="Q8_0"),
    "q6_k": Recipe("Q6_K"),
    "q5_k_m": Recipe("Q5_K", exceptions=_MORE, early_qkv="Q6_K"),
    "q5_k_s": Recipe("Q5_K"),
    "q5_1": Recipe("Q5_1"),
    "q5_0": Recipe("Q5_0", exceptions={Slot.DOWN: ((with_matrix(first(8)), "Q5_1"),)}),
    "q4_k_m": Recipe(
        "Q4_K",
        exceptions=_MORE,
        early_qkv="Q5_K",
        eight_o="Q5_K",
        falcon={Slot.DOWN: ((first(16), "Q6_K"), (more_bits, "Q5_K"))},
    ),
    "mxfp4_moe": Recipe("Q8_0", output="Q8_0", experts="MXFP4"),
    "q4_k_s": Recipe(
        "Q4_K",
        exceptions={Slot.V: ((first_layers(4), "Q5_K"),), Slot.DOWN: ((first(8), "Q5_K"),)},
        eight_o="Q5_K",
        falcon={Slot.DOWN: ()},
    ),
    "q4_1": Recipe("Q4_1"),
    "q4_0": Recipe("Q4_0", exceptions={Slot.DOWN: ((with_matrix(first(8)), "Q4_1"),)}),
    "iq4_nl": Recipe("IQ4_NL", exceptions=_IQ4, eight_o="Q5_K"),
    "iq4_xs": Recipe("IQ4_XS", exceptions=_IQ4, eight_o="Q5_K"),
    "q3_k_l": Recipe(
        "Q3_K",
        exceptions={Slot.V: _to("Q5_K"), Slot.DOWN: _to("Q5_K"), Slot.O: _to("Q5_K")},
        early_qkv="Q4_K",
        falcon={Slot.DOWN: _to("Q4_K"), Slot.O: _to("Q4_K")},
    ),
    "q3_k_m": Recipe(
        "Q3_K",
        exceptions={
            Slot.V: ((first_layers(2), "Q5_K"), (always, "Q4_K")),
            Slot.DOWN: ((first(16), "Q5_K"), (always, "Q4_K")),
            Slot.O: _to("Q4_K"),
        },
        early_qkv="Q4_K",
        eight_o="Q5_K",
        falcon={Slot.DOWN: ((first(16), "Q5_K"), (more_bits, "Q4_K")), Slot.O: ()},
    ),
    "iq3_m": Recipe(
        "IQ3_S",
        exceptions={
            Slot.V: _to("Q4_K"),
            Slot.DOWN: ((first(8), "Q4_K"), (more_of_eight, "Q4_K")),
            Slot.O: _to("Q4_K"),
        },
        early_qkv="Q4_K",
        eight_o="Q5_K",
        falcon={Slot.O: ()},
    ),
    "q3_k_s": Recipe("Q3_K", eight_o="Q5_K"),
    "iq3_s": Recipe("IQ3_S", exceptions={Slot.V: _V_IF_SHARED}, eight_o="Q5_K"),
    "iq3_xs": Recipe(
        "IQ3_S",
        exceptions={
            Slot.V: _V_IF_SHARED,
            Slot.Q: _to("IQ3_XXS"),
            Slot.K: _to("IQ3_XXS"),
            Slot.GATE: ((middle, "IQ3_XXS"),),
            Slot.UP: ((middle, "IQ3_XXS"),),
        },
        eight_o="Q5_K",
    ),
    "iq3_xxs": Recipe(
        "IQ3_XXS",
        "Q5_K",
        "IQ3_S",
        exceptions={
            Slot.V: (*_V_IF_SHARED, (without_matrix(always), "IQ3_S")),
            Slot.Q: _to("IQ2_S"),
            Slot.K: _to("IQ2_S"),
            Slot.O: _to("IQ3_S"),
            Slot.DOWN: ((without_matrix(first(8)), "Q4_K"), (without_matrix(always), "Q3_K")),
        },
        eight_o="Q5_K",
        falcon={Slot.O: ()},
    ),
    "q2_k": Recipe(
        "Q2_K",
        exceptions={
            Slot.V: ((shared_kv, "Q4_K"), (always, "Q3_K")),
            Slot.DOWN: _to("Q3_K"),
            Slot.O: _to("Q3_K"),
        },
        eight_o="Q5_K",
        falcon={Slot.O: ()},
    ),
    "q2_k_s": Recipe("Q2_K", exceptions={Slot.V: _V_IF_SHARED, Slot.DOWN: ((first(8), "Q4_K"),)}),
    "iq2_m": _one_bit("IQ2_S", "IQ3_S", "IQ3_S", "IQ3_S"),
    "iq2_s": _one_bit("IQ2_XS", "IQ3_S", "IQ3_S", "IQ3_S"),
    "iq2_xs": _one_bit("IQ2_XS", "Q2_K", "Q2_K", ""),
    "iq2_xxs": _one_bit("IQ2_XXS", "Q2_K", "Q2_K", ""),
    "tq2_0": Recipe("TQ2_0", embedding="Q4_K"),
    "tq1_0": Recipe("TQ1_0", embedding="Q4_K"),
    "iq1_m": _one_bit("IQ1_M", "Q2_K", "Q2_K", "IQ2_XXS"),
    "iq1_s": _one_bit("IQ1_S", "Q2_K", "Q2_K", "IQ2_XXS"),
}

# llama-quantize --token-embedding-type q8_0 --output-tensor-type q8_0: bartowski's names for them.
_WIDE_TABLES = {
    "q6_k_l": "q6_k",
    "q5_k_l": "q5_k_m",
    "q4_k_l": "q4_k_m",
    "q3_k_xl": "q3_k_l",
    "q2_k_l": "q2_k",
}

RECIPES: dict[str, Recipe] = _PLAIN | {
    slug: replace(_PLAIN[plain], output="Q8_0", embedding="Q8_0")
    for slug, plain in _WIDE_TABLES.items()
}
"""Slug -> recipe."""
