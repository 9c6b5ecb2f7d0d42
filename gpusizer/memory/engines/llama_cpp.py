"""llama.cpp and the tools built on it.

Placement and cache follow its source (`llama_layers`); compute buffers (`llama_buffers`) and the
runtime's memory were measured. See data/SOURCES.md, "llama.cpp".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, fitted
from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.memory.engines.abilities import stated
from gpusizer.memory.engines.base import (
    Engine,
    Loaded,
    Loader,
    Overhead,
    Placement,
)
from gpusizer.memory.engines.llama_buffers import (
    Graph,
    HostWeights,
    compute_buffer,
    streaming_buffer,
)
from gpusizer.memory.engines.llama_layers import (
    CELLS,
    LayerBytes,
    layer_bytes,
    place,
    sequence_bytes,
    state_bytes,
)
from gpusizer.memory.engines.llama_versions import (
    BUILDS,
    BuildRules,
    as_cached,
    older_file_notes,
    rules_of,
)
from gpusizer.memory.projector import projector_buffer
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot

# Device classes: the backend that llama.cpp was built with.
CUDA, ROCM, SYCL, METAL, VULKAN = range(5)

_LANGUAGE = (Part.TEXT, Part.ENCODER)
# Software stack -> backend; the others take CUDA's numbers.
BACKENDS = {"ROCm": ROCM, "oneAPI": SYCL, "Metal": METAL}

# Backends by the names that a request has for them.
_BACKEND_CLASSES = {"cuda": CUDA, "rocm": ROCM, "sycl": SYCL, "metal": METAL, "vulkan": VULKAN}

# Memory that the runtime takes beside llama.cpp's buffers: 451-456 MiB on headless CUDA cards;
# 140-225 MiB while generating and 330-915 after prefill under ROCm, by the largest matrix; 75-310
# under Vulkan.
_RUNTIME_BYTES = {
    CUDA: (0.20 * GIB, 0.45 * GIB, 0.80 * GIB),
    ROCM: (0.13 * GIB, 0.30 * GIB, 0.90 * GIB),
    SYCL: (0.07 * GIB, 0.30 * GIB, 0.80 * GIB),
    METAL: (0.05 * GIB, 0.20 * GIB, 0.50 * GIB),
    VULKAN: (0.07 * GIB, 0.18 * GIB, 0.32 * GIB),
}


_KEEPS_GATE_UP = "gemma4"
_TOWERS = (Part.VISION, Part.AUDIO, Part.PROJECTOR)


@dataclass(frozen=True, eq=False, kw_only=True)
class LlamaCppEngine(Engine):
    """Engine that places whole layers on GPUs in turn and reserves nothing beyond need."""

    # Logits are reserved for a whole batch, not for one token of each sequence.
    batch_logits: bool = True
    builds: tuple[BuildRules, ...] = BUILDS[-1:]  # cache rules by build, oldest first
    kv_cell_multiple: int = CELLS
    device_classes: tuple[int, ...] = (CUDA, ROCM, SYCL, METAL)

    def _rules(self, workload: Workload) -> BuildRules:
        return rules_of(workload.engine_version, self.builds, workload.gguf_date)

    def device_class(
        self, memory_bytes: int, name: str, stack: str = "CUDA", *, fabric: bool = True
    ) -> int:
        """Return the backend; all cards of a backend have the same constants."""
        return BACKENDS.get(stack, CUDA)

    def cache_type(
        self, profile: ModelProfile, workload: Workload, quant: str, *, native: bool
    ) -> str:
        return workload.kv_dtype

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        """Return a loader of whole layers per GPU; a tensor split divides matrices evenly."""
        arch = profile.architecture
        cached: dict[str, LayerBytes] = {}
        evenly = super().loader(profile, workload)

        def load(sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded:
            if arch is None or placement.split.tensor > 1 or not sizes.by_group:
                return evenly(sizes, placement, native=native)
            if sizes.quant not in cached:
                cached[sizes.quant] = layer_bytes(
                    profile, sizes, arch.layers, text_only=workload.text_only
                )
            return place(
                cached[sizes.quant],
                workload,
                placement.split.pipeline,
                maps_file=_backend(placement) == METAL,
                provenance=Provenance.EXACT if native else Provenance.DERIVED,
            )

        return load

    def sequence_bytes(self, placement: Placement, context: int) -> int:
        arch, workload, split = placement.arch, placement.workload, placement.split
        if arch is None or not arch.generates:
            return 0
        whole = sequence_bytes(arch, workload, self._rules(workload), split.pipeline, context)
        return -(-whole // split.tensor)

    def activations(self, placement: Placement) -> Amount:
        arch, profile, workload = placement.arch, placement.profile, placement.workload
        if arch is None:
            return fitted(0.05 * GIB, 0.3 * GIB, 1 * GIB)
        arch = as_cached(arch, self._rules(workload))
        buffer = compute_buffer(arch, workload, placement.split.gpus, self._graph(placement))
        if workload.text_only or profile.format == "gguf":
            return buffer
        return buffer + projector_buffer(profile, flash_attention=workload.flash_attention)

    def _graph(self, placement: Placement) -> Graph:
        rules = self._rules(placement.workload)
        slots = {group.slot for group in placement.profile.groups if group.part in _LANGUAGE}
        return Graph(
            batch_logits=self.batch_logits and not rules.slot_logits,
            half_mask=self.batch_logits and rules.slot_logits,
            masks=1 if self.batch_logits else 2,
            vulkan=_backend(placement) == VULKAN,
            cpu=placement.workload.backend == "cpu",
            gated=bool(slots & {Slot.GATE, Slot.GATE_UP}),
            fused_qkv=Slot.QKV in slots,
        )

    def with_streaming(self, placement: Placement, sizes: WeightSizes, usual: Amount) -> Amount:
        """Return activations plus layers or experts copied to the GPU for large batches."""
        arch, workload = placement.arch, placement.workload
        if arch is None or workload.backend == "cpu":
            return usual
        some_on_host = workload.gpu_layers is not None and workload.gpu_layers <= arch.layers
        if not (workload.cpu_moe or some_on_host):
            return usual
        largest, graph = _largest(placement.profile, sizes, arch), self._graph(placement)
        arch = as_cached(arch, self._rules(workload))
        return streaming_buffer(arch, workload, usual, largest, graph)

    def overhead(self, placement: Placement) -> Overhead:
        runtime = (0.0, 0.0, 0.0)
        if placement.workload.backend != "cpu":
            runtime = _RUNTIME_BYTES[_backend(placement)]
        return Overhead(inside=fitted(*runtime), outside=fitted(0, 0, 0))

    def notes(self, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
        """Return notes on the context or slots to set, and on the cache of older files."""
        # The user has to name these, because the engine would allocate others.
        notes = older_file_notes(profile, workload)
        default = self.abilities.default_context
        if default is None:
            return (*self._slot_notes(profile, workload), *notes)
        if default == workload.context:
            return notes
        return (Note("ollama_num_ctx", tokens=workload.context, default=default), *notes)

    def _slot_notes(self, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
        arch, slots = profile.architecture, self._rules(workload).slots
        more = 0 if arch is None else state_bytes(arch, workload.draft_tokens)
        users = workload.concurrency
        if not more or users >= slots:
            return ()
        # Slots share the cells of the cache, but each has a state.
        return (Note("server_slots", slots=slots, users=users, more_bytes=(slots - users) * more),)


def _backend(placement: Placement) -> int:
    return _BACKEND_CLASSES.get(placement.workload.backend, placement.device_class)


def _largest(profile: ModelProfile, sizes: WeightSizes, arch: Architecture) -> HostWeights:
    """Return the largest matrices that may be copied: of a layer, experts together; of the head."""
    groups = tuple(zip(profile.groups, sizes.by_group, strict=False))
    # The converter splits fused gates and ups of experts, but for Gemma 4 (conversion/gpt_oss.py,
    # gemma.py); tensors of a GGUF file are as they will be.
    fused = profile.format == "gguf" or arch.model_type.startswith(_KEEPS_GATE_UP)
    wanted = Kind.EXPERT if arch.experts else Kind.LINEAR
    layer = max(
        (
            amount // len(g.layers) // (2 if g.slot is Slot.GATE_UP and not fused else 1)
            for g, amount in groups
            if g.layers and g.kind is wanted and g.part not in _TOWERS
        ),
        default=0,
    )
    outside = (amount for g, amount in groups if g.layers is None and g.count == 1)
    return HostWeights(layer, max(outside, default=0))


LLAMA_CPP = LlamaCppEngine(**stated("llama.cpp"), builds=BUILDS)
OLLAMA = LlamaCppEngine(**stated("ollama"))
