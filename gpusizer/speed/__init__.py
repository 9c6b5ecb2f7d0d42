"""Speed: tokens per second and seconds to the first token, each with a band."""

# A step of decoding takes bytes read / (efficiency x bandwidth) + layers x time per layer, and a
# prompt its FLOP over a share of the peak. The constants of each engine family, class of GPU and
# format come from published runs: `python -m bench.throughput` fits and checks them.

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.gpus import Gpu
from gpusizer.speed.classes import SERVING, board_of, decode_classes, prefill_classes
from gpusizer.speed.decode import backend_band, decoding_as_on, step_seconds
from gpusizer.speed.links import TENSOR_PARALLEL_BAND
from gpusizer.speed.prefill import prompt_token_seconds, prompts_as_on
from gpusizer.speed.rate import Rate, RateBand
from gpusizer.speed.tables import DECODE, PREFILL, Basis, band, engine_limits, has_own_band
from gpusizer.speed.tables import SERVING as TOTALS
from gpusizer.speed.work import ModelFacts, Work


@dataclass(frozen=True, slots=True)
class Speeds:
    """Speeds of one fit; None if the catalogue lacks the bandwidth or the peak."""

    # tokens/s of one user alone, at the workload's context
    decode: Rate | None
    # tokens/s of each and of all users of the workload at once
    per_user: Rate | None
    total: Rate | None
    # prompt tokens/s of one prompt
    prefill: Rate | None
    # seconds until the first token of one user's answer
    first_token: Rate | None
    # answer tokens/s of all users at `serving_users`, prompts read in between
    serving: Rate | None
    # sequences the caches hold at once, within the engine's limits
    serving_users: int
    # the workload's users; the tokens assumed in a sequence
    users: int
    prompt: int
    answer: int
    # measurements behind the constants, of this kind of engine on such GPUs; empty if constants of
    # other hardware are used instead
    decode_basis: Basis
    prefill_basis: Basis

    def at_least(self, output: float) -> Speeds:
        """Return speeds of users who together decode at least `output` tokens/s."""
        # With prompts read in between a server writes no more than without; if two fitted models
        # contradict this, the server's is based on runs of more users.
        if self.per_user is None or self.total is None or self.total.likely >= output:
            return self
        factor = output / self.total.likely
        return replace(self, per_user=self.per_user.times(factor), total=self.total.times(factor))


def tokens_per_second(work: Work, gpu: Gpu) -> float | None:
    """Return the likely decode speed per user in tokens/s; None if the bandwidth is unknown."""
    seconds = step_seconds(work, gpu, work.facts.users)
    return None if seconds is None else 1.0 / seconds


def speeds(work: Work, gpu: Gpu, sequences_held: float | None) -> Speeds:
    """Return every speed of a model with all layers on GPUs of this kind.

    `sequences_held` are the sequences that all caches hold at once, None if caches do not grow.
    """
    facts = work.facts
    users = served_sequences(work, sequences_held, facts.workload.max_num_seqs)
    decode_band, several = decode_bands(work, gpu)
    prefill_band, totals_band = _band(PREFILL, work, gpu), _band(TOTALS, work, gpu)
    single_step, shared_step = step_seconds(work, gpu, 1), step_seconds(work, gpu, facts.users)
    per_user = _rate(_inverse(shared_step), several)
    return Speeds(
        decode=_rate(_inverse(single_step), decode_band),
        per_user=per_user,
        total=None if per_user is None else per_user.times(facts.users),
        prefill=_rate(_inverse(prompt_token_seconds(work, gpu)), prefill_band),
        first_token=_first_token(work, gpu, single_step, prefill_band),
        serving=_rate(serving_tokens_per_second(work, gpu, users), totals_band),
        serving_users=users,
        users=facts.users,
        prompt=facts.prompt,
        answer=facts.answer,
        decode_basis=Basis.from_constants(decoding_as_on(work, gpu), decode_classes(gpu)),
        prefill_basis=Basis.from_constants(prompts_as_on(work, gpu), prefill_classes(gpu)),
    )


def served_sequences(work: Work, held: float | None, limit_asked: int | None) -> int:
    """Return the sequences served at once: those in the cache, within the engine's limits.

    If `held` is unset, caches do not grow; `limit_asked` is the request's scheduler limit.
    """
    # Each data-parallel rank has its own limit and cache (docs.vllm.ai, "Data Parallel Deployment":
    # max_num_seqs applies per rank).
    users = work.users_each(work.facts.users)
    limit = limit_asked or max(engine_limits(work.engine).max_sequences, users)
    return work.data * (limit if held is None else min(limit, int(held / work.data)))


def serving_tokens_per_second(work: Work, gpu: Gpu, sequences: int) -> float | None:
    """Return the answer tokens per second of all users, prompts read in between."""
    # A user's turn takes its answer's steps, and every user waits while any prompt is read:
    # n x answer / (n x prompt x seconds per prompt token + answer x seconds per step).
    # Caches hold the prompt and, on average, half of the answer. Stages of a pipeline read prompts
    # side by side, and so do data-parallel ranks; the fullest counts, because their steps are
    # aligned.
    if sequences < 1:
        return None
    facts = work.facts
    filled = (facts.prompt + facts.answer / 2) / (facts.prompt + facts.answer)
    step = step_seconds(work, gpu, sequences, filled)
    prompt = prompt_token_seconds(work, gpu, sequences)
    if step is None or prompt is None:
        return None
    each = work.users_each(sequences)
    stages = min(work.pipeline, each) if work.family == SERVING else 1
    reading = each * facts.prompt * prompt / stages
    return sequences * facts.answer / (reading + facts.answer * step)


def decode_bands(work: Work, gpu: Gpu) -> tuple[RateBand, RateBand]:
    """Return the bands of the speed of one user alone, and of the workload's users at once."""
    alone = _band(DECODE, work, gpu).widened(backend_band(work, gpu))
    return alone, alone if work.facts.users == 1 else _band(TOTALS, work, gpu)


def is_measured(work: Work, gpu: Gpu) -> bool:
    """Return whether the band of speed per user of the workload was measured on such GPUs."""
    quantity = DECODE if work.facts.users == 1 else TOTALS
    return has_own_band(quantity, work.family, decode_classes(gpu), board_of(gpu))


def serving_bands(work: Work, gpu: Gpu) -> tuple[RateBand, RateBand]:
    """Return the bands of the speed of many users' steps, and of reading prompts."""
    return _band(TOTALS, work, gpu), _band(PREFILL, work, gpu)


def _first_token(work: Work, gpu: Gpu, step: float | None, by: RateBand) -> Rate | None:
    # time to read the prompt and take one step; the ends of the speed's band swap
    token = prompt_token_seconds(work, gpu)
    if token is None or step is None:
        return None
    seconds = work.facts.prompt * token + step
    return Rate.banded(seconds, RateBand(1 / by.high, 1 / by.low))


def _band(quantity: str, work: Work, gpu: Gpu) -> RateBand:
    classes = prefill_classes(gpu) if quantity == PREFILL else decode_classes(gpu)
    measured = band(quantity, work.family, classes, board_of(gpu), moe=work.is_moe)
    return measured if work.tensor == 1 else measured.widened(TENSOR_PARALLEL_BAND)


def _rate(value: float | None, by: RateBand) -> Rate | None:
    return None if value is None else Rate.banded(value, by)


def _inverse(seconds: float | None) -> float | None:
    return None if seconds is None else 1.0 / seconds


__all__ = [
    "ModelFacts",
    "Rate",
    "Speeds",
    "Work",
    "decode_bands",
    "is_measured",
    "serving_bands",
    "speeds",
    "tokens_per_second",
]
