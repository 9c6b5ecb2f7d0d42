"""Parses the JSON that the Hub's API sends."""

from __future__ import annotations

from typing import Any

from gpusizer.core.errors import HubUnreachable, MalformedRepo
from scrapers.json_files import load_json
from scrapers.read_budget import ReadBudget


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
