"""What a million tokens cost on GPUs that are paid by the hour and serve a load."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import SECONDS_PER_HOUR, significant


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars for a million tokens at a load, whose hour is paid whether or not it is full.

    Attributes:
        usd_per_million: of all tokens, in and out: an API that asks less is cheaper.
        usd_per_million_in, usd_per_million_out: of prompts and of answers, by the time that servers
            spend on each.
    """

    usd_per_million: float
    usd_per_million_in: float
    usd_per_million_out: float

    @classmethod
    def of(
        cls,
        usd_per_hour: float | None,
        requests_per_second: float,
        lengths: tuple[int, int],
        prompts: float,
    ) -> TokenPrices | None:
        """Prices at a mean rate of requests of so many tokens in and out, which take `prompts` and
        the rest of the time; None where the cost of an hour is unknown.

        >>> TokenPrices.of(3.6, 1.0, (800, 200), 0.25)
        TokenPrices(usd_per_million=1.0, usd_per_million_in=0.312, usd_per_million_out=3.75)
        """
        if usd_per_hour is None:
            return None
        request = usd_per_hour / (requests_per_second * SECONDS_PER_HOUR)
        prompt, answer = lengths
        return cls(
            significant(request / (prompt + answer) * 1e6),
            significant(request * prompts / prompt * 1e6),
            significant(request * (1 - prompts) / answer * 1e6),
        )
