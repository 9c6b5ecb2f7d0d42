"""Benchmark results of a repository in answers."""

from __future__ import annotations

from pydantic import Field

from gpusizer.api.base import AnswerModel, Number, Stated
from gpusizer.hub.published_results import StatedBy


class PublishedResultInfo(AnswerModel):
    """A benchmark's figure as it is published with the repository: shown, and used for nothing.

    Two compare only with the same benchmark, task, metric and setting.
    """

    benchmark: str = Field(description="ID of its dataset on the Hub, or its name in the card")
    task: Stated[str]
    metric: Stated[str]
    value: Number
    by: StatedBy = Field(
        description="maker: the repository itself; community: an open pull request; verified: the"
        " Hub vouches for it"
    )
    is_verified: bool
    date: Stated[str] = Field(description="day of the evaluation, where stated")
    source_name: Stated[str]
    source_url: Stated[str]
    notes: Stated[str] = Field(description="setting, such as with tools")
