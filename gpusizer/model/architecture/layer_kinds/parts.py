"""Parts of a cache: what layers keep of a sequence, whatever kind of layer keeps it.

A kind of layer is made of parts. Engines read parts (`PartReader`), so that a kind they never saw
costs what its parts cost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

Answer = TypeVar("Answer", covariant=True)


class Elements(NamedTuple):
    """Elements of one token, entry or state, by the width that they are kept at."""

    keys: int = 0
    values: int = 0
    state: int = 0


class Widths(NamedTuple):
    """Widths of single elements, in any unit."""

    keys: int
    values: int
    state: int

    def amount(self, elements: Elements) -> int:
        """Sum of the widths of these elements."""
        return (
            elements.keys * self.keys + elements.values * self.values + elements.state * self.state
        )


class PartReader(Protocol[Answer]):
    """An engine's answer for each sort of part."""

    def tokens(self, part: TokenPart) -> Answer:
        """Read keys and values."""

    def latent(self, part: LatentPart) -> Answer:
        """Read latents."""

    def index(self, part: IndexPart) -> Answer:
        """Read an indexer's keys."""

    def entries(self, part: EntryPart) -> Answer:
        """Read entries that several tokens share."""

    def state(self, part: StatePart) -> Answer:
        """Read a recurrent state."""


class CachePart(ABC):
    """One thing of which a sequence has one for each token, for several, or just one."""

    @property
    @abstractmethod
    def elements(self) -> Elements:
        """Elements of one."""

    @property
    def limit(self) -> int | None:
        """Tokens beyond which there are no more of it."""
        return None

    @property
    def tokens_each(self) -> int:
        """Tokens that share one; 0 where a sequence has one, however long it is."""
        return 1

    def times(self, context: int, multiple: int = 1) -> int:
        """How many a sequence of `context` tokens has, where tokens are stored in multiples."""
        tokens = context if self.limit is None else min(context, self.limit)
        return -(-tokens // multiple) * multiple

    def amount(self, context: int, widths: Widths, multiple: int = 1) -> int:
        """Amount that a sequence of `context` tokens keeps of it."""
        return self.times(context, multiple) * widths.amount(self.elements)

    def share(self, gpus: int) -> tuple[int, int]:
        """The part of it that each of several tensor-parallel GPUs holds, as a fraction."""
        return 1, 1

    @abstractmethod
    def read_by(self, reader: PartReader[Answer]) -> Answer:
        """Give it to the method of a reader that is for it."""


@dataclass(frozen=True, slots=True)
class TokenPart(CachePart):
    """Keys and values of tokens, whole for each head.

    Attributes:
        key_width, value_width: elements of a token, over all heads.
        heads: heads that it can be split over.
        window: tokens that stay, None for all.
        rope_width: rotary part of the keys, where engines keep it wider than the rest.
    """

    key_width: int
    value_width: int = 0
    heads: int = 1
    window: int | None = None
    rope_width: int = 0

    @property
    def elements(self) -> Elements:
        return Elements(self.key_width, self.value_width)

    @property
    def limit(self) -> int | None:
        return self.window

    def share(self, gpus: int) -> tuple[int, int]:
        """Each GPU holds whole heads, at least one."""
        return -(-self.heads // gpus), self.heads

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.tokens(self)

    def compared_width(self, head_dim: int | None) -> float:
        """Elements that a query of one head is compared with."""
        return self.key_width / max(1, self.heads)

    @property
    def output_width(self) -> float:
        """Elements that one head gives as its output."""
        return self.value_width / max(1, self.heads)

    def readers(self, query_heads: int) -> float:
        """Query heads that read each head of keys apart."""
        return query_heads / max(1, self.heads)


@dataclass(frozen=True, slots=True)
class LatentPart(TokenPart):
    """One latent of a token for all heads, which every GPU holds; `head_keys` are the elements of
    the keys that it expands to."""

    head_keys: int = 0

    @property
    def latent_width(self) -> int:
        """Elements without the rotary part."""
        return self.key_width - self.rope_width

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.latent(self)

    def compared_width(self, head_dim: int | None) -> float:
        return min(self.key_width, head_dim or self.key_width)

    @property
    def output_width(self) -> float:
        return self.latent_width

    def readers(self, query_heads: int) -> float:
        """It is read once for all of them."""
        return 1.0

    def query_width(self, query_heads: int) -> int:
        """Values of one token's queries: as projected, absorbed into the latent, and joined with
        their rotary part."""
        return self.head_keys + query_heads * (2 * self.key_width - self.rope_width)


@dataclass(frozen=True, slots=True)
class IndexPart(CachePart):
    """Keys by which sparse attention finds the tokens that it reads, on every GPU."""

    width: int

    @property
    def elements(self) -> Elements:
        return Elements(self.width)

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.index(self)


@dataclass(frozen=True, slots=True)
class EntryPart(CachePart):
    """Entries that each stand for several tokens, for all of the context and on every GPU.

    Attributes:
        width: elements of one.
        index_width: elements by which an indexer finds it.
        ratio: tokens that share one.
        rope_width: rotary part.
    """

    width: int
    index_width: int
    ratio: int
    rope_width: int = 0

    @property
    def elements(self) -> Elements:
        return Elements(self.width + self.index_width)

    @property
    def tokens_each(self) -> int:
        return self.ratio

    def times(self, context: int, multiple: int = 1) -> int:
        """Tokens of an entry that is not full are not in any."""
        return context // self.ratio

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.entries(self)


@dataclass(frozen=True, slots=True)
class StatePart(CachePart):
    """A recurrent state, whose heads or channels tensor-parallel GPUs divide.

    Attributes:
        size: its elements, 0 where they are not known.
        conv_size: of these, the inputs that a short convolution remembers.
        wide: the configuration asks for FP32 beside 16-bit convolution inputs.
    """

    size: int
    conv_size: int = 0
    wide: bool = False

    @property
    def elements(self) -> Elements:
        return Elements(state=self.size)

    @property
    def tokens_each(self) -> int:
        return 0

    def times(self, context: int, multiple: int = 1) -> int:
        """One, of a sequence of any length."""
        return 1

    def share(self, gpus: int) -> tuple[int, int]:
        return 1, gpus

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.state(self)

    @property
    def recurrent_size(self) -> int:
        """Elements without the inputs of convolutions."""
        return self.size - self.conv_size
