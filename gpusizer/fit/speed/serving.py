"""Total speed of a server with as many sequences as its cache holds."""

from __future__ import annotations

from gpusizer.fit.speed.classes import SERVING
from gpusizer.fit.speed.decode import step_seconds
from gpusizer.fit.speed.prefill import prompt_token_seconds
from gpusizer.fit.speed.tables import engine_limits
from gpusizer.fit.speed.work import Work
from gpusizer.gpus import Gpu


def served_sequences(work: Work, held: float | None, limit_asked: int | None) -> int:
    """Sequences served at once: what the cache holds, at most what the engine takes.

    Each data-parallel rank has a limit and a cache of its own (docs.vllm.ai, "Data Parallel
    Deployment": max_num_seqs applies per rank). `held` are the sequences that all caches hold, None
    where caches do not grow. `limit_asked` is the scheduler limit of the request.
    """
    users = work.users_each(work.facts.users)
    limit = limit_asked or max(engine_limits(work.engine).max_sequences, users)
    return work.data * (limit if held is None else min(limit, int(held / work.data)))


def serving_tokens_per_second(work: Work, gpu: Gpu, sequences: int) -> float | None:
    """Answer tokens per second of all users together, prompts read in between.

    A user's turn takes its answer's steps, and every user waits while anyone's prompt is read:
    n x answer / (n x prompt x seconds per prompt token + answer x seconds per step). Caches hold
    the prompt and, on average, half of the answer. The stages of a pipeline read prompts side by
    side, and so do data-parallel ranks, of which the fullest counts: their steps are aligned.
    """
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
