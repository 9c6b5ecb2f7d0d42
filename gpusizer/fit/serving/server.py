"""A server: seconds of its steps, by what is in them, and how many sequences it admits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log2

from gpusizer.fit.serving.constants import Constants, Key, constants_of
from gpusizer.fit.serving.engines import Scheduler
from gpusizer.fit.serving.facts import ServerFacts

_SECONDS = (
    *("dense", "experts", "cache", "product", "attention", "traffic", "latency", "host"),
    *("prompt_host", "sequence", "stream", "request"),
)


@dataclass(frozen=True, slots=True)
class StepParts:
    """Seconds of one step by what takes them."""

    weights: float
    arithmetic: float
    cache: float
    links: float
    host: float

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return self.weights + self.arithmetic + self.cache + self.links + self.host


@dataclass(frozen=True, slots=True)
class Server:
    """One rank of a replica, with its constants in its seconds.

    Attributes:
        prompt, answer: tokens of a request.
        ranks, stages: as of `ServerFacts`.
        dense, experts, unused: reading weights.
        cache: reading one sequence's cache.
        product: a token's products; attention: what a prompt token adds.
        traffic: of one token over the links; latency: of a step over the links.
        host: of a step; prompt_host: more of one with prompts in it.
        sequence: of the scheduler for a sequence in a step; stream: of the front for one, while
            the next step runs.
        request: at the door.
        most: sequences that a rank admits at once; 0 where not one fits.
        guessing: seconds of a token with a draft's guesses over those of a plain step, at 1, 2, 4 …
            sequences; empty without a draft.
    """

    prompt: int
    answer: int
    ranks: int
    stages: int
    scheduler: Scheduler
    dense: float
    experts: float
    unused: float
    cache: float
    product: float
    attention: float
    traffic: float
    latency: float
    host: float
    prompt_host: float
    sequence: float
    stream: float
    request: float
    most: int
    guessing: tuple[float, ...] = ()

    @classmethod
    def of(cls, facts: ServerFacts, factors: Mapping[Key, float] | None = None) -> Server:
        """The server of some facts, with constants in use or others."""
        return cls.with_constants(facts, constants_of(facts, factors))

    @classmethod
    def with_constants(cls, facts: ServerFacts, c: Constants) -> Server:
        """The server of facts and constants."""
        return cls(
            prompt=facts.prompt,
            answer=facts.answer,
            ranks=facts.ranks,
            stages=facts.stages,
            scheduler=facts.scheduler,
            dense=facts.dense / c.reading,
            experts=facts.experts / (c.reading * c.experts),
            unused=facts.unused,
            cache=facts.cache / c.cache,
            product=facts.product / c.products,
            attention=facts.attention / c.attention,
            traffic=facts.traffic / c.traffic,
            latency=facts.reduces * c.reduce_seconds,
            host=c.step_seconds + facts.layers * c.layer_seconds,
            prompt_host=facts.layers * c.prompt_layer_seconds,
            sequence=c.sequence_seconds,
            stream=c.stream_seconds * facts.ranks,
            request=c.request_seconds,
            most=admitted(facts),
        )

    def at_speed(self, by: float) -> Server:
        """The same server so many times as fast in everything."""
        return replace(self, **{name: getattr(self, name) / by for name in _SECONDS})

    def with_prefix(self, shared: int) -> Server:
        """The same server where so many tokens of every prompt are in its cache already.

        The rest attends to them: to shared + (prompt - shared) / 2 tokens on average where a whole
        prompt attends to prompt / 2. The caches of sequences are counted whole.
        """
        if not shared:
            return self
        longer = 1 + shared / self.prompt
        return replace(self, prompt=self.prompt - shared, attention=self.attention * longer)

    def step(self, decodes: float, prompt_tokens: float = 0.0) -> float:
        """Seconds of a step with so many sequences' next tokens and so many tokens of prompts.

        The stages of a pipeline work on a part of the sequences each, side by side. Reading weights
        and multiplying overlap in part: their seconds add up as the root of their squares, which is
        1.4 times the longer where both are equal (soft roofline; step times of dense models around
        the ridge lie between the maximum and the sum).
        """
        seconds = self._step(decodes, prompt_tokens)
        if not (self.guessing and decodes):
            return seconds
        return seconds - (1 - self._of_plain(decodes)) * self._step(decodes, 0.0)

    def _of_plain(self, decodes: float) -> float:
        """Seconds of a token with guesses over those of a plain step, between the stated ones."""
        place = min(log2(max(1.0, decodes)), len(self.guessing) - 1.0)
        below = int(place)
        above = min(below + 1, len(self.guessing) - 1)
        return self.guessing[below] + (place - below) * (
            self.guessing[above] - self.guessing[below]
        )

    def _step(self, decodes: float, prompt_tokens: float) -> float:
        sequences = decodes / self.stages
        tokens = sequences + prompt_tokens
        reading, computing = self._reading(tokens), self.product * tokens
        seconds = (
            math.sqrt(reading * reading + computing * computing)
            + self.cache * sequences
            + self.latency
            + self.traffic * tokens
            + self.host
            + self.sequence * sequences
        )
        if prompt_tokens:
            seconds += self.attention * prompt_tokens + self.prompt_host
        sending = self.stream * decodes
        return math.sqrt(seconds * seconds + sending * sending)

    def parts(self, decodes: float) -> StepParts:
        """What takes the seconds of a step without prompts; the overlap of reading and products is
        shared out by their squares."""
        sequences = decodes / self.stages
        reading, computing = self._reading(sequences), self.product * sequences
        both = math.sqrt(reading * reading + computing * computing)
        share = computing * computing / (both * both) if both else 0.0
        return StepParts(
            weights=both * (1 - share),
            arithmetic=both * share,
            cache=self.cache * sequences,
            links=self.latency + self.traffic * sequences,
            host=self.host + self.sequence * sequences,
        )

    def _reading(self, tokens: float) -> float:
        """Seconds of reading the weights that so many tokens need: of E experts with k chosen by
        each, E x (1 - (1 - k/E)^n) are expected for n tokens. Data-parallel ranks share experts."""
        if not self.experts:
            return self.dense
        return self.dense + self.experts * float(1.0 - self.unused ** (tokens * self.ranks))


def admitted(facts: ServerFacts) -> int:
    """Sequences of one rank at once: what its pool holds, at most what its scheduler takes."""
    whole = facts.scheduler.holds == "whole"
    room = facts.room_whole if whole else facts.room
    most = facts.scheduler.max_sequences
    if room is None:
        return most
    if facts.room_whole is not None and facts.room_whole < 1:
        return 0
    return max(1, min(most, int(room)))
