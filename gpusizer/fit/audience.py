"""Audience: who asks, which devices are not offered to them unasked, and in what precision servers
run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table, toml_of
from gpusizer.fit.compatibility import runnable
from gpusizer.fit.division import board_counts
from gpusizer.fit.study import ScopedCache, Study
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.rental import rental_quote
from gpusizer.memory.quants import Quant

RECIPES_TABLE = DATA_DIR / "serving_recipes.csv"
_TABLES = toml_of(__file__)
_MANY_FROM: int = _TABLES["many_from_users"]
_LAST_RESORT: int = _TABLES["last_resort"]
_NARROW_BITS, _FEW_BITS = 8.5, 5


@dataclass(frozen=True, slots=True)
class Rule:
    """Devices that an audience is not offered for models of a size.

    Attributes:
        code: a word for why, of the texts `note.why_audience_<code>`.
        audience: "one", "many", "tuning", or "" for all.
        beside: whether such a device may stand beside the first place.
        plans: whether plans for a rate of requests go by it, too.
        sources: addresses of guides and recipes that say so, or name no such device.
        fewest_recipes, fewest_providers: the rule is about devices that fewer published recipes
            name (`data/serving_recipes.csv`), or that fewer providers rent out.
    """

    code: str
    audience: str = ""
    beside: bool = False
    plans: bool = True
    sources: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    form_factors: tuple[str, ...] = ()
    least_parameters: float = 0.0
    most_parameters: float = float("inf")
    most_memory_bytes: float = float("inf")
    most_bytes_per_second: float = float("inf")
    least_boards: int = 1
    fewest_recipes: int = 0
    fewest_providers: int = 0

    def names(self, gpu: Gpu, boards: int, parameters: int, audience: str) -> bool:
        """Whether the rule is about this number of boards of a GPU, a model of this size and an
        audience."""
        bandwidth = (gpu.bandwidth_bytes_per_second or 0.0) / gpu.devices_per_board
        return (
            self.audience in ("", audience)
            and boards >= self.least_boards
            and self.least_parameters <= parameters < self.most_parameters
            and _is_among(gpu.segment, self.segments)
            and _is_among(gpu.vendor, self.vendors)
            and _is_among(gpu.architecture, self.architectures)
            and _is_among(gpu.form_factor, self.form_factors)
            and gpu.memory_bytes <= self.most_memory_bytes
            and bandwidth <= self.most_bytes_per_second
            and self._is_rare(gpu)
        )

    def _is_rare(self, gpu: Gpu) -> bool:
        if not self.fewest_recipes and not self.fewest_providers:
            return True
        quote = rental_quote(gpu)
        providers = 0 if quote is None else len(quote.providers)
        return _recipes().get(gpu.slug, 0) < self.fewest_recipes or (
            providers < self.fewest_providers
        )


def _is_among(value: str, values: tuple[str, ...]) -> bool:
    return not values or value in values


@cache
def _recipes() -> Mapping[str, int]:
    """Slug of a GPU -> recipes of vLLM's collection that were verified on it."""
    return dict(read_table(RECIPES_TABLE, lambda row: (row.text("slug"), row.integer("recipes"))))


@cache
def rules() -> tuple[Rule, ...]:
    """All of them, in the order of their table."""
    return tuple(map(_rule, _TABLES["rule"]))


def _rule(row: Mapping[str, Any]) -> Rule:
    facts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Rule(**facts)


@dataclass(frozen=True, slots=True)
class Suitability:
    """How a way to run a model suits who asks.

    Attributes:
        kept_back: the rule by which its boards are not offered, None where they are.
        for_many: whether many users ask, whose places go by the dollars of an hour.
        to_be_made: whether a server's weights have to be made or found before they can be loaded.
    """

    kept_back: Rule | None = None
    for_many: bool = False
    to_be_made: bool = False


def audience_of(study: Study) -> str:
    """ "many" where several users ask whose load is stated, or more than an engine for one user
    holds; else "one"."""
    load, users = study.demands.load, study.workload.concurrency
    is_service = load is not None and (load.requests_per_second is not None or users > 1)
    return "many" if is_service or users >= _MANY_FROM else "one"


_RULES: ScopedCache[tuple[str, int], Rule | None] = ScopedCache()


def not_offered(study: Study, gpu: Gpu, boards: int) -> Rule | None:
    """The rule by which boards are not offered to who asks, those that take them from the
    alternatives, too, first; None where they are offered."""
    return _RULES.get(
        study.workload_scope,
        (gpu.slug, boards),
        lambda: rule_against(gpu, boards, study.profile.parameters, audience_of(study)),
    )


def rule_against(
    gpu: Gpu, boards: int, parameters: int, audience: str, *, plans: bool = False
) -> Rule | None:
    """The rule by which boards are not offered to an audience ("one", "many" or "tuning"), those
    that take them from the alternatives, too, first; None where they are offered. `plans` asks the
    rules for plans alone."""
    return _rule_against(gpu, boards, _size_class(parameters), audience, plans)


@lru_cache(maxsize=16_384)  # visitors describe cards of their own
def _rule_against(
    gpu: Gpu, boards: int, parameters: int, audience: str, plans: bool
) -> Rule | None:
    found = [
        rule
        for rule in rules()
        if (rule.plans or not plans) and rule.names(gpu, boards, parameters, audience)
    ]
    return min(found, key=lambda rule: rule.beside, default=None)


def _size_class(parameters: int) -> int:
    """The least parameters of the models that every rule treats alike."""
    return int(max((bound for bound in _bounds() if bound <= parameters), default=0))


@cache
def _bounds() -> tuple[float, ...]:
    """Parameters at which a rule begins or ends."""
    return tuple(
        {each for rule in rules() for each in (rule.least_parameters, rule.most_parameters)}
    )


def is_ever_offered(study: Study, gpu: Gpu) -> bool:
    """Whether some number of boards is offered to who asks, or may stand beside what is."""
    audience, parameters = audience_of(study), _size_class(study.profile.parameters)
    every = (_rule_against(gpu, n, parameters, audience, False) for n in board_counts(gpu))
    return any(rule is None or rule.beside for rule in every)


def precision_place(quant: Quant, gpu: Gpu, *, native: bool) -> int:
    """How far a precision is from what a card serves in; 0 for what its units multiply, and for a
    checkpoint that is published in few bits."""
    if native and quant.bits <= _NARROW_BITS:
        return 0
    multiplied = runnable(gpu.kernel_class).multiplied
    units = next((needs for needs in ("fp4", "fp8") if needs in multiplied), "none")
    if units == "fp4" and gpu.is_for_servers:
        units = "fp4_server"
    places: Mapping[str, int] = _TABLES["serving"][units]
    is_plain = quant.needs == "" and quant.bits >= 16
    name = quant.needs if quant.needs else "" if is_plain else "other"
    return places.get(name, places["other"])


def is_last_resort(study: Study, quant: Quant, place: int, *, native: bool) -> bool:
    """Whether a precision is taken only where nothing better fits: one that is far from what the
    card serves in, or made of a checkpoint that has four bits already."""
    return place >= _LAST_RESORT or (not native and _is_made_anew(study, quant))


_SAME_WEIGHTS: ScopedCache[None, frozenset[str] | None] = ScopedCache()


def _is_made_anew(study: Study, quant: Quant) -> bool:
    same = _SAME_WEIGHTS.get(study.quants_scope, None, lambda: _same_weights(study))
    return same is not None and quant.slug not in same


def _same_weights(study: Study) -> frozenset[str] | None:
    """Return quantizations with the weights of a checkpoint of few bits, None if it has more."""
    stored = [one for one, native in study.quants if native and one.bits < _FEW_BITS]
    same = (slug for one in stored for slug in _TABLES["same_weights"].get(one.slug, ()))
    return frozenset(same) if stored else None


def is_wide(quant: Quant, gpu: Gpu) -> bool:
    """Whether weights of 16 bits run on a card that multiplies narrower ones."""
    return quant.bits >= 16 and "fp8" in runnable(gpu.kernel_class).multiplied
