"""Many users: the total a server reaches with as many sequences as its cache holds."""

from __future__ import annotations

from gpusizer.gpus import Gpu
from gpusizer.speed.classes import SERVING
from gpusizer.speed.decode import step_seconds
from gpusizer.speed.prefill import prompt_token_seconds
from gpusizer.speed.tables import engine_limits
from gpusizer.speed.work import Work


def served_sequences(work: Work, held: float | None, asked: int | None) -> int:
    """Sequences served at once: what the cache holds, at most what the engine takes.

    `held` None: the cache does not grow, only the engine's limit counts. `asked` is the
    scheduler limit of the request.
    """
    limit = asked or max(engine_limits(work.engine).max_sequences, work.facts.users)
    return limit if held is None else min(limit, int(held))


def serving_tokens_per_second(work: Work, gpu: Gpu, sequences: int) -> float | None:
    """Answer tokens per second of all users together, prompts read in between.

    A user's turn takes its answer's steps, and every user waits while anyone's prompt is read:
    n x answer / (n x prompt x seconds per prompt token + answer x seconds per step). Caches hold
    the prompt and, on average, half of the answer. The stages of a pipeline read prompts side by
    side.
    """
    if sequences < 1:
        return None
    facts = work.facts
    filled = (facts.prompt + facts.answer / 2) / (facts.prompt + facts.answer)
    step = step_seconds(work, gpu, sequences, filled)
    prompt = prompt_token_seconds(work, gpu, sequences)
    if step is None or prompt is None:
        return None
    stages = min(work.pipeline, sequences) if work.family == SERVING else 1
    reading = sequences * facts.prompt * prompt / stages
    return sequences * facts.answer / (reading + facts.answer * step)
