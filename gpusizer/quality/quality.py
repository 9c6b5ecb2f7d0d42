"""Quality: the loss of one quantization as a word and a number with its band and source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from gpusizer.core.messages import Note
from gpusizer.quality.prediction import NATIVE


@dataclass(frozen=True, slots=True)
class Increase:
    """Shares by which perplexity increases; 0 if a measurement is below its baseline."""

    low: float
    likely: float
    high: float


def _whole(number: float) -> float | int:
    return int(number) if number == int(number) else number


@dataclass(frozen=True, slots=True)
class QualitySource:
    """Source of a measured or fitted loss; "" for unknown fields."""

    name: str
    url: str
    date: str


@dataclass(frozen=True, slots=True)
class Quality:
    """The loss of a quantization of a model against the weights as they were released."""

    # word by fixed limits of the likely increase (`LIMITS`)
    word: LossWord
    # None for models that write no text
    increase: Increase | None
    # share of tokens with another first choice, None as for `increase`
    tokens_changed: float | None
    # one of `prediction.BASES`
    basis: str
    # measurements behind it
    rows: int = 0
    # None if nothing is lost by definition
    source: QualitySource | None = None
    caveats: tuple[Note, ...] = ()
    # one word worse is to be expected in use
    careful: bool = False
    # LPIPS to the picture of the original (image models), None if unknown
    picture_distance: float | None = None

    @property
    def advised_word(self) -> LossWord:
        """Word for advice: one worse for a small model that loses anything."""
        return self.word.stepped(1) if self.careful and self.word.rank else self.word

    @property
    def label(self) -> Note:
        """The word as a note."""
        return Note(f"loss_{self.word}")

    @property
    def percent(self) -> Increase | None:
        """Increase in percent with one significant digit; None for pictures and native weights."""
        if self.increase is None or self.basis == NATIVE:
            return None
        low, likely, high = (
            one_digit(100 * share)
            for share in (self.increase.low, self.increase.likely, self.increase.high)
        )
        return Increase(low, likely, high)

    def detail(self) -> Note:
        """Return a note of the loss in percent with one significant digit, and its basis."""
        if self.basis == NATIVE:
            return Note("quality_basis_native")
        percent = self.percent
        if percent is None:
            if self.picture_distance is None:
                return Note("quality_picture")
            return Note("quality_picture_measured", distance=one_digit(self.picture_distance))
        facts = {name: _whole(getattr(percent, name)) for name in ("low", "likely", "high")}
        name = self.source.name if self.source else ""
        if not percent.likely:
            return Note("quality_below_baseline", high=facts["high"], source=name)
        return Note(f"quality_basis_{self.basis}", **facts, rows=self.rows, source=name)


# The least exponent x in perplexity ~ parameters^-x of released weights on one text, from each size
# of a series to the next that is at least twice as large (`data/measurements/quality.jsonl`): Llama
# 1 7B to 65B 0.21 (gptq-for-llama); Llama 2 7B to 70B 0.22 (efficientqat, qserve, smoothquant);
# Llama 3.1 8B to 70B 0.37 (qserve); MobileLLM 0.13 to 1.5B 0.32, 0.15 (paretoq); Qwen3.5 0.8B to
# 397B 0.41, 0.29, 0.17, 0.26 (thireus, ubergarm).
LEAST_GAIN = 0.15

# Bits from which the larger of two models that take the same memory is the better one: of Qwen3.5
# on one text the smaller is better below 2, tuned mixes alone are between (thireus).
LEAST_BITS = 3.0

# Share of perplexity below which no benchmark distinguishes two models: scores of files that differ
# by less are in any order.
LEAST_DIFFERENCE = 0.06


def gains_more(larger: int, smaller: int, bits: float, quality: Quality) -> bool:
    """Return whether the larger model at `bits` beats the lossless `smaller` one measurably.

    False for models that write no text, whose loss has no number.
    """
    if bits < LEAST_BITS or quality.increase is None or larger <= smaller:
        return False
    gained: float = (larger / smaller) ** LEAST_GAIN
    return gained >= (1 + quality.increase.likely) * (1 + LEAST_DIFFERENCE)


class LossWord(StrEnum):
    """Size of a loss, least first."""

    NONE = "none"
    VERY_SMALL = "very_small"
    SMALL = "small"
    NOTICEABLE = "noticeable"
    LARGE = "large"
    BROKEN = "broken"

    @property
    def rank(self) -> int:
        """Index in the order, 0 for no measurable loss."""
        return WORDS.index(self)

    def stepped(self, steps: int) -> LossWord:
        """Return the word `steps` worse, at most "broken"."""
        return WORDS[min(self.rank + steps, len(WORDS) - 1)]


WORDS = tuple(LossWord)
# increases of perplexity, as shares, at which the next word begins
LIMITS = (0.005, 0.02, 0.05, 0.15, 0.5)


def word_of(increase: float) -> LossWord:
    """Return the word for an increase of perplexity as a share.

    >>> word_of(0.0), word_of(0.02).value
    (<LossWord.NONE: 'none'>, 'small')
    """
    return WORDS[sum(increase >= limit for limit in LIMITS)]


def tokens_changed(increase: float) -> float:
    """Return the share of tokens with another first choice: 0.42 KLD^0.46."""
    # Fitted to 20 files of four publishers. KLD and the logarithm of the ratio of perplexities are
    # one number above 3 %.
    return 0.42 * math.log1p(max(increase, 0.0)) ** 0.46 if increase > 0 else 0.0


def one_digit(share: float) -> float:
    """Return the number with one significant digit.

    >>> one_digit(0.0168), one_digit(0.0)
    (0.02, 0.0)
    """
    return float(f"{share:.1g}")
