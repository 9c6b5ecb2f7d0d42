"""Readiness: whether one starts a quantization at once, makes it first, or looks for a file."""

from __future__ import annotations

from enum import IntEnum

from gpusizer.memory.engines import Engine
from gpusizer.memory.quantizing import is_wide_enough, method_of, needs_matrix
from gpusizer.memory.quants import Quant
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import writes_text

_PLAIN = "bf16"


class Readiness(IntEnum):
    """How far a quantization is from running under an engine, the nearest first.

    Attributes:
        LOADED: the repository stores it, the engine makes it while it loads, or a program of the
            engine's own makes it of what the repository stores, without samples.
        MADE: a tool makes it of what the repository stores, with samples, once.
        PUBLISHED: somebody else has to have made it.
    """

    LOADED = 0
    MADE = 1
    PUBLISHED = 2


def readiness(profile: ModelProfile, quant: Quant, engine: Engine, *, native: bool) -> Readiness:
    """The readiness of a quantization of a model; `native` where the repository stores it."""
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
