"""Servers whose tokens a second model guesses, at a stated rate of acceptance."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.fit.serving.server import Server
from gpusizer.fit.speed.decode import step_seconds
from gpusizer.fit.speed.speculation import Speculation
from gpusizer.fit.speed.work import ModelFacts, Work
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

_DOUBLINGS = 11  # of one sequence, at which rounds are compared with plain steps


def with_guesses(
    server: Server,
    profile: ModelProfile,
    workload: Workload,
    estimate: MemoryEstimate,
    gpu: Gpu,
) -> Server | None:
    """The server with the rounds of its draft; itself without one or a rate of acceptance, None
    where the speed of rounds is unknown.

    The draft reads every prompt, too.
    """
    acceptance, facts = workload.acceptance_rate, ModelFacts.of(profile, workload, server.prompt)
    if acceptance is None or facts is None:
        return server
    work = Work.of(facts, estimate)
    guess = Speculation.of(profile, workload, estimate, work)
    if guess is None:
        return server
    filled = (server.prompt + server.answer / 2) / facts.context
    shares = []
    for users in (2**n for n in range(_DOUBLINGS)):
        plain = step_seconds(work, gpu, users, filled)
        guessed = guess.token_seconds(gpu, users, acceptance, filled)
        if plain is None or guessed is None:
            return None
        shares.append(guessed / plain)
    reading = guess.prompt_token_seconds(gpu)
    if reading is None:
        return None
    return replace(server, guessing=tuple(shares), attention=server.attention + reading)
