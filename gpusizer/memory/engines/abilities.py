"""Abilities: what an engine can run and which options it hears, as data beside its memory rules.

`abilities.toml` has those of every engine, with their sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpusizer.core.loose_values import Arguments, StoredObject
from gpusizer.core.tables import toml_of
from gpusizer.model.profile import DraftModel
from gpusizer.model.tasks import ModelKind

BeyondContext = Literal["allocates", "caps", "refuses"]
"""What an engine makes of a context beyond the model's limit."""

SpeedFamily = Literal["serving", "llama.cpp", "exllama", "mlx", "transformers"]
"""Engines whose kernels share the constants of speed."""

FileFormat = Literal["checkpoint", "gguf"]
"""The format of the files that an engine loads."""

EVERY_METHOD = "every method"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an engine can do.

    Attributes:
        compute_capability: oldest CUDA architecture that its kernels are built for, by its
            installation page; 0 where it has none for CUDA.
        unpacks_fp8, unpacks_fp4: oldest CUDA architecture on which it unpacks such weights for
            products in 16 bits, None where it needs hardware that multiplies them.
        amd_attention: its AMD kernels need a target that has a FlashAttention build.
        kinds: models that it runs.
        converts: quantizations that it makes of 16 bits while it loads, or by a program of its own;
            its launcher (`launch/`) has the words. GGUF files are made by llama.cpp's.
        loads_made: its command loads what llm-compressor leaves in a folder of the machine.
        reads: the files that it loads; a checkpoint has to be converted for engines of GGUF files.
        methods: methods whose quantized checkpoints it reads at any width and group, beside the
            quantizations whose row in `data/quants.csv` names it; `EVERY_METHOD` for all.
        bare_widths: what people mean by a width under it, where it is not the usual alias.
        offloads: it runs layers or routed experts from system memory.
        maps_file: the system may drop pages of its weights and read them from the file again.
        expert_parallel: it deals routed experts out to ranks whole, as far as modelled.
        stages: it divides a model into pipeline stages.
        joins_machines: its own launch runs one replica over several machines.
        draft_methods: those that it runs from a repository of their own, as far as modelled.
        cache_types: element types of its KV cache beside 16 bits, widest first.
        proposed_caches: those of them that remedies propose, widest first; None for all.
        cache_needs_flash_attention: values of less than 16 bits need flash attention.
        beyond_context: what it makes of a context beyond the model's limit.
        stretches_context: it takes that limit times the rotary scaling of the configuration.
        default_context: tokens that it allocates unless told otherwise; None for the model's.
        speed_family: whose constants of speed apply.
        share_option: its option for the share of the card that it takes at once, whatever the model
            needs of it; "" where it has none, or one that means something else.
        sequences_option: its option for the most sequences that it schedules, of which too many
            may keep it from starting.
        launches_kernels: the host queues kernels one by one while the GPU works on earlier ones.
        numbered_builds: the number in its version decides about kernels.
        options: optional fields of a request that its estimate depends on.
    """

    compute_capability: float = 0.0
    unpacks_fp8: float | None = None
    unpacks_fp4: float | None = None
    amd_attention: bool = False
    kinds: frozenset[ModelKind] = frozenset({"decoder"})
    reads: FileFormat = "checkpoint"
    converts: tuple[str, ...] = ()
    loads_made: bool = False
    methods: tuple[str, ...] = ()
    bare_widths: tuple[tuple[str, str], ...] = ()
    offloads: bool = False
    maps_file: bool = False
    expert_parallel: bool = False
    stages: bool = True
    joins_machines: bool = False
    draft_methods: frozenset[str] = frozenset()
    cache_types: tuple[str, ...] = ()
    proposed_caches: tuple[str, ...] | None = None
    cache_needs_flash_attention: bool = False
    beyond_context: BeyondContext = "caps"
    stretches_context: bool = False
    default_context: int | None = None
    speed_family: SpeedFamily = "serving"
    share_option: str = ""
    sequences_option: str = ""
    launches_kernels: bool = False
    numbered_builds: bool = False
    options: tuple[str, ...] = ()

    def reads_method(self, method: str) -> bool:
        """Whether it reads checkpoints of a quantization method at any width and group."""
        return EVERY_METHOD in self.methods or method in self.methods

    def runs_draft(self, draft: DraftModel) -> bool:
        """Whether it runs a draft, by its method; a GGUF file only where it reads such files."""
        readable = draft.profile.format != "gguf" or self.reads == "gguf"
        return readable and draft.method in self.draft_methods


_TABLES: Mapping[str, StoredObject] = toml_of(__file__)
_SETS = frozenset({"kinds", "draft_methods", "stacks"})


def stated(slug: str) -> Arguments:
    """The fields of an engine that its table states; raises TypeError for unknown abilities."""
    table = dict(_TABLES[slug])
    abilities, rules = Abilities(**_frozen(table.pop("abilities"))), table.pop("rules", {})
    return {"slug": slug, "abilities": abilities, **_frozen(table), **_frozen(rules)}


def _frozen(table: StoredObject) -> Arguments:
    """The same with sets and tuples for lists."""
    return {
        name: frozenset(value) if name in _SETS else _tuples(value) for name, value in table.items()
    }


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
