"""Parts of a cache: units that layers keep of a sequence."""

# A kind of layer is made of parts. Engines read parts (`PartReader`), so a new kind costs the sum
# of its parts.

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

Answer = TypeVar("Answer", covariant=True)


class Elements(NamedTuple):
    """Elements of one token, entry or state, by the type that stores them."""

    keys: int = 0
    values: int = 0
    state: int = 0


class Widths(NamedTuple):
    """Widths of single elements, in any unit."""

    keys: int
    values: int
    state: int

    def amount(self, elements: Elements) -> int:
        """Return the sum of the widths of these elements."""
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
    """A kind of unit that a sequence keeps once per token, once per several tokens, or once."""

    @property
    @abstractmethod
    def elements(self) -> Elements:
        """Elements of one unit."""

    @property
    def limit(self) -> int | None:
        """Tokens beyond which no more units are kept, None for no limit."""
        return None

    @property
    def tokens_each(self) -> int:
        """Tokens that share a unit; 0 if a sequence of any length has one."""
        return 1

    def times(self, context: int, multiple: int = 1) -> int:
        """Return the units of a sequence of `context` tokens, stored in multiples of `multiple`."""
        tokens = context if self.limit is None else min(context, self.limit)
        return -(-tokens // multiple) * multiple

    def amount(self, context: int, widths: Widths, multiple: int = 1) -> int:
        """Return the amount that a sequence of `context` tokens keeps."""
        return self.times(context, multiple) * widths.amount(self.elements)

    def share(self, gpus: int) -> tuple[int, int]:
        """Return the fraction that each of `gpus` tensor-parallel GPUs holds."""
        return 1, 1

    @abstractmethod
    def read_by(self, reader: PartReader[Answer]) -> Answer:
        """Call the reader's method for this part."""


@dataclass(frozen=True, slots=True)
class TokenPart(CachePart):
    """Keys and values of tokens, whole for each head."""

    key_width: int  # `key_width`, `value_width`: elements of a token, over all heads
    value_width: int = 0
    heads: int = 1  # heads that it can be split over
    window: int | None = None  # tokens that stay, None for all
    rope_width: int = 0  # rotary part of the keys, if engines keep it at a wider type than the rest

    @property
    def elements(self) -> Elements:
        return Elements(self.key_width, self.value_width)

    @property
    def limit(self) -> int | None:
        return self.window

    def share(self, gpus: int) -> tuple[int, int]:
        # each GPU holds whole heads, at least one
        return -(-self.heads // gpus), self.heads

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.tokens(self)

    def compared_width(self, head_dim: int | None) -> float:
        """Return the elements that a query of one head is compared with."""
        return self.key_width / max(1, self.heads)

    @property
    def output_width(self) -> float:
        """Elements of one head's output."""
        return self.value_width / max(1, self.heads)

    def readers(self, query_heads: int) -> float:
        """Return the query heads that read each head of keys separately."""
        return query_heads / max(1, self.heads)


@dataclass(frozen=True, slots=True)
class LatentPart(TokenPart):
    """One latent of a token for all heads, on every GPU; it expands to `head_keys` key elements."""

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
        # read once for all query heads
        return 1.0

    def query_width(self, query_heads: int) -> int:
        """Return the values of one token's queries."""
        # as projected, absorbed into the latent, and joined with their rotary part
        return self.head_keys + query_heads * (2 * self.key_width - self.rope_width)


@dataclass(frozen=True, slots=True)
class IndexPart(CachePart):
    """Keys of a sparse-attention indexer, on every GPU."""

    width: int

    @property
    def elements(self) -> Elements:
        return Elements(self.width)

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.index(self)


@dataclass(frozen=True, slots=True)
class EntryPart(CachePart):
    """Entries shared by several tokens each, for all of the context and on every GPU."""

    width: int  # elements of one entry
    index_width: int  # elements of an indexer's key for it
    ratio: int  # tokens that share one
    rope_width: int = 0  # elements of the rotary part

    @property
    def elements(self) -> Elements:
        return Elements(self.width + self.index_width)

    @property
    def tokens_each(self) -> int:
        return self.ratio

    def times(self, context: int, multiple: int = 1) -> int:
        # tokens of an incomplete entry are in none
        return context // self.ratio

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.entries(self)


@dataclass(frozen=True, slots=True)
class StatePart(CachePart):
    """A recurrent state, whose heads or channels tensor-parallel GPUs divide."""

    size: int  # its elements, 0 if unknown
    conv_size: int = 0  # elements of it that are inputs of a short convolution
    wide: bool = False  # the configuration asks for FP32 with 16-bit convolution inputs

    @property
    def elements(self) -> Elements:
        return Elements(state=self.size)

    @property
    def tokens_each(self) -> int:
        return 0

    def times(self, context: int, multiple: int = 1) -> int:
        return 1

    def share(self, gpus: int) -> tuple[int, int]:
        return 1, gpus

    def read_by(self, reader: PartReader[Answer]) -> Answer:
        return reader.state(self)

    @property
    def recurrent_size(self) -> int:
        """Elements without the inputs of convolutions."""
        return self.size - self.conv_size
