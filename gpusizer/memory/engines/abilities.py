"""Abilities: models, formats and options of each engine, from `abilities.toml` with sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpusizer.core.loose_values import Arguments, StoredObject
from gpusizer.core.tables import toml_of
from gpusizer.model.profile import DraftModel
from gpusizer.model.tasks import ModelKind

# An engine's reaction to a context beyond the model's limit.
BeyondContext = Literal["allocates", "caps", "refuses"]

# Engines whose kernels share the constants of speed.
SpeedFamily = Literal["serving", "llama.cpp", "exllama", "mlx", "transformers"]

FileFormat = Literal["checkpoint", "gguf"]  # format of the files that an engine loads

# An engine's option for prefixes in system memory states that of all ranks of one data-parallel
# copy in GiB, or that of each rank in whole GB; "" for an engine without one.
PrefixMemory = Literal["", "all_ranks", "each_rank"]

EVERY_METHOD = "every method"


@dataclass(frozen=True, slots=True)
class Abilities:
    """Models, formats and options that an engine supports."""

    # Oldest CUDA architecture of its kernels, by its installation page; 0 for engines without CUDA
    # kernels.
    compute_capability: float = 0.0
    # unpacks_fp8, unpacks_fp4: oldest CUDA architecture on which it unpacks such weights for
    # products in 16 bits; None if it needs hardware that multiplies them.
    unpacks_fp8: float | None = None
    unpacks_fp4: float | None = None
    amd_attention: bool = False  # its AMD kernels need a target that has a FlashAttention build
    amd_targets: frozenset[str] = frozenset()  # targets that its AMD kernels have; empty for any
    kinds: frozenset[ModelKind] = frozenset({"decoder"})
    # Its files; engines of GGUF files need a checkpoint converted.
    reads: FileFormat = "checkpoint"
    # Quantizations that it makes of 16 bits while it loads, or by a program of its own. `launch/`
    # has the options. GGUF files are made by llama.cpp's program.
    converts: tuple[str, ...] = ()
    # Its command loads the folder that llm-compressor leaves on the machine.
    loads_made: bool = False
    # Methods whose quantized checkpoints it reads at any width and group, beside rows of
    # `data/quants.csv` that name the engine; `EVERY_METHOD` for all.
    methods: tuple[str, ...] = ()
    # Meaning of a width without a method, if it is not the usual alias.
    bare_widths: tuple[tuple[str, str], ...] = ()
    offloads: bool = False  # it runs layers or routed experts from system memory
    # The system may drop pages of its weights and read them from the file again.
    maps_file: bool = False
    common_at_home: bool = False  # guides for one person at home name it
    serves: bool = True  # a command of its own keeps a model loaded and answers
    expert_parallel: bool = False  # it deals routed experts out to ranks whole, as far as modelled
    stages: bool = True  # it divides a model into pipeline stages
    joins_machines: bool = False  # its own launch runs one replica over several machines
    # Methods that it runs from a separate repository, as far as modelled.
    draft_methods: frozenset[str] = frozenset()
    cache_types: tuple[str, ...] = ()  # element types of its KV cache beside 16 bits, widest first
    # Cache types that remedies propose, widest first; None for all.
    proposed_caches: tuple[str, ...] | None = None
    cache_needs_flash_attention: bool = False  # values of less than 16 bits need flash attention
    beyond_context: BeyondContext = "caps"
    # It multiplies the model's limit by the configuration's rotary scaling.
    stretches_context: bool = False
    # Tokens that it allocates without an option; None for the model's limit.
    default_context: int | None = None
    speed_family: SpeedFamily = "serving"
    # Option for the share of the card that it takes at once, whatever the model needs; "" if it has
    # none or the option means something else.
    share_option: str = ""
    # Option for the most sequences in a step; too many may prevent a start.
    sequences_option: str = ""
    # The host queues kernels one by one while the GPU works on earlier ones.
    launches_kernels: bool = False
    prefix_memory: PrefixMemory = ""  # meaning of its option for prefixes in system memory
    prefix_reserve_gib: int = 0  # system memory that it leaves free beside them, in GiB
    numbered_builds: bool = False  # the number in its version decides about kernels
    options: tuple[str, ...] = ()  # optional fields of a request that its estimate depends on

    def reads_method(self, method: str) -> bool:
        """Return whether it reads checkpoints of a method at any width and group."""
        return EVERY_METHOD in self.methods or method in self.methods

    def runs_draft(self, draft: DraftModel) -> bool:
        """Return whether it runs a draft's method and file format."""
        readable = draft.profile.format != "gguf" or self.reads == "gguf"
        return readable and draft.method in self.draft_methods


_TABLES: Mapping[str, StoredObject] = toml_of(__file__)
_SETS = frozenset({"kinds", "draft_methods", "stacks", "amd_targets"})


def stated(slug: str) -> Arguments:
    """Return an engine's fields from its table. Raise TypeError for unknown abilities."""
    table = dict(_TABLES[slug])
    abilities, rules = Abilities(**_frozen(table.pop("abilities"))), table.pop("rules", {})
    return {"slug": slug, "abilities": abilities, **_frozen(table), **_frozen(rules)}


def _frozen(table: StoredObject) -> Arguments:
    return {
        name: frozenset(value) if name in _SETS else _tuples(value) for name, value in table.items()
    }


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
