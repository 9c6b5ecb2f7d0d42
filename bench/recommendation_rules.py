"""Rules that no sensible suggestion breaks, by published guides and recipes.

A rule is a function that says whether a suggestion breaks it. `recommendation_rules.toml` holds the
cards, engines and sizes that rules name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.recommended_setups import (
    HOME,
    MANY,
    PICTURE,
    TUNE,
    WORKSTATION,
    Recommendation,
    Suggestion,
)
from gpusizer.core.tables import toml_of

_TABLES = toml_of(__file__)
_CLASSES: Mapping[str, list[str]] = _TABLES["classes"]
_ENGINES: Mapping[str, list[str]] = _TABLES["engines"]
_BEGINS = {name: tuple(words) for name, words in _TABLES["begins"].items()}
_WEAK, _FABRIC = (re.compile(_TABLES["patterns"][name]) for name in ("weak", "fabric"))
_SIZES: Mapping[str, float] = _TABLES["parameters"]
_FEW_BITS, _SMALL_GB, _PAIRED_GB, _MOST_AT_HOME, _WHOLE_SERVER = 3, 16, 12, 4, 8


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion, its recommendation, and facts of its model."""

    wanted: Recommendation
    suggestion: Suggestion
    parameters: float  # of the model, 0 if the answer lacks them
    published_in: str  # method of the checkpoint's quantization, "" for 16 bits

    @classmethod
    def from_suggestion(
        cls, wanted: Recommendation, item: Suggestion, answer: Mapping[str, Any]
    ) -> Advice:
        """Return the advice of a suggestion of an answer."""
        model = answer.get("model") or {}
        method = (model.get("quantization") or {}).get("method") or ""
        return cls(wanted, item, model.get("parameters") or 0, method)

    @property
    def is_first(self) -> bool:
        """Whether it heads the answer."""
        return self.suggestion.kind == "headline"

    @property
    def is_for_one(self) -> bool:
        """Whether one person runs the model, on whatever card."""
        return self.wanted.use in (HOME, WORKSTATION) and not self.wanted.names_card

    @property
    def is_for_many(self) -> bool:
        """Whether the model is served to many."""
        return self.wanted.use == MANY

    def is_in(self, classes: str) -> bool:
        """Return whether the card is of one of these classes."""
        return self.suggestion.card_class in _CLASSES[classes]

    def begins(self, names: str) -> bool:
        """Return whether the card's slug begins with one of these."""
        return self.suggestion.gpu.startswith(_BEGINS[names])

    def runs_by(self, engines: str) -> bool:
        """Return whether one of these engines runs it."""
        return self.suggestion.engine in _ENGINES[engines]

    def is_published_in(self, *methods: str) -> bool:
        """Return whether the checkpoint is quantized by one of these methods."""
        return any(method in self.published_in for method in methods)

    def is_at_most(self, size: str) -> bool:
        """Return whether the model is at most of this size; False for an unknown size."""
        return 0 < self.parameters <= _SIZES[size]

    def is_at_least(self, size: str) -> bool:
        """Return whether the model is at least of this size; False for an unknown size."""
        return self.parameters >= _SIZES[size]


def takes_gguf_on_a_server(advice: Advice) -> bool:
    """Return whether llama.cpp or ExLlama runs on a server's module, or for many users."""
    return advice.runs_by("local") and (advice.is_for_many or advice.is_in("server_modules"))


def requantizes_a_native_format(advice: Advice) -> bool:
    """Return whether it leaves the few bits of a published checkpoint, though they run."""
    if advice.wanted.tunes:
        return False
    if advice.is_published_in("mxfp4"):
        return "mxfp4" not in advice.suggestion.precision
    is_native = advice.is_published_in("fp8", "compressed", "gptq", "awq")
    return is_native and advice.is_in("run_native") and advice.runs_by("local")


def takes_a_server_for_a_small_model(advice: Advice) -> bool:
    """Return whether one user of a model of up to 40B gets a server's module."""
    return advice.is_for_one and advice.is_at_most("small") and advice.is_in("server_modules")


def is_fastest_in_16_bits(advice: Advice) -> bool:
    """Return whether 16 bits are the fastest on a card that computes in 8 or 4."""
    is_fastest = advice.suggestion.kind == "fastest"
    asked_first = advice.is_first and advice.wanted.wants_speed
    has_units = advice.is_in("compute_in_8_bits") and not advice.begins("of_ampere")
    is_text = advice.wanted.use not in (PICTURE, TUNE) and advice.is_at_least("worth_a_card")
    in_16_bits = "16" in advice.suggestion.precision
    return (is_fastest or asked_first) and has_units and is_text and in_16_bits


def begins_with_another_make(advice: Advice) -> bool:
    """Return whether Intel heads an open question; for pictures and training all but NVIDIA."""
    if advice.wanted.names_card or not advice.is_first:
        return False
    if advice.wanted.tunes or advice.wanted.use == PICTURE:
        return advice.begins("not_nvidia")
    return advice.is_for_one and advice.begins("arc")


def takes_a_pack_of_small_cards(advice: Advice) -> bool:
    """Return whether one user gets several cards under 16 GB though one suffices, or over four.

    Two GeForce of 12 GB may be the cheapest.
    """
    item = advice.suggestion
    if not advice.is_for_one:
        return False
    if advice.is_at_most("for_one_board") and item.count > 1 and item.memory_gb < _SMALL_GB:
        is_pair = item.count == 2 and item.memory_gb == _PAIRED_GB and advice.begins("geforce")
        return not (item.kind == "cheapest" and is_pair)
    return item.count > _MOST_AT_HOME and not advice.is_in("in_packs")


def takes_few_bits(advice: Advice) -> bool:
    """Return whether a model under 100B runs in three bits or fewer."""
    is_small = 0 < advice.parameters < _SIZES["large"]
    return not advice.wanted.tunes and is_small and advice.suggestion.bits <= _FEW_BITS


def serves_with_a_desktop(advice: Advice) -> bool:
    """Return whether a desktop serves many users.

    Desktops are a Mac, unified memory, an Arc or Radeon for games; a GeForce for over 40B.
    """
    is_large = advice.parameters > _SIZES["small"]
    is_desktop = advice.begins("no_server") or (is_large and advice.is_in("gaming"))
    return advice.is_for_many and is_desktop


def divides_oddly(advice: Advice) -> bool:
    """Return whether boards are no power of two, or for over 200B eight and more share PCIe."""
    count = advice.suggestion.count
    if not advice.is_for_many:
        return False
    if advice.runs_by("serving") and count & (count - 1):
        return True
    has_fabric = _FABRIC.search(advice.suggestion.gpu) or advice.is_in("shares_by_pcie")
    is_large = advice.parameters > _SIZES["by_fabric"]
    return is_large and count >= _WHOLE_SERVER and not has_fabric


def serves_4_bits_where_8_are_computed(advice: Advice) -> bool:
    """Return whether many users get INT4 on a card with FP8 units, unless published so."""
    is_int4 = not advice.suggestion.precision.isdisjoint({"gptq", "awq"})
    is_native = advice.is_published_in("gptq", "awq", "compressed", "int4")
    has_units = advice.is_in("serve_in_8_bits") and not advice.begins("of_ampere")
    return advice.is_for_many and is_int4 and has_units and not is_native


def trains_without_links(advice: Advice) -> bool:
    """Return whether full training of 7B and more runs on over two cards without fast links."""
    trains_all = advice.wanted.constraint.get("method") == "full"
    item = advice.suggestion
    is_large = advice.is_at_least("worth_a_card")
    return trains_all and is_large and item.count > 2 and not _FABRIC.search(item.gpu)


def takes_a_weak_card(advice: Advice) -> bool:
    """Return whether A16, A2, T4, V100, Tesla, MI50 to MI100 or older ones run 7B and more."""
    return advice.is_at_least("worth_a_card") and bool(_WEAK.search(advice.suggestion.gpu))


Rule = Callable[[Advice], bool]
RULES: tuple[Rule, ...] = (
    takes_gguf_on_a_server,
    requantizes_a_native_format,
    takes_a_server_for_a_small_model,
    is_fastest_in_16_bits,
    begins_with_another_make,
    takes_a_pack_of_small_cards,
    takes_few_bits,
    serves_with_a_desktop,
    divides_oddly,
    serves_4_bits_where_8_are_computed,
    trains_without_links,
    takes_a_weak_card,
)


def broken(advice: Advice) -> tuple[str, ...]:
    """Return the names of the rules that a suggestion breaks."""
    return tuple(rule.__name__ for rule in RULES if rule(advice))
