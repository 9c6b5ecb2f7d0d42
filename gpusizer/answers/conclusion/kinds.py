"""Kinds of question: which one a request to size a model is."""

from __future__ import annotations

from gpusizer.answers.conclusion.conclusion import Kind
from gpusizer.answers.request import SizeRequest


def kind_of(request: SizeRequest) -> Kind:
    """A load where users or requests a second are stated, else a fit where GPUs or a machine are
    named, else a need."""
    if request.requests_per_second is not None or request.concurrency > 1:
        return "load"
    return "fit" if request.gpus or request.rig else "need"
