"""Answers of the Hub's API: JSON, or no answer."""

from __future__ import annotations

from typing import Any

from gpusizer.core.errors import HubUnreachable, MalformedRepo
from scrapers.json_files import load_json
from scrapers.read_budget import ReadBudget


def parse_answer(body: bytes, budget: ReadBudget) -> Any:
    """The JSON value of an answer about the model that is read.

    Raises HubUnreachable ("unexpected_answer"), LimitsExceeded ("json_memory_bytes").
    """
    try:
        return load_json(body, budget.repo_id, "")
    except MalformedRepo as error:
        if error.fields["reason"] == "crowded":
            raise budget.exceeded("json_memory_bytes") from None
        raise HubUnreachable(repo_id=budget.repo_id, reason="unexpected_answer") from None
