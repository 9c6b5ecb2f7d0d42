"""What more parameters gain beside what fewer bits lose: whether a larger sibling is worth it.

Perplexities of released weights on one text fall as parameters^-x from each size of a series to the
next that is at least twice as large (`data/measurements/quality.jsonl`, sources in brackets):

    Llama 1 7B to 65B       0.21  (gptq-for-llama)
    Llama 2 7B to 70B       0.22  (efficientqat, qserve, smoothquant)
    Llama 3.1 8B to 70B     0.37  (qserve)
    MobileLLM 0.13 to 1.5B  0.32, 0.15  (paretoq)
    Qwen3.5 0.8B to 397B    0.41, 0.29, 0.17, 0.26  (thireus, ubergarm)
"""

from __future__ import annotations

from gpusizer.quality.quality import Quality

LEAST_GAIN = 0.15
"""The least of these exponents."""

LEAST_BITS = 3.0
"""Bits from which the larger of two models that take the same memory is the better one: of Qwen3.5
on one text the smaller is better below 2, tuned mixes alone are between (thireus)."""


LEAST_DIFFERENCE = 0.06
"""Share of perplexity below which no benchmark tells two models apart: scores of files that differ
by less are in any order."""


def gains_more(larger: int, smaller: int, bits: float, quality: Quality) -> bool:
    """Whether a model of `larger` parameters at so many bits is better than one of `smaller` that
    loses nothing, by as much as a benchmark shows.

    False for models that write no text, whose loss has no number.
    """
    if bits < LEAST_BITS or quality.increase is None or larger <= smaller:
        return False
    gained: float = (larger / smaller) ** LEAST_GAIN
    return gained >= (1 + quality.increase.likely) * (1 + LEAST_DIFFERENCE)
