"""Rules of llama.cpp's cache and buffers, by build or by month.

Builds are numbered by commit (bNNNN), several a day; each number below is the build of
the day on which the pull request was merged, so a few builds around it may get the wrong rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.profile import ModelProfile

# Types of models with a latent (MLA) that llama.cpp converted before pull request 12801 (April
# 2025), without kv_b split up: LLM_ARCH_DEEPSEEK2 of src/llama-arch.cpp. Such files are still
# handed out: that of deepseek-v2:16b in Ollama's library is of 2024
# (https://github.com/ollama/ollama/pull/17201).
_LATENT_AS_HEADS = frozenset({"deepseek_v2", "deepseek_v3"})
_NUMBER = re.compile(r"\d+")
_MONTH = re.compile(r"20\d\d-[01]\d")


class Latent(Enum):
    """Cached values of multi-head latent attention for each token."""

    HEADS = "heads"  # keys and values of every head, the latent expanded
    TWICE = "twice"  # the latent and its rotary part as keys, the latent again as values
    ONCE = "once"  # keys alone; values are a view of them


@dataclass(frozen=True, slots=True, eq=False)
class BuildRules:
    """Rules from build `since` on, made in `month`."""

    since: int
    month: str
    latent: Latent
    windows: bool  # the cache of a sliding layer ends with its window
    # llama-server reserves logits for a token of each slot, not for a whole batch, and the mask of
    # flash attention is 16-bit.
    slot_logits: bool = False
    slots: int = 1  # slots that llama-server opens by default


# Oldest first.
BUILDS = (
    BuildRules(0, "", Latent.HEADS, windows=False),
    # PR 12801, April 2025, "DeepSeek V2/V3 MLA implementation"
    BuildRules(5140, "2025-04", Latent.TWICE, windows=False),
    # PR 13194, May 2025, "kv-cache : add SWA support"
    BuildRules(5430, "2025-05", Latent.TWICE, windows=True),
    # PR 16736, November 2025, "server : support unified cache across slots"
    BuildRules(6930, "2025-11", Latent.TWICE, windows=True, slots=4),
    # PR 19067, January 2026, "kv-cache : support V-less cache"
    BuildRules(7830, "2026-01", Latent.ONCE, windows=True, slots=4),
    # PR 23861, "llama: limit max outputs of llama_context", and PR 23764, "llama: use f16 mask for
    # FA to save VRAM", 1 June 2026
    BuildRules(9400, "2026-06", Latent.ONCE, windows=True, slot_logits=True, slots=4),
)

# Month of pull request 12801: converters split kv_b up since then. With older files every build
# caches keys and values of all heads ("is_mla" of src/models/deepseek2.cpp asks the file).
LATENT_SINCE = "2025-04"


@lru_cache(maxsize=64)
def rules_of(
    version: str | None, builds: tuple[BuildRules, ...] = BUILDS, made: str | None = None
) -> BuildRules:
    """Return the rules of a build ("b4905") or of builds of a month ("2026-05").

    `made` is the day or month of the file, None for a recent one. A text without build and month
    means the current build.
    """
    rules = _of_build(version, builds)
    if made is not None and made < LATENT_SINCE:
        return replace(rules, latent=Latent.HEADS)
    return rules


def _of_build(version: str | None, builds: tuple[BuildRules, ...]) -> BuildRules:
    month = _MONTH.search(version or "")
    if month is not None:
        return next(rules for rules in reversed(builds) if rules.month <= month[0])
    match = _NUMBER.search(version or "")
    if match is None:
        return builds[-1]
    number = int(match[0])
    return next((rules for rules in reversed(builds) if rules.since <= number), builds[0])


def cached_layer(layer: Layer, rules: BuildRules) -> Layer:
    """Return a layer as a build caches it, without an indexer: all attention is dense there."""
    dense = layer.without_index()
    if dense.latent is None:
        return dense if rules.windows else dense.without_window()
    if rules.latent is Latent.TWICE:
        return dense.as_twice()
    return dense.as_heads() if rules.latent is Latent.HEADS else dense


def as_cached(architecture: Architecture, rules: BuildRules) -> Architecture:
    """Return the architecture with its layers as a build caches them."""
    return architecture.with_layers(lambda layer: cached_layer(layer, rules))


def older_file_notes(profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
    """Return a note on how much the cache grows with a file from before the latent was cached.

    Empty if the request or the file gives its date, and for younger models.
    """
    arch = profile.architecture
    unsaid = workload.gguf_date is None and profile.format != "gguf"
    if arch is None or not unsaid or arch.model_type not in _LATENT_AS_HEADS:
        return ()
    heads, latents = (as_cached(arch, rules_of(None, made=made)) for made in ("", None))
    more = heads.growing_elements_per_token / (latents.growing_elements_per_token or 1)
    if more <= 1:
        return ()
    return (Note("older_file_caches_heads", month=LATENT_SINCE, times=significant(more)),)
