"""What is asked of all replicas of a model together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.serving.replicas import Promise
from gpusizer.memory.workload import Workload


@dataclass(frozen=True, slots=True)
class ServingTarget:
    """What is asked of all replicas together.

    Attributes:
        requests_per_second: on average; they come at random.
        prompt_tokens, answer_tokens: of every request.
        ttft_seconds: most seconds to the first token; None for any.
        ttft_percentile: of the requests, which have it within that time.
        shared_prefix_tokens: of every prompt, read once for all.
        peak_to_mean: busiest rate over the mean one; replicas bear the busiest.
        api_usd_per_million: what an API asks for a million tokens, to compare with.
    """

    requests_per_second: float
    prompt_tokens: int
    answer_tokens: int
    ttft_seconds: float | None
    ttft_percentile: float = 95.0
    shared_prefix_tokens: int = 0
    peak_to_mean: float = 1.0
    api_usd_per_million: float | None = None

    @property
    def promise(self) -> Promise:
        """What all replicas keep together."""
        busiest = self.requests_per_second * self.peak_to_mean
        return Promise(busiest, self.ttft_seconds, self.ttft_percentile / 100)

    @property
    def context(self) -> int:
        """Tokens of a sequence."""
        return self.prompt_tokens + self.answer_tokens

    @property
    def tokens_per_second(self) -> float:
        """Answer tokens of all users."""
        return self.requests_per_second * self.answer_tokens


def serving_workload(workload: Workload, target: ServingTarget, longest: int | None) -> Workload:
    """The workload of one sequence of the target.

    Raises InvalidRequest where the model's context ends before it.
    """
    if longest is not None and target.context > longest:
        raise InvalidRequest(
            field="prompt_tokens",
            value=target.context,
            reason="beyond_the_context",
            longest=longest,
        )
    return replace(workload, context=target.context, concurrency=1)
