"""Speeds of a fit whose tokens a second model guesses, beside those without."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import significant
from gpusizer.fit.fit import Fit
from gpusizer.fit.speed import Rate, Work, decode_bands
from gpusizer.fit.speed.decode import step_seconds
from gpusizer.fit.speed.rate import RateBand
from gpusizer.fit.speed.speculation import Speculation, expected_tokens
from gpusizer.model.profile import ModelProfile


@dataclass(frozen=True, slots=True)
class SpeculativeSpeeds:
    """What guessed tokens may bring.

    Attributes:
        guessed: tokens of a round.
        acceptance: the rate that the request assumes, None where it names none; then rates are
            None too.
        tokens_per_round: on average, at that rate.
        decode, per_user, total: tokens/s as in `Speeds`, at that rate. Bands are those of plain
            steps: the rate itself has none.
        speedup: `decode` over that without guesses.
        break_even: least acceptance at which one user gains; None where nobody ever does.
        break_even_shared: the same with the workload's users at once.
    """

    guessed: int
    acceptance: float | None
    tokens_per_round: float | None
    decode: Rate | None
    per_user: Rate | None
    total: Rate | None
    speedup: float | None
    break_even: float | None
    break_even_shared: float | None


def speculative_speeds(
    profile: ModelProfile, work: Work | None, fit: Fit
) -> SpeculativeSpeeds | None:
    """Speeds of a fit whose draft guesses, by the work of its estimate; None without one, or on a
    GPU of unknown speed."""
    if work is None:
        return None
    workload, gpu = work.facts.workload, fit.gpu
    guess = Speculation.of(profile, workload, fit.estimate, work)
    plain = None if guess is None else step_seconds(guess.model, gpu, 1)
    if guess is None or plain is None:
        return None
    users, acceptance = work.facts.users, workload.acceptance_rate
    alone, several = decode_bands(work, gpu)
    decode = _rate(guess, fit, 1, acceptance, alone)
    per_user = _rate(guess, fit, users, acceptance, several)
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


def _rate(
    guess: Speculation, fit: Fit, users: int, acceptance: float | None, by: RateBand
) -> Rate | None:
    if acceptance is None:
        return None
    seconds = guess.token_seconds(fit.gpu, users, acceptance)
    return None if seconds is None else Rate.banded(1 / seconds, by)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 3)
