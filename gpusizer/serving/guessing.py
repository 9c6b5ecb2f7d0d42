"""The draft of a server: its additions to steps and its share of caches."""

# Rounds are those of `speed/speculation.py`, at the constants of servers: the model judges guessed
# + 1 tokens of each sequence, whose products are made and whose experts are read, while weights and
# each cache are read once; the draft's passes follow. With more sequences, judging is bound by
# arithmetic sooner than plain steps are, so the gain falls, and ends.

from __future__ import annotations

from dataclasses import replace

from gpusizer.gpus import Gpu
from gpusizer.serving.constants import constants_of
from gpusizer.serving.facts import ServerFacts
from gpusizer.serving.server import Guesses, Server, admitted, local_server
from gpusizer.speed.classes import SERVING
from gpusizer.speed.speculation import Speculation, expected_tokens


def with_draft(
    server: Server,
    facts: ServerFacts,
    guess: Speculation,
    acceptance: float,
    gpu: Gpu,
    pool_bytes: int,
) -> Server | None:
    """Return the server with its draft and shared pool; None if the draft's speed is unknown."""
    work, arch, scheduler = guess.draft, guess.architecture, facts.scheduler
    own = ServerFacts.of_work(work, arch, guess.kv_dtype, scheduler, gpu, pool_bytes, facts.answer)
    draft = None if own is None else _draft(own, guess, gpu)
    if own is None or draft is None:
        return None
    both = replace(
        facts,
        room=_together(facts.room, own.room),
        room_whole=_together(facts.room_whole, own.room_whole),
    )
    tokens = expected_tokens(acceptance, guess.guessed)
    guesses = Guesses(draft, guess.guessed, tokens, guess.at_once)
    return replace(server, most=admitted(both), guesses=guesses)


def _draft(facts: ServerFacts, guess: Speculation, gpu: Gpu) -> Server | None:
    # An engine for servers makes the draft's passes within its own step: the host's time for a step
    # and its sequences is already counted.
    if guess.draft.family != SERVING:
        return local_server(facts, guess.draft, gpu)
    return Server.with_constants(
        facts,
        replace(
            constants_of(facts),
            step_seconds=0.0,
            sequence_seconds=0.0,
            stream_seconds=0.0,
            request_seconds=0.0,
        ),
    )


def _together(one: float | None, other: float | None) -> float | None:
    """Return the sequences that fit a pool with both caches, given those with each alone.

    >>> _together(6.0, 3.0), _together(6.0, None)
    (2.0, 6.0)
    """
    if one is None or other is None:
        return one if other is None else other
    return one * other / (one + other) if one + other else 0.0
