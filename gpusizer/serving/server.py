"""A server: seconds of its steps by their content, and the sequences it admits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from operator import add

from gpusizer.gpus import Gpu
from gpusizer.serving.constants import Constants, Key, constants_of
from gpusizer.serving.facts import AHEAD, Scheduler, ServerFacts
from gpusizer.speed.decode import pace_of, step_cost
from gpusizer.speed.kernels import cache_reads
from gpusizer.speed.links import exchange_seconds
from gpusizer.speed.prefill import flops_per_second, prompt_token_seconds
from gpusizer.speed.tables import CACHE_EFFICIENCY, engine_limits
from gpusizer.speed.work import Work

_SECONDS = (
    *("dense", "experts", "cache", "product", "attention", "traffic", "latency", "host"),
    *("launches", "sequence", "stream", "request"),
)


@dataclass(frozen=True, slots=True)
class StepParts:
    """Parts of a step in seconds."""

    weights: float
    arithmetic: float
    cache: float
    links: float
    host: float

    @property
    def seconds(self) -> float:
        """Duration of the step in seconds."""
        return self.weights + self.arithmetic + self.cache + self.links + self.host

    def __add__(self, other: StepParts) -> StepParts:
        """Return the cost of two consecutive steps."""
        return StepParts(*map(add, astuple(self), astuple(other)))

    def times(self, count: int) -> StepParts:
        """Return the cost of `count` consecutive steps."""
        return StepParts(*(count * value for value in astuple(self)))


@dataclass(frozen=True, slots=True)
class Guesses:
    """A draft's part of every step, as in `speed.speculation.Speculation`."""

    draft: Server  # its passes, as a separate server
    guessed: int  # tokens that it guesses for each sequence
    tokens: float  # average tokens of a step for each sequence, the model's own included
    at_once: bool  # one pass guesses all of them

    def with_draft(self, draft: Server) -> Guesses:
        """Return these guesses with another draft."""
        return replace(self, draft=draft)

    def seconds(self, sequences: float, prompt_tokens: float) -> float:
        """Return the seconds of guessing after a step."""
        draft = self.draft
        # The draft's first pass reads the prompts of the step, too.
        if self.at_once:
            return draft.passing(sequences, sequences * (self.guessed + 1), prompt_tokens)
        further = (self.guessed - 1) * draft.passing(sequences, sequences, 0.0)
        return draft.passing(sequences, sequences, prompt_tokens) + further

    def parts(self, sequences: float) -> StepParts:
        """Return the parts of these seconds without prompts."""
        if self.at_once:
            return self.draft.passing_parts(sequences, sequences * (self.guessed + 1))
        return self.draft.passing_parts(sequences, sequences).times(self.guessed)


@dataclass(frozen=True, slots=True)
class Server:
    """One rank of a replica, in seconds with its constants."""

    # tokens of a request
    prompt: int
    answer: int
    # as in `ServerFacts`
    ranks: int
    stages: int
    scheduler: Scheduler
    # reading weights and experts; share of experts that one token does not choose
    dense: float
    experts: float
    unused: float
    # reading one sequence's cache
    cache: float
    # a token's products, and the addition of a prompt token
    product: float
    attention: float
    # traffic of one token and latency of a step over the links
    traffic: float
    latency: float
    # the host in a step, and launches of a step's kernels beyond the engine's graphs
    host: float
    launches: float
    # the scheduler for a sequence in a step, and the front for one during the next step
    sequence: float
    stream: float
    # before and after the steps of a request
    request: float
    # sequences that a rank admits at once; 0 if not one fits
    most: int
    # whether a step is planned while the last one runs
    ahead: bool = False
    # the draft whose guesses a step judges; None for one token of a sequence
    guesses: Guesses | None = None

    @classmethod
    def from_facts(cls, facts: ServerFacts, factors: Mapping[Key, float] | None = None) -> Server:
        """Return the server of facts, with fitted constants or those of `factors`."""
        return cls.with_constants(facts, constants_of(facts, factors))

    @classmethod
    def with_constants(cls, facts: ServerFacts, c: Constants) -> Server:
        """Return the server of facts and constants."""
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
            host=c.step_seconds + facts.layers * c.layer_seconds + facts.launching,
            launches=facts.layers * c.launch_seconds,
            sequence=c.sequence_seconds,
            stream=c.stream_seconds * facts.ranks,
            request=c.request_seconds,
            most=admitted(facts),
            ahead=facts.generation == AHEAD,
        )

    def at_speed(self, by: float) -> Server:
        """Return the server with all its times divided by `by`."""
        guesses = self.guesses and self.guesses.with_draft(self.guesses.draft.at_speed(by))
        seconds = {name: getattr(self, name) / by for name in _SECONDS}
        return replace(self, **seconds, guesses=guesses)

    def with_prefix(self, shared: int) -> Server:
        """Return the server with `shared` tokens of every prompt already in its cache."""
        # The rest attends to them: to shared + (prompt - shared) / 2 tokens on average, while a
        # whole prompt attends to prompt / 2. The caches of sequences are counted whole.
        if not shared:
            return self
        longer = 1 + shared / self.prompt
        guesses = self.guesses and self.guesses.with_draft(self.guesses.draft.with_prefix(shared))
        return replace(
            self,
            prompt=self.prompt - shared,
            attention=self.attention * longer,
            guesses=guesses,
        )

    @property
    def width(self) -> int:
        """Tokens of a sequence in a step: the guessed ones and the next."""
        return 1 if self.guesses is None else self.guesses.guessed + 1

    @property
    def tokens(self) -> float:
        """Average tokens of a step for each sequence."""
        return 1.0 if self.guesses is None else self.guesses.tokens

    @property
    def steps(self) -> float:
        """Average steps of an answer, the one that reads the last of the prompt included."""
        return 1 + (self.answer - 1) / self.tokens

    def step(self, decodes: float, prompt_tokens: float = 0.0) -> float:
        """Return the seconds of a step with `decodes` sequences and `prompt_tokens` of prompts."""
        # The stages of a pipeline work on a part of the sequences each, side by side. Reading
        # weights and multiplying overlap in part: their seconds add up as the root of their
        # squares, which is 1.4 times the longer if both are equal (soft roofline; step times of
        # dense models around the ridge are between the maximum and the sum). A draft guesses after
        # that.
        seconds = self.passing(decodes, decodes * self.width, prompt_tokens)
        if self.guesses is not None:
            seconds += self.guesses.seconds(decodes, prompt_tokens)
        sending = self.stream * decodes
        return math.sqrt(seconds * seconds + sending * sending)

    def passing(self, sequences: float, judged: float, prompt_tokens: float) -> float:
        """Return the seconds of one pass over `judged` tokens of `sequences`, and of prompts."""
        # Each cache is read once for all tokens of its sequence, and a scheduler's time is for
        # sequences, as in `speed/speculation.py`. A step with prompts that is larger than the
        # engine's captured graphs is launched kernel by kernel while the GPU works: it takes the
        # longer of both.
        sequences, judged = sequences / self.stages, judged / self.stages
        tokens = judged + prompt_tokens
        reading, computing = self._reading(tokens), self.product * tokens
        seconds = (
            math.sqrt(reading * reading + computing * computing)
            + self.cache * sequences
            + self.latency
            + self.traffic * tokens
            + self.host
            + self.sequence * sequences
        )
        if not prompt_tokens:
            return seconds
        seconds += self.attention * prompt_tokens
        return seconds if tokens <= self.scheduler.graph_tokens else max(seconds, self.launches)

    def parts(self, decodes: float) -> StepParts:
        """Return the parts of a step without prompts."""
        # The overlap of reading and products is divided by their squares.
        own = self.passing_parts(decodes, decodes * self.width)
        return own if self.guesses is None else own + self.guesses.parts(decodes)

    def passing_parts(self, sequences: float, judged: float) -> StepParts:
        """Return the parts of one pass."""
        sequences, judged = sequences / self.stages, judged / self.stages
        reading, computing = self._reading(judged), self.product * judged
        both = math.sqrt(reading * reading + computing * computing)
        share = computing * computing / (both * both) if both else 0.0
        return StepParts(
            weights=both * (1 - share),
            arithmetic=both * share,
            cache=self.cache * sequences,
            links=self.latency + self.traffic * judged,
            host=self.host + self.sequence * sequences,
        )

    def _reading(self, tokens: float) -> float:
        # of E experts with k chosen by each of n tokens, E x (1 - (1 - k/E)^n) are expected;
        # data-parallel ranks share experts
        if not self.experts:
            return self.dense
        return self.dense + self.experts * float(1.0 - self.unused ** (tokens * self.ranks))


def admitted(facts: ServerFacts) -> int:
    """Return the sequences of one rank at once, within its pool and its scheduler's limit."""
    whole = facts.scheduler.holds == "whole"
    room = facts.room_whole if whole else facts.room
    most = facts.scheduler.max_sequences
    if room is None:
        return most
    if facts.room_whole is not None and facts.room_whole < 1:
        return 0
    return max(1, min(most, int(room)))


def local_server(known: ServerFacts, work: Work, gpu: Gpu) -> Server | None:
    """Return the server of a local engine (llama.cpp, exllama, MLX …), or None.

    `known` are its limits; None if its speed is unknown.
    """
    # No runs of these engines under load were found: their constants are those of one user's steps
    # and of one prompt (`speed/decode.py`, `prefill.py`).
    prompt, answer, facts = known.prompt, known.answer, work.facts
    cost, token = step_cost(work, gpu, 1), prompt_token_seconds(work, gpu)
    rate, bandwidth = flops_per_second(work, gpu), gpu.bandwidth_bytes_per_second
    if cost is None or token is None or rate is None or bandwidth is None:
        return None
    pace = pace_of(work, gpu)
    speed = bandwidth / gpu.devices_per_board * work.tensor * pace.efficiency
    filled = (prompt + answer / 2) / facts.context
    cache = facts.cache_bytes * cache_reads(work.kernels, gpu, facts.query_heads) * filled
    product = 2 * (facts.matrix_parameters + facts.head_parameters) / rate
    alone = exchange_seconds(gpu, work.tensor, facts.hidden, 0.0)
    traffic = exchange_seconds(gpu, work.tensor, facts.hidden, 1.0) - alone
    return Server(
        prompt=prompt,
        answer=answer,
        ranks=1,
        stages=1,
        scheduler=known.scheduler,
        dense=work.dense_bytes / speed,
        experts=work.expert_bytes / speed,
        unused=known.unused,
        cache=cache / CACHE_EFFICIENCY / speed,
        product=product,
        attention=max(0.0, token - product),
        traffic=facts.layers * traffic,
        latency=facts.layers * alone,
        host=cost.in_layers(pace) + _besides(work, gpu),
        launches=0.0,
        sequence=engine_limits(work.engine).seconds_per_sequence,
        stream=0.0,
        request=0.0,
        most=admitted(known),
    )


def _besides(work: Work, gpu: Gpu) -> float:
    # launches, unpacking and hops, which no constant of a class scales
    cost = step_cost(work, gpu, 1)
    exchanged = exchange_seconds(gpu, work.tensor, work.facts.hidden, 1.0)
    return 0.0 if cost is None else max(0.0, cost.fixed - work.facts.layers * exchanged)
