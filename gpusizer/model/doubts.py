"""Doubts: what of a model is not known here, a note each."""

from __future__ import annotations

from collections.abc import Iterator

from gpusizer.core.messages import Note
from gpusizer.model.pipeline_shape import PipelineShape


def pipeline_doubts(shape: PipelineShape | None) -> Iterator[Note]:
    """Yield what of a pipeline is not known: what it draws, and the memory of its steps."""
    if shape is not None and shape.unknown_classes:
        code = "unknown_modules" if shape.is_known else "unknown_pipeline"
        yield Note(code, classes=", ".join(shape.unknown_classes))
