"""Speeds of models that nobody reads a stream of tokens from, in the units people count them in:
tokens and documents that an embedding or reranking model takes in, sound that a recogniser hears.

No run of such models is behind them: embeddings are prompts whose answer is one step, at the rate
that language models of the class read prompts with; recognisers read a window of sound as prompts
are read and write its words one after the other.
"""

from __future__ import annotations

from dataclasses import replace

from gpusizer.fit.speed import ModelFacts, Rate, Work, decode_bands, serving_bands
from gpusizer.fit.speed.decode import step_seconds
from gpusizer.fit.speed.prefill import flops_per_second, prompt_token_seconds
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import work_at
from gpusizer.fit.way import Way
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import kind_of, task_of
from gpusizer.model.tensor_roles import Part

_DOCUMENTS = 64
"""Documents in a batch, which share a pass over the weights: `encode` of sentence-transformers and
its CrossEncoder take 32 unless told otherwise, vLLM as many as its step has room for."""
WINDOW_SECONDS, _WINDOW_POSITIONS = 30, 1500
"""What Whisper's encoder reads at once: CHUNK_LENGTH of openai/whisper, whisper/audio.py, and the
positions that its second convolution leaves of 3,000 frames (`n_audio_ctx`)."""
_WORDS_PER_SECOND = 150 / 60
"""Of conversation in English (National Center for Voice and Speech, "Voice qualities")."""
_TOKENS_PER_WORD = 4 / 3  # OpenAI, "What are tokens and how to count them?"


def read_rate(study: Study, way: Way) -> Rate | None:
    """Tokens/s that an embedding or reranking model reads, in documents of the workload's context;
    None for other models, and where its speed is not known."""
    profile = study.profile
    if task_of(profile) != "embedding" or not _is_whole(way):
        return None
    facts = ModelFacts.reading(profile, study.workload)
    if facts is None:
        return None
    if kind_of(profile) == "encoder":  # every token attends to all others, not to half of them
        facts = replace(facts, attention_flops=2 * facts.attention_flops)
    work = Work.of(facts, way.estimate)
    seconds = prompt_token_seconds(work, way.gpu, _DOCUMENTS)
    return None if seconds is None else Rate.banded(1 / seconds, serving_bands(work, way.gpu)[1])


def heard_rate(study: Study, way: Way) -> Rate | None:
    """Seconds of sound a second that one stream is transcribed at; None for other models."""
    if kind_of(study.profile) != "speech" or not _is_whole(way):
        return None
    work, encoder = work_at(study, way.estimate), _encoder_parameters(study.profile)
    step = None if work is None else step_seconds(work, way.gpu, 1)
    rate = None if work is None else flops_per_second(work, way.gpu)
    if work is None or step is None or rate is None or not encoder:
        return None
    reading = 2 * encoder * _WINDOW_POSITIONS / rate
    writing = WINDOW_SECONDS * _WORDS_PER_SECOND * _TOKENS_PER_WORD * step
    decode, prompts = decode_bands(work, way.gpu)[0], serving_bands(work, way.gpu)[1]
    ends = ((prompts.low, decode.low), (1.0, 1.0), (prompts.high, decode.high))
    low, likely, high = (WINDOW_SECONDS / (reading / p + writing / d) for p, d in ends)
    return Rate(low, likely, high).times(1)


def _is_whole(way: Way) -> bool:
    """Whether all of the model is on devices of one kind."""
    return way.arranged is None and way.verdict.all_on_gpu and bool(way.machine.gpus)


def _encoder_parameters(profile: ModelProfile) -> int:
    heard = (Part.ENCODER, Part.AUDIO)
    return sum(group.parameters for group in profile.groups if group.part in heard)
