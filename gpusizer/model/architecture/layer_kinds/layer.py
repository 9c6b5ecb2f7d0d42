"""Layer: the interface of all kinds of layers."""

# A kind is a frozen dataclass that yields the parts of its cache. Answers to engines come from
# these parts, and a kind overrides the answers that differ.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar, Literal

from gpusizer.model.architecture.layer_kinds.parts import (
    CachePart,
    EntryPart,
    IndexPart,
    LatentPart,
    StatePart,
    TokenPart,
    Widths,
)

# Name of a kind of cache in answers.
LayerWord = Literal["full", "sliding", "chunked", "mla", "cross", "recurrent", "none"]
StateChange = Callable[[StatePart], StatePart]


@dataclass(frozen=True)
class Layer(ABC):
    """One layer, by its cache of a sequence. Fields have the names of answers (`LayerInfo`)."""

    word: ClassVar[LayerWord]

    @abstractmethod
    def made_of(self) -> Iterable[CachePart]:
        """Return the parts of its cache: a state first, then tokens, then additions to them."""

    @cached_property
    def parts(self) -> tuple[CachePart, ...]:
        """The parts of its cache."""
        return tuple(self.made_of())

    @property
    def name(self) -> LayerWord:
        """Its name in answers."""
        return self.word

    def facts(self) -> Mapping[str, object]:
        """Return its sizes under the names that answers use."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def amount(self, context: int, widths: Widths, multiple: int = 1) -> int:
        """Return the amount of a sequence of `context` tokens, stored in multiples."""
        return sum(part.amount(context, widths, multiple) for part in self.parts)

    @cached_property
    def tokens(self) -> TokenPart | None:
        """The first keys and values of the tokens that it attends to, or None."""
        return next((part for part in self.parts if isinstance(part, TokenPart)), None)

    @cached_property
    def latent(self) -> LatentPart | None:
        """Latents of the tokens, None if heads have keys of their own."""
        return next((part for part in self.parts if isinstance(part, LatentPart)), None)

    @cached_property
    def state(self) -> StatePart | None:
        """Its recurrent state, alone or beside tokens, or None."""
        return next((part for part in self.parts if isinstance(part, StatePart)), None)

    @cached_property
    def is_indexed(self) -> bool:
        """Whether an indexer of its own picks the tokens that it reads."""
        return any(
            isinstance(part, IndexPart) or (isinstance(part, EntryPart) and part.index_width > 0)
            for part in self.parts
        )

    @cached_property
    def compresses(self) -> bool:
        """Whether tokens share entries."""
        return any(isinstance(part, EntryPart) for part in self.parts)

    @cached_property
    def elements_per_token(self) -> int:
        """Elements that a new token adds before any window is full."""
        growing = (part for part in self.parts if part.tokens_each)
        return sum(sum(part.elements) // part.tokens_each for part in growing)

    @property
    def lasts(self) -> bool:
        """Whether it keeps every token as it is."""
        return self.tokens is not None and self.tokens.window is None

    @property
    def grows_evenly(self) -> bool:
        """Whether every token costs equally, without a state."""
        return self.state is None and (self.lasts or self.tokens is None)

    @property
    def crosses(self) -> bool:
        """Whether it attends to an encoder's output."""
        return False

    @property
    def is_chunked(self) -> bool:
        """Whether it attends within chunks of the context, not within a moving window."""
        return False

    @property
    def misses_size(self) -> bool:
        """Whether it keeps something of unknown size."""
        return False

    def without_window(self) -> Layer:
        """Return this layer under an engine that keeps every token."""
        return self

    def with_room(self, tokens: int) -> Layer:
        """Return this layer under an engine that keeps `tokens` more than its window."""
        return self

    def seen_within(self, window: int) -> Layer:
        """Return this layer with its attention limited to `window` tokens."""
        return self

    def without_index(self) -> Layer:
        """Return this layer under an engine that reads every token and needs no indexer."""
        return self

    def as_draft(self) -> Layer:
        """Return the draft layer of a model with such layers."""
        return self

    def as_heads(self) -> Layer:
        """Return this layer under an engine that keeps keys and values of every head, no latent."""
        return self

    def as_twice(self) -> Layer:
        """Return this layer under an engine that keeps a latent as keys, and again as values."""
        return self

    def with_state(self, change: StateChange) -> Layer:
        """Return this layer with `change` applied to its state, if any."""
        return self


@dataclass(frozen=True)
class LayerAndMore(Layer):
    """Base of layers that attend as another kind and keep something in addition."""

    attends: Layer

    @property
    def name(self) -> LayerWord:
        return self.attends.name

    def facts(self) -> Mapping[str, object]:
        own = {name: value for name, value in super().facts().items() if name != "attends"}
        return {**self.attends.facts(), **own}

    @property
    def lasts(self) -> bool:
        return self.attends.lasts

    @property
    def is_chunked(self) -> bool:
        return self.attends.is_chunked

    def without_window(self) -> Layer:
        return self._around(self.attends.without_window())

    def with_room(self, tokens: int) -> Layer:
        return self._around(self.attends.with_room(tokens))

    def seen_within(self, window: int) -> Layer:
        return self._around(self.attends.seen_within(window))

    def without_index(self) -> Layer:
        return self._around(self.attends.without_index())

    def as_heads(self) -> Layer:
        return self._around(self.attends.as_heads())

    def as_twice(self) -> Layer:
        return self._around(self.attends.as_twice())

    def with_state(self, change: StateChange) -> Layer:
        return self._around(self.attends.with_state(change))

    def _around(self, attends: Layer) -> Layer:
        return replace(self, attends=attends)
