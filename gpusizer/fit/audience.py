"""Audience: one user or many, the devices not offered to them, the precisions that servers use."""

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
    """Devices that an audience is not offered for models of a size."""

    code: str  # reason, the key of the text `note.why_audience_<code>`
    audience: str = ""  # "one", "many", "tuning", or "" for all
    beside: bool = False  # whether such a device may be an alternative to the first place
    plans: bool = True  # whether the rule also applies to plans for a rate of requests
    sources: tuple[str, ...] = ()  # addresses of guides and recipes that support the rule
    segments: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    form_factors: tuple[str, ...] = ()
    least_parameters: float = 0.0
    most_parameters: float = float("inf")
    most_memory_bytes: float = float("inf")
    most_bytes_per_second: float = float("inf")
    least_boards: int = 1
    # fewest_recipes, fewest_providers: the rule covers devices with fewer published recipes
    # (`data/serving_recipes.csv`) or fewer rental providers
    fewest_recipes: int = 0
    fewest_providers: int = 0

    def names(self, gpu: Gpu, boards: int, parameters: int, audience: str) -> bool:
        """Whether the rule covers `boards` of a GPU for a model size and an audience."""
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
    # Slug of a GPU -> recipes of vLLM's collection that were verified on it.
    return dict(read_table(RECIPES_TABLE, lambda row: (row.text("slug"), row.integer("recipes"))))


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules in the order of their table."""
    return tuple(map(_rule, _TABLES["rule"]))


def _rule(row: Mapping[str, Any]) -> Rule:
    facts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Rule(**facts)


@dataclass(frozen=True, slots=True)
class Suitability:
    """Suitability of a way for its audience."""

    kept_back: Rule | None = None  # rule by which its boards are not offered, None if they are
    for_many: bool = False  # many users share it, so that dollars per hour order the places
    to_be_made: bool = False  # the weights have to be made or found before they are loaded


def audience_of(study: Study) -> str:
    """Return "many" for a service or for more users than a one-user engine holds, else "one"."""
    load, users = study.requirements.load, study.workload.concurrency
    # A service states its load: a rate of requests, or several users.
    is_service = load is not None and (load.requests_per_second is not None or users > 1)
    return "many" if is_service or users >= _MANY_FROM else "one"


_RULES: ScopedCache[tuple[str, int], Rule | None] = ScopedCache()


def not_offered(study: Study, gpu: Gpu, boards: int) -> Rule | None:
    """Return the rule by which boards are not offered in a study, None if they are."""
    return _RULES.get(
        study.workload_scope,
        (gpu.slug, boards),
        lambda: rule_against(gpu, boards, study.profile.parameters, audience_of(study)),
    )


def rule_against(
    gpu: Gpu, boards: int, parameters: int, audience: str, *, plans: bool = False
) -> Rule | None:
    """Return the rule by which boards are not offered to an audience, None if they are.

    `audience` is "one", "many" or "tuning"; `plans` restricts the search to rules for plans.
    """
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
    # A rule that also excludes alternatives comes first.
    return min(found, key=lambda rule: rule.beside, default=None)


def _size_class(parameters: int) -> int:
    # Rules treat models alike between two bounds; the lower bound represents them in the cache.
    return int(max((bound for bound in _bounds() if bound <= parameters), default=0))


@cache
def _bounds() -> tuple[float, ...]:
    # Parameters at which a rule begins or ends.
    return tuple(
        {each for rule in rules() for each in (rule.least_parameters, rule.most_parameters)}
    )


def is_ever_offered(study: Study, gpu: Gpu) -> bool:
    """Whether some number of boards is offered to the audience, or may be an alternative."""
    audience, parameters = audience_of(study), _size_class(study.profile.parameters)
    every = (_rule_against(gpu, n, parameters, audience, False) for n in board_counts(gpu))
    return any(rule is None or rule.beside for rule in every)


def precision_place(quant: Quant, gpu: Gpu, *, native: bool) -> int:
    """Return the distance of a precision from what servers use on a card.

    It is 0 for what the card's units multiply and for a checkpoint published in few bits.
    """
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
    """Whether a precision is taken only if nothing better fits."""
    # Far from what servers use, or made of a checkpoint that has four bits already.
    return place >= _LAST_RESORT or (not native and _is_made_anew(study, quant))


_SAME_WEIGHTS: ScopedCache[None, frozenset[str] | None] = ScopedCache()


def _is_made_anew(study: Study, quant: Quant) -> bool:
    same = _SAME_WEIGHTS.get(study.quants_scope, None, lambda: _same_weights(study))
    return same is not None and quant.slug not in same


def _same_weights(study: Study) -> frozenset[str] | None:
    # None if the checkpoint has more bits, or is a copy (`PreferenceKey.verdict`).
    if study.profile.is_quantized_copy:
        return None
    stored = [one for one, native in study.quants if native and one.bits < _FEW_BITS]
    same = (slug for one in stored for slug in _TABLES["same_weights"].get(one.slug, ()))
    return frozenset(same) if stored else None


def is_wide(quant: Quant, gpu: Gpu) -> bool:
    """Whether weights have 16 bits on a card that multiplies narrower ones."""
    return quant.bits >= 16 and "fp8" in runnable(gpu.kernel_class).multiplied
