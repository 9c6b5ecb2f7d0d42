"""Everything the page draws about one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusizer.figures.memory import capacities, context_curves, few_levels, stacks
from gpusizer.figures.prices import PriceSpeed, price_speed
from gpusizer.figures.shapes import Capacity, Curve, Stack
from gpusizer.figures.users import UserSpeed, user_speeds
from gpusizer.fit import Fit
from gpusizer.gpus import Gpu
from gpusizer.report import EstimateRow, Report


@dataclass(frozen=True, slots=True)
class Pictures:
    """Memory by quantization and context against what GPUs hold; prices and users against speed."""

    context: int
    concurrency: int
    stacks: tuple[Stack, ...]
    curves: tuple[Curve, ...]
    capacities: tuple[Capacity, ...]
    prices: tuple[PriceSpeed, ...]
    users: tuple[UserSpeed, ...] = ()

    def to_json(self) -> dict[str, Any]:
        lists = ("stacks", "curves", "capacities", "prices", "users")
        made = {name: [item.to_json() for item in getattr(self, name)] for name in lists}
        return {"context": self.context, "concurrency": self.concurrency, **made}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Pictures:
        return cls(
            context=data["context"],
            concurrency=data["concurrency"],
            stacks=tuple(map(Stack.from_json, data["stacks"])),
            curves=tuple(map(Curve.from_json, data["curves"])),
            capacities=tuple(map(Capacity.from_json, data["capacities"])),
            prices=tuple(map(PriceSpeed.from_json, data["prices"])),
            users=tuple(map(UserSpeed.from_json, data["users"])),
        )


def pictures_of(
    report: Report,
    shown: Sequence[EstimateRow],
    boards: Iterable[tuple[Gpu, int]],
    fits: Sequence[Fit] = (),
) -> Pictures:
    """Pictures of a report whose ranking is whole; `shown` are the levels to stack up.

    `boards` are the picked GPUs, `fits` how the model runs on them.
    """
    return Pictures(
        context=report.workload.context,
        concurrency=report.workload.concurrency,
        stacks=stacks(shown),
        curves=context_curves(report, few_levels(report.estimates)),
        capacities=capacities(boards),
        prices=(price_speed(report.ranking, "buy"), price_speed(report.ranking, "rent")),
        users=user_speeds(report, fits),
    )
