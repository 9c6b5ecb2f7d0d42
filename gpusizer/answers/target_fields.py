"""Fields of a request for a serving plan: what all replicas together are to serve."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from gpusizer.core.request_model import RequestModel
from gpusizer.core.validation import Number, Tokens, Unit, fail
from gpusizer.fit.serving_plan import ServingTarget
from gpusizer.fit.speed.work import prompt_tokens
from gpusizer.memory.workload import MOST_CONTEXT


class TargetFields(RequestModel):
    """What all replicas together are to serve."""

    heading: ClassVar[str] = "serving target"

    requests_per_second: Annotated[Number | None, Unit("N")] = Field(
        None,
        ge=0.001,
        le=1e6,
        description="plan the cheapest GPUs that answer so many requests a second",
    )
    prompt_tokens: Tokens | None = Field(
        None,
        ge=1,
        le=MOST_CONTEXT,
        description="tokens of a prompt; without it three quarters of the context",
    )
    answer_tokens: Tokens | None = Field(
        None,
        ge=1,
        le=MOST_CONTEXT,
        description="tokens of an answer; without it the rest of the context",
    )
    ttft_ms: Annotated[Number | None, Unit("MS")] = Field(
        None,
        ge=1,
        le=1e7,
        description="most milliseconds to the first token of an answer",
    )
    ttft_percentile: Number = Field(
        95.0,
        ge=50,
        le=99.9,
        description="percent of the requests that get their first token within ttft_ms",
    )

    def target_within(self, context: int) -> ServingTarget | None:
        """The target, None where no rate is asked for; `context` is shared out where a length of
        prompts or answers is open.

        Raises InvalidRequest where one length takes all of the context.
        """
        if self.requests_per_second is None:
            return None
        prompt, answer = self.prompt_tokens, self.answer_tokens
        if answer is None:
            prompt = prompt or prompt_tokens(context)
            answer = _rest("prompt_tokens", prompt, context)
        elif prompt is None:
            prompt = _rest("answer_tokens", answer, context)
        return ServingTarget(
            requests_per_second=self.requests_per_second,
            prompt_tokens=prompt,
            answer_tokens=answer,
            ttft_seconds=None if self.ttft_ms is None else self.ttft_ms / 1000,
            ttft_percentile=self.ttft_percentile,
        )

    @property
    def lacks_a_rate(self) -> bool:
        """Whether lengths or a time are named of a plan that nobody asks for."""
        named = (self.prompt_tokens, self.answer_tokens, self.ttft_ms)
        return self.requests_per_second is None and any(value is not None for value in named)


def _rest(field: str, tokens: int, context: int) -> int:
    """Tokens of the context that one length leaves to the other."""
    if tokens >= context:
        raise fail(field, tokens, "takes_the_context", context=context)
    return context - tokens
