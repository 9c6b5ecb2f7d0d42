"""Doubts: a note for each unknown part of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpusizer.core.messages import Note
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.unknown_parts import PURPOSE, SILENT, STATE
from gpusizer.model.pipeline_shape import PipelineShape

_LAYERS = re.compile(r"(\d+) of (\d+) layers: (.+)")
_NAMED = {"keys": "unknown_keys", "experts": "unknown_experts"}
_PURPOSES = {PURPOSE: "unknown_purpose", SILENT: "silent_purpose"}


def doubts(architecture: Architecture | None, pipeline: PipelineShape | None) -> tuple[Note, ...]:
    """Return notes on unknown layers of a language model or unknown classes of a pipeline."""
    parts = () if architecture is None else architecture.unknown_parts
    return (*map(_of_part, parts), *_of_pipeline(pipeline))


def _of_part(part: str) -> Note:
    if (layers := _LAYERS.fullmatch(part)) is not None:
        count, every, kind = layers.groups()
        if kind == STATE:
            return Note("unknown_states", count=int(count), layers=int(every))
        return Note("unknown_layers", count=int(count), layers=int(every), kind=kind)
    what, _, names = part.partition(": ")
    if what in _NAMED:
        return Note(_NAMED[what], names=names)
    return Note(_PURPOSES[part]) if part in _PURPOSES else Note("unknown_part", part=part)


def _of_pipeline(shape: PipelineShape | None) -> Iterator[Note]:
    if shape is not None and shape.unknown_classes:
        code = "unknown_modules" if shape.is_known else "unknown_pipeline"
        yield Note(code, classes=", ".join(shape.unknown_classes))
