"""Memory of a second model that guesses tokens, on the GPUs of the model it guesses for.

vLLM divides it as it divides the model ("draft_tensor_parallel_size" is 1 or the model's, by
default the model's) but for stages: its pipeline degree is 1, on the last stage
(`create_draft_parallel_config`, vllm/config/speculative.py, 0.30). Its layers join the paged cache
and take the model's cache type (`_create_draft_vllm_config`, v1/spec_decode/llm_base_proposer.py).
Heads of the EAGLE kind share the embedding and the output head of the model where theirs are
missing or the same (`_maybe_share_embeddings`, `_maybe_share_lm_head`); whether they are the same
is not in the headers of files, so that copies of one shape are the width of a band. The proposer
keeps two buffers of a step's tokens x hidden in 16 bits (`hidden_states`, `inputs_embeds`) and
graphs of its own. SGLang's draft worker does likewise with a pool of as many tokens.

llama.cpp loads it as a second context, with a cache of the same length, by default in 16 bits
(--spec-draft-type-k, -v), and a compute buffer of its own (issue 25408; tools/server/README.md).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.engines.base import Overhead
from gpusizer.memory.kv_cache import NO_LIMIT
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.quants.table import Quant, find_quant
from gpusizer.memory.quants.variants import quant_read
from gpusizer.memory.weight_sizes import WeightSizes, weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import DraftModel, ModelProfile
from gpusizer.model.tensor_roles import Kind, Part

DRAFT_ENGINES = ("vllm", "sglang", "llama.cpp")
"""Engines that run a second model of a repository of its own, as far as modelled."""
_LLAMA_CPP = "llama.cpp"
_LLAMA_CPP_METHODS = ("draft_model", "eagle3", "dflash")
"""Of --spec-type (tools/server/README.md), which has no first EAGLE."""

_ENDS = (Kind.EMBEDDING, Kind.OUTPUT)
_HALF_BYTES = 2  # of a number in 16 bits
_BUFFERS = 2  # hidden states and embeddings of a step's tokens


@dataclass(frozen=True, slots=True)
class Placement:
    """A draft on the GPUs of its model under one engine.

    Attributes:
        workload: what the draft is asked to do: the same sequences, all of it on the GPUs.
        split: how it is divided over the GPUs that hold it.
    """

    draft: DraftModel
    workload: Workload
    engine: Engine
    split: Split
    device_class: int

    @classmethod
    def of(
        cls,
        draft: DraftModel,
        workload: Workload,
        engine: Engine,
        split: Split,
        device_class: int,
        kv_dtype: str,
    ) -> Placement:
        """The placement beside a model that an engine divides by `split`."""
        load = replace(
            workload,
            kv_dtype="auto" if _is_layered(engine) else kv_dtype,
            draft_tokens=0,
            draft_model="",
            max_loras=0,
            text_only=True,
            gpu_layers=None,
            cpu_moe=False,
        )
        return cls(draft, load, engine, draft_split(draft, engine, split), device_class)

    def sequence_bytes(self, context: int) -> int:
        """Cache of one sequence of so many tokens on each GPU."""
        arch = self.draft.profile.architecture
        return self.engine.sequence_bytes(
            arch, self.workload, self.split, self.device_class, context
        )

    @property
    def cache_bytes(self) -> int:
        """Cache of all sequences on each GPU."""
        load = self.workload
        return self.sequence_bytes(load.context) * self.split.users_each(load.concurrency)

    def activations(self) -> Amount:
        """A buffer of its own under llama.cpp; elsewhere the proposer's buffers, and up to its own
        temporary tensors, which mostly fit where the model's were."""
        arch, load = self.draft.profile.architecture, self.workload
        own = self.engine.activations(self.draft.profile, load, self.split, self.device_class)
        if _is_layered(self.engine) or arch is None:
            return own
        tokens = self.engine.step_tokens(arch, load, self.device_class) or 0
        buffers = _BUFFERS * tokens * (arch.hidden_size or 0) * _HALF_BYTES
        return fitted(buffers, buffers, buffers + own.likely)

    def graphs(self) -> Overhead:
        """What CUDA graphs of the draft add: its overhead beyond that of a run without graphs."""
        whole, graphless = (
            self.engine.overhead(
                self.draft.profile,
                replace(self.workload, enforce_eager=eager),
                self.split,
                self.device_class,
            )
            for eager in (self.workload.enforce_eager, True)
        )
        return Overhead(
            inside=_difference(whole.inside, graphless.inside),
            outside=_difference(whole.outside, graphless.outside),
        )

    def in_all(self, per_gpu: Breakdown, all_weights: Amount) -> Breakdown:
        """Totals as those of the model: weights as loaded, the cache of a layer split once."""
        if self.split.gpus == 1:
            return per_gpu
        several = per_gpu.times(self.split.gpus)
        cache = several.kv_cache.likely
        if self.split.ranks == 1:
            cache = min(cache, replace(self, split=Split()).cache_bytes)
        return replace(several, weights=all_weights, kv_cache=exactly(cache, Provenance.DERIVED))


@dataclass(frozen=True, slots=True)
class DraftEstimate:
    """What a draft adds to an estimate.

    Attributes:
        quant, sizes: of its weights: as its repository stores them, for llama.cpp as its converter
            writes a plain checkpoint, in 16 bits.
        native: the weights are the repository's own files.
        per_gpu, all_gpus: what is in those of the estimate; the fullest GPU, and the sum.
    """

    quant: Quant
    sizes: WeightSizes
    native: bool
    placement: Placement
    per_gpu: Breakdown
    all_gpus: Breakdown

    @property
    def split(self) -> Split:
        """How the draft is divided over the GPUs that hold it."""
        return self.placement.split


def draft_estimate(
    profile: ModelProfile,
    workload: Workload,
    engine: Engine,
    split: Split,
    device_class: int,
    kv_dtype: str,
) -> DraftEstimate | None:
    """Memory of the profile's draft, None where it has none or the engine takes none.

    `kv_dtype` is the cache type of the model.
    """
    draft = profile.draft
    if draft is None or not runs_draft(engine.slug, draft):
        return None
    placement = Placement.of(draft, workload, engine, split, device_class, kv_dtype)
    quant, native = _quant(draft, engine)
    load, shares = placement.workload, placement.split
    sizes = weight_sizes(draft.profile, quant, native=native, workload=load)
    loaded = engine.loader(draft.profile, load)(sizes, shares, device_class, native=native)
    copies = 0 if _is_layered(engine) else _shared_bytes(profile, draft, sizes) // shares.tensor
    graphs = placement.graphs()
    per_gpu = Breakdown(
        weights=_less(loaded.per_gpu, copies),
        kv_cache=exactly(placement.cache_bytes, Provenance.DERIVED),
        activations=placement.activations(),
        overhead=graphs.inside,
        outside=graphs.outside,
    )
    all_weights = _less(loaded.all_gpus, copies * shares.gpus)
    return DraftEstimate(
        quant, sizes, native, placement, per_gpu, placement.in_all(per_gpu, all_weights)
    )


def runs_draft(slug: str, draft: DraftModel) -> bool:
    """Whether an engine of this slug runs the draft; GGUF files are llama.cpp's."""
    if slug == _LLAMA_CPP:
        return draft.method in _LLAMA_CPP_METHODS
    return slug in DRAFT_ENGINES and draft.profile.format != "gguf"


def draft_split(draft: DraftModel, engine: Engine, split: Split) -> Split:
    """How an engine divides a draft when it divides the model by `split`."""
    if not _is_layered(engine):
        return Split(tensor=split.tensor, data=split.data)
    layers = draft.profile.architecture.layers if draft.profile.architecture else 1
    return Split(tensor=split.tensor, pipeline=min(split.pipeline, layers))


def longest_context(
    draft: DraftEstimate, arch: Architecture, workload: Workload, split: Split, pool_bytes: int
) -> int:
    """Longest sequence whose cache a pool on each GPU holds, that of the draft included.

    `arch`, `workload` with the type of the cache, and `split` are the model's.
    """
    placement = draft.placement
    engine, device_class = placement.engine, placement.device_class

    def needed(context: int) -> int:
        guessing = placement.sequence_bytes(context)
        return guessing + engine.sequence_bytes(arch, workload, split, device_class, context)

    limit = arch.max_context or NO_LIMIT
    return max(0, bisect_right(range(limit + 1), pool_bytes, key=needed) - 1)


def _is_layered(engine: Engine) -> bool:
    """Whether an engine places whole layers, as llama.cpp does."""
    return engine.split_by == "layer"


def _quant(draft: DraftModel, engine: Engine) -> tuple[Quant, bool]:
    """The width of a draft, and whether it is that of its files."""
    if draft.profile.format == "gguf":
        return quant_read(draft.profile), True
    if _is_layered(engine):
        return find_quant("gguf-f16"), False
    return native_quant(draft.profile), True


def _shared_bytes(profile: ModelProfile, draft: DraftModel, sizes: WeightSizes) -> int:
    """Embedding and head of an EAGLE or DFlash draft that may be copies of the model's."""
    if draft.method == "draft_model":
        return 0
    shapes = {(g.kind, g.shape) for g in profile.groups if g.part is Part.TEXT and g.kind in _ENDS}
    groups = zip(draft.profile.groups, sizes.by_group, strict=False)
    return sum(amount for g, amount in groups if (g.kind, g.shape) in shapes)


def _less(amount: Amount, doubtful_bytes: int) -> Amount:
    """The amount with a band that begins without some bytes that may not be there."""
    if not doubtful_bytes:
        return amount
    low = max(0, amount.low - doubtful_bytes)
    return Amount(low, amount.likely, amount.high, Provenance.DERIVED)


def _difference(whole: Amount, part: Amount) -> Amount:
    """What `whole` has beyond `part`, of which it is made besides."""
    low, likely, high = (
        max(0, getattr(whole, name) - getattr(part, name)) for name in ("low", "likely", "high")
    )
    low, high = min(low, likely), max(likely, high)
    return Amount(low, likely, high, whole.provenance)
