"""Demands: what a reader asks of every way to run a model, before any is preferred."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.memory.quants import Quant
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.quality import LossWord

READING_SPEED = 10.0
"""Tokens/s that a reader does not wait for.

Most adults read English fiction at 200 to 320 words a minute (M. Brysbaert, "How many words do we
read per minute?", Journal of Memory and Language 109, 2019, doi.org/10.1016/j.jml.2019.104047), and
a word is 4/3 of a token (OpenAI, "What are tokens and how to count them?"): 320 x 4/3 / 60 = 7.1.
The rest is for languages and code, which take more tokens for a word."""

COMFORTABLE_SPEED = 2 * READING_SPEED
"""Likely tokens/s at which nobody gives up quality for more: half of it, the low end of the bands
of `data/generated/speed_bands.csv`, is still as fast as one reads."""

DEFAULT_MAX_LOSS = LossWord.SMALL
LEAST_BITS = 4
"""Bits below which nothing is chosen unless more than `DEFAULT_MAX_LOSS` may be lost: agents and
tools fail before perplexity shows it (docs/quality.md)."""
NO_LIMIT = LossWord.BROKEN
"""The word that lets every quantization pass: what a visitor names is obeyed."""


@dataclass(frozen=True, slots=True)
class ServingLoad:
    """Requests of one length: `users` who each wait for their answer, or `requests_per_second`
    at random times. One of the two is None.

    Attributes:
        prompt, answer: tokens of a request.
        shared: of the prompt, those that all requests begin with, which engines for servers keep.
    """

    users: int | None
    requests_per_second: float | None
    prompt: int
    answer: int
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Demands:
    """What is asked of a way besides that it fits.

    Attributes:
        max_loss: word of the most that its quantization may lose, unless nothing else fits.
        min_tok_s: tokens/s that each user should see; None where nothing is said.
        load: requests whose lengths or rate are stated; None for the users of the workload.
    """

    max_loss: LossWord = DEFAULT_MAX_LOSS
    min_tok_s: float | None = None
    load: ServingLoad | None = None

    @property
    def most_rank(self) -> int:
        """Rank of the word of the most that may be lost."""
        return self.max_loss.rank

    def takes(self, quant: Quant, profile: ModelProfile) -> bool:
        """Whether a quantization of a model may be chosen unasked, if its loss allows it.

        Pipelines have fewer to choose from: diffusers' own go as far as 4 bits.
        """
        if profile.pipeline is not None and quant.bits < 16:
            return True
        is_narrow = quant.bits < LEAST_BITS
        return quant.recommended or (is_narrow and self.most_rank > DEFAULT_MAX_LOSS.rank)

    @property
    def comfortable(self) -> float:
        """Tokens/s above which more speed is worth no quality."""
        return self.min_tok_s or COMFORTABLE_SPEED


DEFAULT_DEMANDS = Demands()
