"""Layers with a recurrent state: Mamba, linear attention, short convolutions."""

# Recurrences differ in how a configuration gives their size (`states.py`), not in their cache.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from gpusizer.model.architecture.layer_kinds.layer import (
    Layer,
    LayerAndMore,
    LayerWord,
    StateChange,
)
from gpusizer.model.architecture.layer_kinds.parts import CachePart, StatePart


@dataclass(frozen=True)
class RecurrentLayer(Layer):
    """A layer that keeps one state of a sequence of any length."""

    word: ClassVar[LayerWord] = "recurrent"
    state_elements: int = 0  # elements of it, 0 if unknown
    conv_elements: int = 0  # elements of it that are inputs of a short convolution
    # the configuration asks for an FP32 state with 16-bit convolution inputs
    wide_state: bool = False

    def made_of(self) -> Iterator[CachePart]:
        yield StatePart(self.state_elements, self.conv_elements, self.wide_state)

    @property
    def misses_size(self) -> bool:
        return not self.state_elements

    def with_state(self, change: StateChange) -> RecurrentLayer:
        part = change(StatePart(self.state_elements, self.conv_elements, self.wide_state))
        return RecurrentLayer(part.size, part.conv_size, part.wide)


@dataclass(frozen=True)
class AttentionWithState(LayerAndMore):
    """A layer that attends and keeps a state at once (Falcon-H1, Zamba)."""

    keeps: RecurrentLayer = RecurrentLayer()

    def made_of(self) -> Iterator[CachePart]:
        yield from self.keeps.parts
        yield from self.attends.parts

    def facts(self) -> Mapping[str, object]:
        return {**self.attends.facts(), **self.keeps.facts()}

    def with_state(self, change: StateChange) -> Layer:
        return replace(self, keeps=self.keeps.with_state(change))
