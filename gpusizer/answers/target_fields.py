"""Fields of a request for a serving plan: what all replicas together are to serve."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from gpusizer.core.request_model import RequestModel
from gpusizer.core.validation import Number, Tokens, Unit, Usd, fail
from gpusizer.fit.load import ServingLoad
from gpusizer.fit.serving.target import ServingTarget
from gpusizer.fit.speed.work import prompt_tokens
from gpusizer.memory.workload import MOST_CONTEXT, Workload

LENGTHS = frozenset(("prompt_tokens", "answer_tokens", "shared_prefix_tokens"))
"""Fields of a request's tokens, which several users have without a rate, too."""


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
        description="tokens of a prompt, of requests at a rate or of several users; without it"
        " three quarters of the context",
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

    shared_prefix_tokens: Tokens = Field(
        0,
        ge=0,
        le=MOST_CONTEXT,
        description="tokens that all prompts begin with, which a server reads once",
    )
    peak_to_mean: Number = Field(
        1.0,
        ge=1,
        le=100,
        description="requests of the busiest time of a day over those of its mean; the plan bears"
        " the busiest",
    )
    api_usd_per_million: Usd | None = Field(
        None,
        ge=0,
        le=1e6,
        description="US dollars that an API asks for a million tokens, in and out, to compare with",
    )

    def target_within(self, context: int) -> ServingTarget | None:
        """The target, None where no rate is asked for; `context` is shared out where a length of
        prompts or answers is open.

        Raises InvalidRequest where one length takes all of the context.
        """
        if self.requests_per_second is None:
            return None
        prompt, answer = self._lengths_within(context)
        return ServingTarget(
            requests_per_second=self.requests_per_second,
            prompt_tokens=prompt,
            answer_tokens=answer,
            ttft_seconds=None if self.ttft_ms is None else self.ttft_ms / 1000,
            ttft_percentile=self.ttft_percentile,
            shared_prefix_tokens=self._shared_of(prompt),
            peak_to_mean=self.peak_to_mean,
            api_usd_per_million=self.api_usd_per_million,
        )

    def load_within(self, workload: Workload) -> ServingLoad | None:
        """What one replica is asked for: all of the rate, or the workload's users with requests of
        the stated lengths; None where neither is stated. Raises as `target_within` does."""
        rate, users = self.requests_per_second, workload.concurrency
        if rate is None and (users < 2 or not self._names_lengths):
            return None
        prompt, answer = self._lengths_within(workload.context)
        asked = None if rate is None else rate * self.peak_to_mean
        shared = self._shared_of(prompt)
        return ServingLoad(users if rate is None else None, asked, prompt, answer, shared)

    def lacks_a_load(self, users: int) -> bool:
        """Whether lengths or a time are named of requests that nobody asks for."""
        lengths = self._names_lengths and users < 2
        return self.requests_per_second is None and (lengths or self.ttft_ms is not None)

    @property
    def tokens_of_a_request(self) -> int | None:
        """Tokens of a prompt and its answer, None where one of them is not stated."""
        if self.prompt_tokens is None or self.answer_tokens is None:
            return None
        return self.prompt_tokens + self.answer_tokens

    @property
    def _names_lengths(self) -> bool:
        return self.prompt_tokens is not None or self.answer_tokens is not None

    def _shared_of(self, prompt: int) -> int:
        """Raises InvalidRequest where all of the prompt is shared."""
        if self.shared_prefix_tokens >= prompt:
            raise fail("shared_prefix_tokens", self.shared_prefix_tokens, "takes_the_prompt")
        return self.shared_prefix_tokens

    def _lengths_within(self, context: int) -> tuple[int, int]:
        prompt, answer = self.prompt_tokens, self.answer_tokens
        if answer is None:
            prompt = prompt or prompt_tokens(context)
            return prompt, _rest("prompt_tokens", prompt, context)
        return prompt or _rest("answer_tokens", answer, context), answer


def _rest(field: str, tokens: int, context: int) -> int:
    """Tokens of the context that one length leaves to the other."""
    if tokens >= context:
        raise fail(field, tokens, "takes_the_context", context=context)
    return context - tokens
