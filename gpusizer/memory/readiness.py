"""Readiness: whether a quantization is loaded at once, made first, or searched for."""

from __future__ import annotations

from enum import IntEnum

from gpusizer.memory.engines import Engine
from gpusizer.memory.quantizing import is_wide_enough, method_of, needs_matrix
from gpusizer.memory.quants import Quant
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import writes_text

_PLAIN = "bf16"


class Readiness(IntEnum):
    """Distance of a quantization from running under an engine, the nearest first."""

    # The repository stores it, the engine makes it while it loads, or a program of the engine's own
    # makes it of the stored weights, without samples.
    LOADED = 0
    MADE = 1  # a tool makes it of the stored weights, with samples, once
    PUBLISHED = 2  # somebody else has to have made it


def readiness(profile: ModelProfile, quant: Quant, engine: Engine, *, native: bool) -> Readiness:
    """Return the readiness of a quantization; `native` if the repository stores it."""
    plain = profile.quantization is None and profile.format != "gguf"
    if native or (plain and quant.slug in (_PLAIN, *engine.abilities.converts)):
        return Readiness.LOADED
    method = method_of(quant)
    if method is None or not writes_text(profile) or not is_wide_enough(profile, quant):
        return Readiness.PUBLISHED
    if engine.abilities.reads == "gguf":
        return Readiness.MADE if needs_matrix(quant.slug) else Readiness.LOADED
    loads = method != "gguf" and engine.abilities.loads_made
    return Readiness.MADE if loads else Readiness.PUBLISHED
