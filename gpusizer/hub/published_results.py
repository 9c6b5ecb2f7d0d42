"""Benchmark results published with a repository, each with who states it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from gpusizer.core.loose_values import JsonObject, StoredObject

MOST_RESULTS = 100

# Who states a result: the repository itself (its card or a file that its maker merged), an open
# pull request of someone else, or the Hub, which ran the benchmark or checked its proof.
StatedBy = Literal["maker", "community", "verified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedResult:
    """One figure of one benchmark, as it is published.

    Scales and settings differ by benchmark, metric and author: two results compare only if all of
    these are equal.
    """

    benchmark: str  # ID of its dataset on the Hub, or the name that a model card gives it
    value: float
    by: StatedBy
    task: str | None = None  # task or configuration within the benchmark
    metric: str | None = None
    date: str | None = None  # day of the evaluation in ISO 8601, if stated
    source_name: str | None = None
    source_url: str | None = None  # http or https
    notes: str | None = None  # setting, such as "with tools"

    @property
    def is_verified(self) -> bool:
        """Whether the Hub vouches for the figure."""
        return self.by == "verified"

    def to_json(self) -> JsonObject:
        """Return an object of the stated fields."""
        named = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {name: value for name, value in named if value is not None}

    @classmethod
    def from_json(cls, data: StoredObject) -> PublishedResult:
        """Return the result of an object of `to_json`. Raises TypeError for other data."""
        return cls(**data)
