"""Parses the JSON that the Hub's API sends."""

from __future__ import annotations

from datetime import date
from typing import Any

from gpusizer.core.errors import HubUnreachable, MalformedRepo
from scrapers.json_files import load_json
from scrapers.read_budget import ReadBudget

MAX_COUNT = 2**53
"""No count is as large: JavaScript's integers, which the Hub writes, end here."""


def parse_answer(body: bytes, budget: ReadBudget) -> Any:
    """Return the JSON value of a response body.

    Raises HubUnreachable ("unexpected_answer") for a body that is not JSON, and LimitsExceeded
    ("json_memory_bytes") for values that would take too much memory.
    """
    try:
        return load_json(body, budget.repo_id, "")
    except MalformedRepo as error:
        if error.fields["reason"] == "crowded":
            raise budget.exceeded("json_memory_bytes") from None
        raise HubUnreachable(repo_id=budget.repo_id, reason="unexpected_answer") from None


def read_count(value: Any) -> int | None:
    """Return a count of the API; None for another value."""
    return value if type(value) is int and 0 <= value < MAX_COUNT else None


def read_day(value: Any, latest: date) -> date | None:
    """Parse the day of a time in ISO 8601; None for another value and for a day to come."""
    try:
        day = date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
    return day if day is not None and day <= latest else None
