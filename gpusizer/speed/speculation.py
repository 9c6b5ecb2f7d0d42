"""Speed with tokens guessed by a draft, at a given rate of acceptance."""

# A round guesses k tokens and lets the model judge them in one step. With acceptance a, equal for
# every token, a round gives (1 - a^(k+1)) / (1 - a) tokens on average (Leviathan et al., arXiv
# 2211.17192, equation 1). It takes the draft's k steps one after the other, or one pass for a draft
# that guesses a block at once, and a step of the model over k + 1 tokens of each sequence: weights
# and caches are read once, products are made for every token, and a mixture reads the experts of
# all of them. Each draft step reads the model's output head if the draft has none of its own
# (`_maybe_share_lm_head`, vllm/v1/spec_decode/llm_base_proposer.py).

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.units import significant
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import DraftModel, ModelProfile
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.speed import Rate, decode_bands
from gpusizer.speed.classes import format_of
from gpusizer.speed.decode import in_step, pace_of, step_cost, step_seconds
from gpusizer.speed.own_draft import OwnDraft
from gpusizer.speed.prefill import prompt_token_seconds
from gpusizer.speed.rate import RateBand
from gpusizer.speed.tables import engine_limits
from gpusizer.speed.work import ModelFacts, Work

_HEAD_BYTES = 2  # of a parameter of the output head, which most quantizations leave in 16 bits
_HALVINGS = 30


def expected_tokens(acceptance: float, guessed: int) -> float:
    """Return the average tokens of a round, the model's own included.

    >>> expected_tokens(0.0, 4), expected_tokens(0.5, 2), expected_tokens(1.0, 4)
    (1.0, 1.75, 5.0)
    """
    return sum(acceptance**place for place in range(guessed + 1))


@dataclass(frozen=True, slots=True)
class Speculation:
    """A model and the draft that guesses for it, as the work of a step of each."""

    model: Work
    draft: Work
    guessed: int  # tokens of a round
    at_once: bool  # one pass of the draft guesses all of them
    architecture: Architecture  # `architecture`, `kv_dtype`: of the draft and its cache
    kv_dtype: str

    @classmethod
    def from_estimate(
        cls, profile: ModelProfile, workload: Workload, estimate: MemoryEstimate, model: Work
    ) -> Speculation | None:
        """Return a model and its draft, or None if the engine runs no draft that writes text."""
        # a second model, or layers of the model's own
        draft, memory = profile.draft, estimate.draft
        if workload.own_draft_tokens:
            return cls._of_own(profile, workload, estimate, model)
        if draft is None or memory is None or not workload.draft_tokens:
            return None
        facts = ModelFacts.from_profile(draft.profile, workload, model.facts.prompt)
        arch = draft.profile.architecture
        if facts is None or arch is None:
            return None
        head = 0 if _has_head(draft) else model.facts.head_parameters
        if head:
            facts = replace(facts, head_parameters=head)
        work = replace(
            model,
            facts=facts,
            format=format_of(memory.quant),
            quant=memory.quant.slug,
            dense_bytes=memory.sizes.decoding + head * _HEAD_BYTES,
            expert_bytes=memory.sizes.decoding_experts,
            bits=memory.quant.bits,
            tensor=memory.split.tensor,
            pipeline=memory.split.pipeline,
            data=memory.split.data,
        )
        kv_dtype = memory.placement.workload.kv_dtype
        at_once, guessed = draft.guesses_at_once, workload.draft_tokens
        return cls(model, work, guessed, at_once, arch, kv_dtype)

    @classmethod
    def _of_own(
        cls, profile: ModelProfile, workload: Workload, estimate: MemoryEstimate, model: Work
    ) -> Speculation | None:
        own = OwnDraft.from_estimate(profile, estimate)
        if own is None:
            return None
        work = own.work(model, model.facts.head_parameters * _HEAD_BYTES)
        guessed, kv_dtype = workload.own_draft_tokens, estimate.kv_dtype
        return cls(model, work, guessed, False, own.architecture, kv_dtype)

    def round_seconds(self, gpu: Gpu, sequences: float, filled: float = 1.0) -> float | None:
        """Return the seconds of a round of all sequences; None if the GPU's speed is unknown."""
        judging = pass_seconds(self.model, gpu, sequences, self.guessed + 1, filled)
        if self.at_once:
            guessing = pass_seconds(self.draft, gpu, sequences, self.guessed + 1, filled)
        else:
            step = step_seconds(self.draft, gpu, sequences, filled)
            guessing = None if step is None else self.guessed * step
        return None if judging is None or guessing is None else judging + guessing

    def token_seconds(
        self, gpu: Gpu, sequences: float, acceptance: float, filled: float = 1.0
    ) -> float | None:
        """Return the average seconds in which each of the sequences gets a token."""
        seconds = self.round_seconds(gpu, sequences, filled)
        return None if seconds is None else seconds / expected_tokens(acceptance, self.guessed)

    def prompt_token_seconds(self, gpu: Gpu) -> float | None:
        """Return the draft's prefill time per prompt token in seconds, on top of the model's."""
        return prompt_token_seconds(self.draft, gpu)

    def break_even(self, gpu: Gpu, sequences: float) -> float | None:
        """Return the least acceptance at which rounds match plain steps, or None if none does."""
        seconds, plain = (
            self.round_seconds(gpu, sequences),
            step_seconds(self.model, gpu, sequences),
        )
        if seconds is None or plain is None or seconds > plain * (self.guessed + 1):
            return None
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if expected_tokens(middle, self.guessed) * plain < seconds:
                low = middle
            else:
                high = middle
        return high


def pass_seconds(
    work: Work, gpu: Gpu, sequences: float, tokens: int, filled: float = 1.0
) -> float | None:
    """Return the seconds of a step over `tokens` tokens of each sequence."""
    # as many sequences as tokens, but each cache is read once, and a scheduler's time is for
    # sequences
    cache_bytes = -(-work.facts.cache_bytes // tokens)
    shared = replace(work, facts=replace(work.facts, cache_bytes=cache_bytes))
    cost = step_cost(shared, gpu, sequences * tokens, filled)
    if cost is None:
        return None
    more = in_step(work, sequences * tokens) - in_step(work, sequences)
    scheduling = more * engine_limits(work.engine).seconds_per_sequence
    return cost._replace(fixed=cost.fixed - scheduling).seconds(pace_of(work, gpu))


def _has_head(draft: DraftModel) -> bool:
    # the files hold an output head, or a tied embedding in its place
    arch, groups = draft.profile.architecture, draft.profile.groups
    text = [group.kind for group in groups if group.part is Part.TEXT]
    tied = arch is not None and arch.tied_embeddings and Kind.EMBEDDING in text
    return Kind.OUTPUT in text or tied


@dataclass(frozen=True, slots=True)
class SpeculativeSpeeds:
    """Speeds with guessed tokens."""

    provenance: ClassVar[Provenance] = Provenance.FITTED

    guessed: int  # tokens of a round
    acceptance: float | None  # the rate that the request assumes; without one, rates are None too
    tokens_per_round: float | None  # on average, at that rate
    # `decode`, `per_user`, `total`: tokens/s as in `Speeds`, at that rate. Bands are those of plain
    # steps: the rate itself has none.
    decode: Rate | None
    per_user: Rate | None
    total: Rate | None
    speedup: float | None  # `decode` over that without guesses
    break_even: float | None  # least acceptance at which one user gains; None if no rate suffices
    break_even_shared: float | None  # least acceptance with the workload's users at once


def speculative_speeds(
    profile: ModelProfile, work: Work, gpu: Gpu, estimate: MemoryEstimate
) -> SpeculativeSpeeds | None:
    """Return the speeds with a draft that guesses, None without one or if the GPU's are unknown."""
    workload = work.facts.workload
    guess = Speculation.from_estimate(profile, workload, estimate, work)
    plain = None if guess is None else step_seconds(guess.model, gpu, 1)
    if guess is None or plain is None:
        return None
    users, acceptance = work.facts.users, workload.acceptance_rate
    alone, several = decode_bands(work, gpu)
    decode = _guessed_rate(guess, gpu, 1, acceptance, alone)
    per_user = _guessed_rate(guess, gpu, users, acceptance, several)
    return SpeculativeSpeeds(
        guessed=guess.guessed,
        acceptance=acceptance,
        tokens_per_round=None
        if acceptance is None
        else significant(expected_tokens(acceptance, guess.guessed)),
        decode=decode,
        per_user=per_user,
        total=None if per_user is None else per_user.times(users),
        speedup=None if decode is None else significant(decode.likely * plain),
        break_even=_rounded(guess.break_even(gpu, 1)),
        break_even_shared=_rounded(guess.break_even(gpu, users)),
    )


def _guessed_rate(
    guess: Speculation, gpu: Gpu, users: int, acceptance: float | None, by: RateBand
) -> Rate | None:
    if acceptance is None:
        return None
    seconds = guess.token_seconds(gpu, users, acceptance)
    return None if seconds is None else Rate.banded(1 / seconds, by)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 3)
