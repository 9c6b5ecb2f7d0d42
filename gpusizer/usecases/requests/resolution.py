"""Resolves a workload within the limits of model and engine, and reads a draft model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gpusizer.core.errors import InvalidModelId, InvalidRequest, ModelUnreadable
from gpusizer.core.loose_values import Arguments
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.compatibility import Support
from gpusizer.fit.division import asked_split, resolve_experts
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.hub.model_ref import ParseRef, parse_model_ref
from gpusizer.hub.snapshot import Fetch
from gpusizer.memory.engines import ENGINES, Engine, abilities_of, find_engine
from gpusizer.memory.engines.abilities import Abilities
from gpusizer.memory.engines.llama_layers import DEFAULT_UBATCH
from gpusizer.memory.engines.pipeline_steps import canvas_of
from gpusizer.memory.kv_cache import key_and_value_bytes
from gpusizer.memory.workload import DEFAULT_CONTEXT, Workload
from gpusizer.model.architecture.rotary import scaled_positions
from gpusizer.model.draft import guesses_itself, with_draft
from gpusizer.model.profile import DraftModel, ModelProfile
from gpusizer.model.tasks import kind_of, task_of
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.selection import refuse_tag


def _options_of(runs: Callable[[Abilities], bool]) -> Arguments:
    # With their defaults.
    able = (engine.abilities for engine in ENGINES.values() if runs(engine.abilities))
    return {name: getattr(Workload(), name) for abilities in able for name in abilities.options}


_OF_PIPELINES = _options_of(lambda able: "pipeline" in able.kinds)
_OF_CHECKPOINTS = _options_of(
    lambda able: able.reads == "checkpoint" and "pipeline" not in able.kinds
)
_OPTIONS = _OF_CHECKPOINTS | _options_of(lambda able: able.reads == "gguf")
_OF_GGUF = _OPTIONS.keys() - _OF_CHECKPOINTS.keys()
_VERSION = re.compile(r".*\d", re.S)  # "0.8.5 V0", "v0.11.0", "V1", "b4905", "vLLM 0.6.3"
_WHOLE_BYTES = (1, 2, 4)  # cache types without blocks and scales


def resolve_workload(
    workload: Workload, profile: ModelProfile
) -> tuple[Workload, tuple[Note, ...]]:
    """Return the sized workload, and notes on its differences from the requested one.

    Raises UnknownEngine, and InvalidRequest for a context that the engine refuses, and for degrees
    of parallelism that together take more GPUs than a request may name.
    """
    if workload.engine is not None:
        engine = find_engine(workload.engine)
        _refuse_impossible(engine, workload, profile)
        workload = replace(workload, engine=engine.slug)
    workload, draft_notes = resolve_draft(workload, profile)
    workload, expert_notes = resolve_experts(workload, profile)
    _refuse_too_many(workload)
    notes = [*draft_notes, *expert_notes]
    if workload.engine is not None:
        notes += Support.between(find_engine(workload.engine), profile, workload).refused
    workload, about_prefixes = _kept_prefixes(workload)
    notes += about_prefixes
    pictures = _useless_for(profile, workload)
    if pictures:
        notes.append(Note("only_for_pipelines", facts=", ".join(pictures)))
    unheard = _unsupported_options(workload)
    if unheard:
        notes.append(Note("not_modelled", facts=", ".join(unheard)))
    if workload.backend == "cpu":
        workload = replace(workload, gpu_layers=0)
    ignored = {name: _OPTIONS[name] for name in unheard if name in _OF_CHECKPOINTS}
    workload = _on_canvas(replace(workload, **ignored, **pictures), profile)
    if workload.engine is not None:
        notes += find_engine(workload.engine).notes(profile, workload)
    values = key_and_value_bytes(workload.kv_dtype)[1]
    if values not in _WHOLE_BYTES and not workload.flash_attention:
        notes.append(Note("quantized_values_need_flash_attention"))
    workload, about_pictures = _with_pictures(workload, profile)
    workload, about_context = _within(workload, profile)
    if kind_of(profile) == "encoder" or profile.pipeline_tag == "text-ranking":
        workload = replace(workload, **whole_batches(workload))
    return workload, (*notes, *about_pictures, *about_context)


def whole_batches(workload: Workload) -> Arguments:
    """Return the batches with which llama-server computes an input at once, unless stated.

    It needs them if tokens attend to all others, or an input is scored: one that is longer than
    the physical batch is refused (`can_split` of tools/server/server-context.cpp).
    """
    is_stated = workload.batch_size or workload.ubatch_size
    if is_stated or workload.context <= DEFAULT_UBATCH:
        return {}
    return {"batch_size": workload.context, "ubatch_size": workload.context}


def _with_pictures(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    # The tokens of pictures are added, with notes on them. Raises InvalidRequest for pictures that
    # fill the model's context.
    if not workload.images:
        return workload, ()
    width, height, rule = workload.image_width, workload.image_height, profile.picture_rule
    if rule is None or workload.text_only:
        return replace(workload, images=0), (_why_left_out(workload, profile),)
    each = rule.tokens(width, height)
    tokens, longest = each * workload.images, _longest(workload, profile)
    if longest is not None and tokens >= longest:
        raise InvalidRequest(
            field="images", value=workload.images, reason="beyond_the_context", longest=longest
        )
    about = Note(
        "pictures_counted", count=workload.images, width=width, height=height, tokens=tokens
    )
    text = workload.context
    if longest is not None and text == DEFAULT_CONTEXT:
        text = min(text, longest - tokens)
    return replace(workload, context=text + tokens, image_tokens=tokens), (about,)


def _why_left_out(workload: Workload, profile: ModelProfile) -> Note:
    if workload.text_only or task_of(profile) != "vision":
        return Note("pictures_not_read")
    attended = profile.attended_picture_bytes
    if attended is None:
        return Note("pictures_unknown")
    return Note("pictures_attended", picture_bytes=attended)


def _kept_prefixes(workload: Workload) -> tuple[Workload, tuple[Note, ...]]:
    # Memory for prefixes is dropped for engines and releases that keep none; a note says its use.
    if not workload.kv_offload_gb:
        return workload, ()
    engine = workload.engine and find_engine(workload.engine)
    if engine and engine.keeps_prefixes(workload):
        return workload, (Note("prefixes_kept", engine=engine.name),)
    if engine and engine.abilities.prefix_memory:
        version = workload.engine_version or engine.version
        left_out = Note("prefixes_need_a_release", engine=engine.name, version=version)
    else:
        able = (engine.slug for engine in ENGINES.values() if engine.abilities.prefix_memory)
        left_out = Note("prefixes_need_an_engine", engines=", ".join(able))
    return replace(workload, kv_offload_gb=0.0), (left_out,)


def _refuse_too_many(workload: Workload) -> None:
    split = asked_split(workload)
    if split is not None and split.gpus > MAX_COUNT:
        field = "pipeline_parallel" if split.pipeline > 1 else "tensor_parallel"
        raise InvalidRequest(field=field, value=getattr(workload, field), reason="cannot_be_split")


def _refuse_impossible(engine: Engine, workload: Workload, profile: ModelProfile) -> None:
    support = Support.between(engine, profile, workload)
    if not support.kind:
        raise InvalidRequest(field="engine", value=engine.slug, reason="not_its_models")
    if not support.cache:
        raise InvalidRequest(
            field="kv_dtype",
            value=workload.kv_dtype,
            reason="lacks_cache",
            engine=engine.name,
            choices=", ".join(("bf16", *engine.abilities.cache_types)),
        )
    version = workload.engine_version
    hears = "engine_version" in engine.abilities.options
    if version is not None and hears and not _VERSION.match(version):
        raise InvalidRequest(
            field="engine_version",
            value=version[:40],
            reason="no_such_version",
            engine=engine.name,
            example=engine.version,
        )


def _within(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    # A default that the request does not name is cut everywhere; a requested context only if the
    # engine does not allocate it.
    asked, longest = workload.context, _longest(workload, profile)
    if longest is None or asked <= longest:
        return workload, ()
    cut = replace(workload, context=longest)
    if asked == DEFAULT_CONTEXT:
        return cut, ()
    beyond = abilities_of(workload.engine).beyond_context
    if beyond == "allocates":
        return workload, (Note("context_beyond_model", asked=asked, longest=longest),)
    if beyond == "refuses" and workload.engine is not None:
        name = find_engine(workload.engine).name
        raise InvalidRequest(
            field="context", value=asked, reason="beyond_the_model", engine=name, longest=longest
        )
    return cut, (Note("context_shortened", asked=asked, longest=longest),)


def _longest(workload: Workload, profile: ModelProfile) -> int | None:
    # The configuration's scaling counts if the engine applies it.
    longest, arch = profile.max_context, profile.architecture
    if longest is None or arch is None or not abilities_of(workload.engine).stretches_context:
        return longest
    return max((longest, *(scaled_positions(rotary) for rotary in arch.rotary)))


def _unsupported_options(workload: Workload) -> list[str]:
    # Options without an effect on the engine's estimate. Without a named engine only those that no
    # engine of checkpoints has.
    heard = set(abilities_of(workload.engine).options if workload.engine else _OF_GGUF)
    if workload.draft_model:
        heard.add("draft_tokens")
    values = {name: getattr(workload, name) for name in _OPTIONS if name not in heard}
    return [n for n, value in values.items() if value is not False and value != _OPTIONS[n]]


def _useless_for(profile: ModelProfile, workload: Workload) -> Arguments:
    # Pipeline fields that were set but that this model lacks, with their defaults.
    pipeline = profile.pipeline
    supported = {*_OF_PIPELINES} if pipeline else set()
    if pipeline and not (
        pipeline.frames > 1 or (pipeline.decoder and pipeline.decoder.temporal_scale > 1)
    ):
        supported.discard("frames")
    return {
        name: default
        for name, default in _OF_PIPELINES.items()
        if name not in supported and getattr(workload, name) != default
    }


def _on_canvas(workload: Workload, profile: ModelProfile) -> Workload:
    # The pipeline's own size if the request names none.
    if profile.pipeline is None:
        return workload
    canvas = canvas_of(profile.pipeline, workload)
    return replace(workload, width=canvas.width, height=canvas.height, frames=canvas.frames)


_MOST_NAME_CHARS = 120

# Tokens guessed ahead by default: llama.cpp's --spec-draft-n-max (tools/server/README.md).
USUAL_TOKENS = 3


def read_draft(
    request: SizeRequest,
    profile: ModelProfile,
    fetch: Fetch,
    parse: ParseRef,
    budget: TimeBudget,
) -> ModelProfile:
    """Return the profile with the request's draft model, read with the same rights and limits.

    Raises ModelUnreadable about the second repository.
    """
    if not request.draft_model:
        return profile
    ref = replace(parse(request.draft_model), reads_card=False)
    with budget.paused():
        snapshot = fetch(ref)
    drafted = with_draft(profile, snapshot)
    if drafted.draft is not None:
        refuse_tag(ref, drafted.draft.profile)
    return drafted


def as_authors_draft(
    request: SizeRequest, profile: ModelProfile, fetch: Fetch, budget: TimeBudget
) -> tuple[SizeRequest, ModelProfile, tuple[Note, ...]]:
    """Return the author's request, and the profile with the draft model of the author's command.

    A draft model that cannot be read, such as a folder of the author's machine, is left out with a
    note: the visitor did not name it. A card names repositories of the Hub alone, never a folder of
    the machine that reads it.
    """
    if request.draft_model == (profile.draft.profile.repo_id if profile.draft else ""):
        return request, profile, ()
    try:
        return request, read_draft(request, profile, fetch, parse_model_ref, budget), ()
    except (ModelUnreadable, InvalidModelId):
        left_out = Note("card_draft_left_out", draft=request.draft_model[:_MOST_NAME_CHARS])
        alone = request.model_copy(update={"draft_model": ""})
        return alone, replace(profile, draft=None), (left_out,)


def resolve_draft(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    """Return the workload with the number of guessed tokens, and notes on the draft."""
    draft = profile.draft
    if draft is None:
        if workload.draft_tokens and guesses_itself(profile):
            return replace(workload, draft_model=""), tuple(_without_a_rate(workload))
        alone = replace(workload, draft_model="", acceptance_rate=None)
        useless = workload.acceptance_rate is not None
        return alone, (Note("acceptance_needs_a_draft"),) if useless else ()
    able = [engine for engine in ENGINES.values() if engine.abilities.runs_draft(draft)]
    names = ", ".join(engine.name for engine in able)
    if workload.engine is not None:
        asked = find_engine(workload.engine)
        if asked not in able:
            without = replace(workload, draft_tokens=0, acceptance_rate=None)
            return without, (Note("draft_not_run", engine=asked.name, engines=names),)
        able = [asked]
    run_by = () if workload.engine else (Note("draft_run_by", engines=names),)
    notes = (*run_by, *_notes(profile, draft, able), *_without_a_rate(workload))
    if workload.draft_tokens:
        return workload, notes
    tokens = draft.block_tokens - 1 if draft.block_tokens else USUAL_TOKENS
    assumed = Note("draft_tokens_assumed", tokens=tokens)
    return replace(workload, draft_tokens=tokens), (*notes, assumed)


def _without_a_rate(workload: Workload) -> Iterator[Note]:
    # Speeds ignore speculation if `acceptance_rate` is unset.
    if workload.acceptance_rate is None:
        yield Note("acceptance_not_stated")


def _notes(profile: ModelProfile, draft: DraftModel, able: Iterable[Engine]) -> Iterator[Note]:
    if draft.profile.format != "gguf" and any(e.abilities.reads == "gguf" for e in able):
        yield Note("draft_converted")
    own, other = profile.architecture, draft.profile.architecture
    if other is None or not other.generates:
        yield Note("draft_not_a_language_model", repo_id=draft.profile.repo_id)
        return
    sizes = (own.vocab_size or 0 if own else 0, other.vocab_size or 0)
    if all(sizes) and sizes[0] != sizes[1]:
        yield Note("draft_vocabulary_differs", own=sizes[0], other=sizes[1])
