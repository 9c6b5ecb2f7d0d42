"""Requirements: limits of loss, speed and load that a request sets for every way."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.memory.quants import Quant
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.quality import LossWord

# Tokens/s that keep up with a reader. Most adults read English fiction at 200 to 320 words a minute
# (M. Brysbaert, "How many words do we read per minute?", Journal of Memory and Language 109, 2019,
# doi.org/10.1016/j.jml.2019.104047), and a word is 4/3 of a token (OpenAI, "What are tokens and how
# to count them?"): 320 x 4/3 / 60 = 7.1. The rest is for languages and code, which take more tokens
# for a word.
READING_SPEED = 10.0

# Likely tokens/s above which more speed is worth no loss: half of it, the low end of the bands of
# `data/generated/speed_bands.csv`, still keeps up with a reader.
COMFORTABLE_SPEED = 2 * READING_SPEED

DEFAULT_MAX_LOSS = LossWord.SMALL
# Fewer bits are chosen only if `max_loss` exceeds `DEFAULT_MAX_LOSS`: agents and tools fail before
# perplexity shows it (docs/quality.md).
LEAST_BITS = 4
# Accepts every quantization: one that a visitor names is used as it is.
NO_LIMIT = LossWord.BROKEN


@dataclass(frozen=True, slots=True)
class ServingLoad:
    """Requests of one length, from `users` who wait for each answer or at `requests_per_second`."""

    # `users`, `requests_per_second`: exactly one of them is set; the rate has random arrivals
    users: int | None
    requests_per_second: float | None
    prompt: int  # `prompt`, `answer`: tokens of a request
    answer: int
    shared: int = 0  # prompt tokens that all requests begin with, cached by engines for servers


@dataclass(frozen=True, slots=True)
class Requirements:
    """Limits that a way has to meet, apart from memory."""

    # highest loss of a quantization, exceeded only if nothing else fits
    max_loss: LossWord = DEFAULT_MAX_LOSS
    min_tok_s: float | None = None  # tokens/s of each user; None if unset
    # requests of stated length or rate; None for the users of the workload
    load: ServingLoad | None = None

    @property
    def most_rank(self) -> int:
        """Rank of the word of `max_loss`."""
        return self.max_loss.rank

    def takes(self, quant: Quant, profile: ModelProfile) -> bool:
        """Whether a quantization may be chosen unasked, if its loss allows it."""
        # Pipelines have fewer to choose from: diffusers' own go as far as 4 bits.
        if profile.pipeline is not None and quant.bits < 16:
            return True
        is_narrow = quant.bits < LEAST_BITS
        return quant.recommended or (is_narrow and self.most_rank > DEFAULT_MAX_LOSS.rank)

    @property
    def comfortable(self) -> float:
        """Tokens/s above which more speed is worth no loss."""
        return self.min_tok_s or COMFORTABLE_SPEED


DEFAULT_REQUIREMENTS = Requirements()
