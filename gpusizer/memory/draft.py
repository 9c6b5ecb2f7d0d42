"""Memory of a draft model, on the GPUs of the model that it guesses for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.engines import Engine, Overhead, Placement, Split
from gpusizer.memory.engines.base import all_cache_bytes, cache_bytes
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.quants.table import Quant, find_quant
from gpusizer.memory.quants.variants import quant_read
from gpusizer.memory.weight_sizes import WeightSizes, weight_sizes
from gpusizer.model.profile import DraftModel, ModelProfile
from gpusizer.model.tensor_roles import Kind, Part

_ENDS = (Kind.EMBEDDING, Kind.OUTPUT)
_HALF_BYTES = 2  # of a number in 16 bits
_BUFFERS = 2  # hidden states and embeddings of a step's tokens


@dataclass(frozen=True, slots=True)
class DraftEstimate:
    """Memory that a draft adds to an estimate."""

    # quant, sizes: as the repository stores the weights; for llama.cpp a plain checkpoint converted
    # to 16 bits.
    quant: Quant
    sizes: WeightSizes
    native: bool  # the weights are the repository's own files
    # The workload and split of the draft: the same sequences, all on the GPUs.
    placement: Placement
    # per_gpu, all_gpus: memory of the fullest GPU, and the sum.
    per_gpu: Breakdown
    all_gpus: Breakdown

    @property
    def split(self) -> Split:
        """Division of the draft over the GPUs that hold it."""
        return self.placement.split


def draft_estimate(engine: Engine, model: Placement) -> DraftEstimate | None:
    """Return the memory of a model's draft; None if it has none or the engine runs none."""
    draft = model.profile.draft
    if draft is None or not engine.abilities.runs_draft(draft):
        return None
    placement = _beside(draft, engine, model)
    quant, native = _quant(draft, engine)
    profile, split = placement.profile, placement.split
    sizes = weight_sizes(profile, quant, native=native, workload=placement.workload)
    loaded = engine.loader(profile, placement.workload)(sizes, placement, native=native)
    copies = 0
    # Heads of the EAGLE kind share the model's embedding and output head where theirs are missing
    # or equal (`_maybe_share_embeddings`, `_maybe_share_lm_head`). Headers do not say whether they
    # are equal, so copies of one shape are the width of a band.
    if not _is_layered(engine):
        copies = _shared_bytes(model.profile, draft, sizes) // split.tensor
    cache, graphs = cache_bytes(engine, placement), _graphs(engine, placement)
    per_gpu = Breakdown(
        weights=_less(loaded.per_gpu, copies),
        kv_cache=exactly(cache, Provenance.DERIVED),
        activations=_activations(engine, placement),
        overhead=graphs.inside,
        outside=graphs.outside,
    )
    all_weights = _less(loaded.all_gpus, copies * split.gpus)
    all_cache = all_cache_bytes(engine, placement, cache)
    together = per_gpu.together(split.gpus, all_weights, all_cache)
    return DraftEstimate(quant, sizes, native, placement, per_gpu, together)


def _beside(draft: DraftModel, engine: Engine, model: Placement) -> Placement:
    # vLLM: draft layers join the paged cache and take the model's cache type
    # (`_create_draft_vllm_config`, v1/spec_decode/llm_base_proposer.py); SGLang's draft worker has
    # a pool of as many tokens. llama.cpp loads a second context with a cache of the same length, by
    # default in 16 bits (--spec-draft-type-k, -v), and a compute buffer of its own (issue 25408;
    # tools/server/README.md).
    workload = replace(
        model.workload,
        kv_dtype="auto" if _is_layered(engine) else model.workload.kv_dtype,
        draft_tokens=0,
        draft_model="",
        max_loras=0,
        text_only=True,
        gpu_layers=None,
        cpu_moe=False,
    )
    split = draft_split(draft, engine, model.split)
    return Placement(draft.profile, workload, split, model.device_class)


def _activations(engine: Engine, placement: Placement) -> Amount:
    # llama.cpp has a buffer for the draft. Elsewhere the proposer keeps two buffers of a step's
    # tokens x hidden in 16 bits (`hidden_states`, `inputs_embeds`); its temporary tensors mostly
    # fit where the model's were, so they are the high end.
    own, arch = engine.activations(placement), placement.arch
    if _is_layered(engine) or arch is None:
        return own
    tokens = engine.step_tokens(placement) or 0
    buffers = _BUFFERS * tokens * (arch.hidden_size or 0) * _HALF_BYTES
    return fitted(buffers, buffers, buffers + own.likely)


def _graphs(engine: Engine, placement: Placement) -> Overhead:
    # The proposer has graphs of its own.
    without = replace(placement, workload=replace(placement.workload, enforce_eager=True))
    whole, graphless = engine.overhead(placement), engine.overhead(without)
    return Overhead(
        inside=_difference(whole.inside, graphless.inside),
        outside=_difference(whole.outside, graphless.outside),
    )


def draft_split(draft: DraftModel, engine: Engine, split: Split) -> Split:
    """Return the division of a draft when an engine divides the model by `split`."""
    # vLLM: "draft_tensor_parallel_size" is 1 or the model's, by default the model's. Its pipeline
    # degree is 1, on the last stage (`create_draft_parallel_config`, vllm/config/speculative.py,
    # 0.30).
    if not _is_layered(engine):
        return Split(tensor=split.tensor, data=split.data)
    layers = draft.profile.architecture.layers if draft.profile.architecture else 1
    return Split(tensor=split.tensor, pipeline=min(split.pipeline, layers))


def _is_layered(engine: Engine) -> bool:
    return engine.split_by == "layer"


def _quant(draft: DraftModel, engine: Engine) -> tuple[Quant, bool]:
    if draft.profile.format == "gguf":
        return quant_read(draft.profile), True
    if _is_layered(engine):
        return find_quant("gguf-f16"), False
    return native_quant(draft.profile), True


def _shared_bytes(profile: ModelProfile, draft: DraftModel, sizes: WeightSizes) -> int:
    """Return bytes of an EAGLE or DFlash draft's embedding and head that may be copies."""
    if draft.method == "draft_model":
        return 0
    shapes = {(g.kind, g.shape) for g in profile.groups if g.part is Part.TEXT and g.kind in _ENDS}
    groups = zip(draft.profile.groups, sizes.by_group, strict=False)
    return sum(amount for g, amount in groups if (g.kind, g.shape) in shapes)


def _less(amount: Amount, doubtful_bytes: int) -> Amount:
    if not doubtful_bytes:
        return amount
    low = max(0, amount.low - doubtful_bytes)
    return Amount(low, amount.likely, amount.high, Provenance.DERIVED)


def _difference(whole: Amount, part: Amount) -> Amount:
    low, likely, high = (
        max(0, getattr(whole, name) - getattr(part, name)) for name in ("low", "likely", "high")
    )
    low, high = min(low, likely), max(likely, high)
    return Amount(low, likely, high, whole.provenance)
