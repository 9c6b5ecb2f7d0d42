"""Speed of a way: of each user of the workload, of one user alone, of one prompt; its evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.fit.part_speed import part_decode_rate, part_prefill_rate
from gpusizer.fit.placement.device_shares import Arrangement, Load
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import keeps_part_in_memory, load_of
from gpusizer.fit.study import IdentityCache, ScopedCache, Study
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import kind_of, task_of
from gpusizer.model.tensor_roles import Part
from gpusizer.speed import (
    ModelFacts,
    Rate,
    Work,
    decode_bands,
    is_measured,
    serving_bands,
    tokens_per_second,
)
from gpusizer.speed.decode import step_seconds
from gpusizer.speed.prefill import flops_per_second, prompt_token_seconds

_SPEEDS: IdentityCache[RunConfig, float | None] = IdentityCache()
_WORKS: IdentityCache[MemoryEstimate, Work | None] = IdentityCache()
_FACTS: ScopedCache[None, ModelFacts | None] = ScopedCache()


def user_speed(study: Study, config: RunConfig) -> float | None:
    """Return the likely tokens/s of each user, None if unknown."""
    return _SPEEDS.get(study.workload_scope, config, lambda: _user_speed(study, config))


# Of one user alone if layers are on unlike devices.
def _user_speed(study: Study, config: RunConfig) -> float | None:
    if config.arranged is not None:
        rate = one_user_rate(study, config)
        return None if rate is None else rate.likely
    if not config.verdict.all_on_gpu or not config.machine.gpus:
        return None
    work = work_at(study, config.estimate)
    return None if work is None else tokens_per_second(work, config.gpu)


def work_at(study: Study, estimate: MemoryEstimate) -> Work | None:
    """Return the work of an estimate's step; cached.

    None if no text is generated or a part is in system memory.
    """
    return _WORKS.get(study.workload_scope, estimate, lambda: _work_at(study, estimate))


def _work_at(study: Study, estimate: MemoryEstimate) -> Work | None:
    profile, workload = study.profile, study.workload
    facts = _FACTS.get(
        study.workload_scope, None, lambda: ModelFacts.from_profile(profile, workload)
    )
    in_part = keeps_part_in_memory(profile, workload, estimate)
    return None if facts is None or in_part else Work.from_facts(facts, estimate)


# A model, and the placement of its layers.
Placed = tuple[Load, Arrangement]


def one_user_rate(study: Study, config: RunConfig) -> Rate | None:
    """Return tokens/s of one user alone; None if the model does not run or a speed is unknown."""
    if not config.verdict.runs:
        return None
    # On unlike devices or with a part in system memory the times of all parts are added.
    placed = placed_layers(study, config)
    if placed is not None:
        return part_decode_rate(*placed)
    if not config.verdict.all_on_gpu or not config.machine.gpus:
        return None
    work = work_at(study, config.estimate)
    step = None if work is None else step_seconds(work, config.gpu, 1)
    if work is None or step is None:
        return None
    return Rate.banded(1 / step, decode_bands(work, config.gpu)[0])


def one_prompt_rate(study: Study, config: RunConfig) -> Rate | None:
    """Return prompt tokens/s of one prompt alone; None also if the disk is read."""
    if not config.verdict.in_memory:
        return None
    placed = placed_layers(study, config)
    if placed is not None:
        return part_prefill_rate(*placed)
    if not config.verdict.all_on_gpu or not config.machine.gpus:
        return None
    work = work_at(study, config.estimate)
    token = None if work is None else prompt_token_seconds(work, config.gpu)
    if work is None or token is None:
        return None
    return Rate.banded(1 / token, serving_bands(work, config.gpu)[1])


def placed_layers(study: Study, config: RunConfig) -> Placed | None:
    """Return where llama.cpp places each layer; None if equal devices hold the whole model.

    None also for models without layers.
    """
    estimate, arch, workload = config.estimate, study.profile.architecture, study.workload
    in_part = keeps_part_in_memory(study.profile, workload, estimate)
    if arch is None or (config.arranged is None and not in_part):
        return None
    if config.arranged is not None and config.machine.is_uniform and config.verdict.all_on_gpu:
        return None
    load, machine = load_of(study, config.machine, estimate), config.machine
    if config.arranged is not None:
        return load, config.arranged.how
    layers = arch.layers + 1 if workload.gpu_layers is None else workload.gpu_layers
    held_back = arch.layers if workload.cpu_moe and arch.experts else 0
    equal = (1,) * max(1, len(machine.gpus))
    return load, Arrangement(equal, min(layers, arch.layers + 1), held_back)


# Least low end of a band, as a share of the likely speed, that counts as evidence.
NARROW_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class SpeedEvidence:
    """Evidence of a speed."""

    # the band of this kind of engine was measured on this class of card, not taken over from other
    # cards; runs of several sources support it
    measured: bool
    # even the low end of the band meets the requested speed, or none is requested
    surely_enough: bool
    low_share: float = 1.0  # low end as a share of the likely value

    @property
    def holds(self) -> bool:
        """Whether the speed was measured in a narrow band whose low end is enough."""
        return self.measured and self.surely_enough and self.is_narrow

    @property
    def is_narrow(self) -> bool:
        """Whether the low end of the band is near the likely value."""
        return self.low_share >= NARROW_SHARE


def speed_evidence(study: Study, config: RunConfig, speed: float | None) -> SpeedEvidence | None:
    """Return the evidence of a speed in tokens/s per user.

    None if no text is generated or layers are on unlike devices.
    """
    work = work_at(study, config.estimate) if config.arranged is None else None
    if work is None:
        return None
    asked = study.requirements.min_tok_s
    # An unknown speed has no evidence.
    if speed is None:
        return SpeedEvidence(measured=False, surely_enough=asked is None)
    if kind_of(study.profile) == "speech":  # its reader waits for no token
        return SpeedEvidence(is_measured(work, config.gpu), surely_enough=True)
    low = decode_bands(work, config.gpu)[1].low
    return SpeedEvidence(is_measured(work, config.gpu), asked is None or speed * low >= asked, low)


# Documents in a batch, which share a pass over the weights: `encode` of sentence-transformers and
# its CrossEncoder take 32 by default, vLLM as many as fit into its step.
_DOCUMENTS = 64
# Window of Whisper's encoder: CHUNK_LENGTH of openai/whisper, whisper/audio.py, and the positions
# that its second convolution leaves of 3,000 frames (`n_audio_ctx`).
WINDOW_SECONDS, _WINDOW_POSITIONS = 30, 1500
# Conversation in English (National Center for Voice and Speech, "Voice qualities").
_WORDS_PER_SECOND = 150 / 60
_TOKENS_PER_WORD = 4 / 3  # OpenAI, "What are tokens and how to count them?"


def read_rate(study: Study, config: RunConfig) -> Rate | None:
    """Return tokens/s that an embedding or reranking model reads.

    Documents have the length of the workload's context. None for other models or an unknown speed.
    """
    profile = study.profile
    if task_of(profile) != "embedding" or not _is_whole(config):
        return None
    facts = ModelFacts.reading(profile, study.workload)
    if facts is None:
        return None
    if kind_of(profile) == "encoder":  # every token attends to all others, not to half of them
        facts = replace(facts, attention_flops=2 * facts.attention_flops)
    # No run of such models supports it: embeddings are prompts whose answer is one step, at the
    # rate at which language models of the class read prompts.
    work = Work.from_facts(facts, config.estimate)
    seconds = prompt_token_seconds(work, config.gpu, _DOCUMENTS)
    return None if seconds is None else Rate.banded(1 / seconds, serving_bands(work, config.gpu)[1])


def heard_rate(study: Study, config: RunConfig) -> Rate | None:
    """Return seconds of sound transcribed per second in one stream; None for other models."""
    if kind_of(study.profile) != "speech" or not _is_whole(config):
        return None
    work, encoder = work_at(study, config.estimate), _encoder_parameters(study.profile)
    step = None if work is None else step_seconds(work, config.gpu, 1)
    rate = None if work is None else flops_per_second(work, config.gpu)
    if work is None or step is None or rate is None or not encoder:
        return None
    # No run of speech recognition supports it: a window of sound is read like a prompt, and its
    # words are written one after the other.
    reading = 2 * encoder * _WINDOW_POSITIONS / rate
    writing = WINDOW_SECONDS * _WORDS_PER_SECOND * _TOKENS_PER_WORD * step
    decode, prompts = decode_bands(work, config.gpu)[0], serving_bands(work, config.gpu)[1]
    ends = ((prompts.low, decode.low), (1.0, 1.0), (prompts.high, decode.high))
    low, likely, high = (WINDOW_SECONDS / (reading / p + writing / d) for p, d in ends)
    return Rate(low, likely, high).times(1)


def _is_whole(config: RunConfig) -> bool:
    return config.arranged is None and config.verdict.all_on_gpu and bool(config.machine.gpus)


def _encoder_parameters(profile: ModelProfile) -> int:
    heard = (Part.ENCODER, Part.AUDIO)
    return sum(group.parameters for group in profile.groups if group.part in heard)
