"""Loss of a quantization in answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    Notes,
    OrNull,
    Sentence,
    at,
    derived,
)
from gpusizer.fit.losses import quality_at
from gpusizer.quality.quality import Increase, one_digit

LossLabel = Literal["none", "very_small", "small", "noticeable", "large", "broken"]


class QualitySourceInfo(AnswerModel):
    """Source of a measured or fitted loss."""

    name: str = Field(description="its publisher")
    url: OrNull
    date: OrNull


def _rounded(band: Increase | None, _: AnswerContext) -> Increase | None:
    if band is None:
        return None
    return Increase(round(band.low, 4), round(band.likely, 4), round(band.high, 4))


class QualityInfo(AnswerModel):
    """Loss of a quantization and its cache type against the released weights (docs/quality.md)."""

    word: LossLabel = Field(description="limits at 0.5, 2, 5, 15 and 50 % of `perplexity_increase`")
    basis: Literal["native", "measured", "measured_model", "estimated", "class"] = Field(
        description="measured_model is carried over from other files of the model"
    )
    rows: int = Field(description="measurements behind it")
    source: QualitySourceInfo | None
    picture_distance: float | None = Field(
        description="LPIPS to the picture of the released weights, where it is published"
    )
    caveats: Notes
    label: Sentence = Field(description="`word` in the language asked for")
    message: Annotated[str, derived(lambda detail, context: context.say(detail()))] = at(
        "detail", "the number and where it is from"
    )
    perplexity_increase: Annotated[Increase | None, derived(_rounded)] = at(
        "increase",
        "shares (0.02 is 2 %), 0 where a measurement lies below its baseline; null for pictures",
    )
    tokens_changed: Annotated[
        float | None, derived(lambda share, _: None if share is None else one_digit(share))
    ] = Field(description="share of tokens whose first choice changes; null for pictures")


# the loss at a memory estimate
QualityOf = Annotated[QualityInfo, derived(lambda estimate, _: quality_at(estimate))]
