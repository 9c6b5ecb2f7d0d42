"""llama.cpp and the tools built on it.

Placement and cache follow its source (`llama_layers`); compute buffers (`llama_buffers`) and the
memory of the runtime beside them were measured. See data/SOURCES.md, "llama.cpp".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.base import Loaded, Loader, Overhead, Split, SplitBy
from gpusizer.memory.engines.defaults import Defaults
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
)
from gpusizer.memory.engines.llama_versions import BUILDS, BuildRules, as_cached, rules_of
from gpusizer.memory.projector import projector_buffer
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot

CUDA, ROCM, SYCL, METAL, VULKAN = range(5)
"""Device classes: the backend that llama.cpp was built with."""

_LANGUAGE = (Part.TEXT, Part.ENCODER)
BACKENDS = {"ROCm": ROCM, "oneAPI": SYCL, "Metal": METAL}
"""Software stack -> backend; the others take CUDA's numbers."""

_ASKED = {"cuda": CUDA, "rocm": ROCM, "sycl": SYCL, "metal": METAL, "vulkan": VULKAN}

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


@dataclass(frozen=True, slots=True)
class LlamaCppEngine(Defaults):
    """Layers are placed on GPUs one after the other; nothing is reserved beyond need.

    Attributes:
        batch_logits: logits are reserved for a whole batch, not for one token of each sequence.
        builds: cache rules by build, oldest first.
    """

    slug: str
    name: str
    version: str
    stacks: frozenset[str]
    batch_logits: bool = True
    builds: tuple[BuildRules, ...] = BUILDS[-1:]
    split_by: SplitBy = "layer"
    kv_cell_multiple: int = CELLS
    device_classes: tuple[int, ...] = (CUDA, ROCM, SYCL, METAL)

    @property
    def versioned(self) -> bool:
        return len(self.builds) > 1

    def _rules(self, workload: Workload) -> BuildRules:
        return rules_of(workload.engine_version, self.builds)

    def backend_class(self, stack: str) -> int:
        """The backend decides; all cards of a backend have the same constants."""
        return BACKENDS.get(stack, CUDA)

    def utilization(self, workload: Workload) -> float:
        return 1.0

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        """Whole layers per GPU; a requested tensor split divides matrices evenly."""
        arch = profile.architecture
        cached: dict[str, LayerBytes] = {}
        evenly = Defaults.loader(self, profile, workload)

        def load(sizes: WeightSizes, split: Split, device_class: int, *, native: bool) -> Loaded:
            if arch is None or split.tensor > 1 or not sizes.by_group:
                return evenly(sizes, split, device_class, native=native)
            if sizes.quant not in cached:
                cached[sizes.quant] = layer_bytes(
                    profile, sizes, arch.layers, text_only=workload.text_only
                )
            return place(
                cached[sizes.quant],
                workload,
                split.pipeline,
                maps_file=_backend(workload, device_class) == METAL,
                provenance=Provenance.EXACT if native else Provenance.DERIVED,
            )

        return load

    def sequence_bytes(
        self,
        arch: Architecture | None,
        workload: Workload,
        split: Split,
        device_class: int,
        context: int,
    ) -> int:
        if arch is None or not arch.generates:
            return 0
        whole = sequence_bytes(arch, workload, self._rules(workload), split.pipeline, context)
        return -(-whole // split.tensor)

    def activations(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Amount:
        if profile.architecture is None:
            return fitted(0.05 * GIB, 0.3 * GIB, 1 * GIB)
        arch = as_cached(profile.architecture, self._rules(workload))
        graph = self._graph(profile, workload, device_class)
        buffer = compute_buffer(arch, workload, split.gpus, graph)
        if workload.text_only or profile.format == "gguf":
            return buffer
        return buffer + projector_buffer(profile, flash_attention=workload.flash_attention)

    def _graph(self, profile: ModelProfile, workload: Workload, device_class: int) -> Graph:
        """What the profile, the build and the backend say of a graph."""
        rules = self._rules(workload)
        slots = {group.slot for group in profile.groups if group.part in _LANGUAGE}
        return Graph(
            batch_logits=self.batch_logits and not rules.slot_logits,
            half_mask=self.batch_logits and rules.slot_logits,
            masks=1 if self.batch_logits else 2,
            vulkan=_backend(workload, device_class) == VULKAN,
            cpu=workload.backend == "cpu",
            gated=bool(slots & {Slot.GATE, Slot.GATE_UP}),
            fused_qkv=Slot.QKV in slots,
        )

    def with_streaming(
        self, profile: ModelProfile, workload: Workload, sizes: WeightSizes, usual: Amount
    ) -> Amount:
        """Layers or experts on the host are copied to the GPU for large batches."""
        arch = profile.architecture
        if arch is None or workload.backend == "cpu":
            return usual
        if not (workload.cpu_moe or _some_on_host(arch, workload)):
            return usual
        largest, rules = _largest(profile, sizes, arch), self._rules(workload)
        graph = self._graph(profile, workload, CUDA)
        return streaming_buffer(as_cached(arch, rules), workload, usual, largest, graph)

    def overhead(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Overhead:
        runtime = (0.0, 0.0, 0.0)
        if workload.backend != "cpu":
            runtime = _RUNTIME_BYTES[_backend(workload, device_class)]
        return Overhead(inside=fitted(*runtime), outside=fitted(0, 0, 0))


def _backend(workload: Workload, device_class: int) -> int:
    """The backend that was asked for, else the card's own."""
    return _ASKED.get(workload.backend, device_class)


def _some_on_host(arch: Architecture, workload: Workload) -> bool:
    return workload.gpu_layers is not None and workload.gpu_layers <= arch.layers


def _largest(profile: ModelProfile, sizes: WeightSizes, arch: Architecture) -> HostWeights:
    """The largest matrices that may be copied: of a layer, all its experts together, and the head.

    The converter splits fused gates and ups of experts, but for Gemma 4 (conversion/gpt_oss.py,
    gemma.py); tensors of a GGUF file are as they will be.
    """
    groups = tuple(zip(profile.groups, sizes.by_group, strict=False))
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


_STACKS = frozenset({"CUDA", "ROCm", "Metal", "oneAPI", "CANN", "MUSA"})

LLAMA_CPP = LlamaCppEngine("llama.cpp", "llama.cpp", "b10240", _STACKS, builds=BUILDS)
OLLAMA = LlamaCppEngine(
    "ollama", "Ollama", "0.13", frozenset({"CUDA", "ROCm", "Metal"}), batch_logits=False
)
