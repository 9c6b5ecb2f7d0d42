"""TokenizerSection: the tokenizer lists of a GGUF header, which a model's quantizations share.

Of a header of 8 MB all but about 50 kB are lists of tokens and merges, and these are equal in
every quantization of a repository. Only their positions and lengths are stored, so that the
header of another quantization can be read without them: the bytes before the list of tokens, the
head (key, types and length) of each further list at its known offset, and all bytes after the
last list. The result is used only if the number of tokens and the heads are equal, the metadata
entries and tensors are as many as the file states, and the tensors end at the last byte of the
file. Otherwise the whole header is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ENTRIES = 256
_LEAST_HEAD_BYTES = 8 + 1 + 4 + 4 + 8  # a key of one character, two types and two lengths


@dataclass(frozen=True, slots=True)
class TokenizerSection:
    """Position and lengths of the tokenizer lists in one header.

    Attributes:
        tokens: number of entries of the first list, the tokens.
        start: offset of the first token in the file, in bytes.
        length: bytes from the first token to the end of the last list.
        heads: key, types and length of each further list, as bytes of the file, with their
            offsets from the first token in bytes.
        bytes_after: bytes of the header after the last list.
    """

    tokens: int
    start: int
    length: int
    heads: tuple[tuple[int, bytes], ...]
    bytes_after: int

    def to_json(self) -> list[Any]:
        heads = [[offset, head.hex()] for offset, head in self.heads]
        return [self.tokens, self.start, self.length, heads, self.bytes_after]

    @classmethod
    def from_json(cls, data: Any) -> TokenizerSection:
        """Inverse of `to_json`. Raises ValueError, TypeError or KeyError for anything else."""
        tokens, start, length, heads, bytes_after = data
        if any(
            type(number) is not int or number < 0 for number in (tokens, start, length, bytes_after)
        ):
            raise ValueError("a number of a tokenizer section")
        parsed_heads = tuple((int(offset), bytes.fromhex(head)) for offset, head in heads)
        end = 0
        for offset, head in parsed_heads:
            if offset < end or len(head) < _LEAST_HEAD_BYTES:
                raise ValueError("a head of a tokenizer section")
            end = offset + len(head)
        if end > length:
            raise ValueError("the length of a tokenizer section")
        return cls(tokens, start, length, parsed_heads, bytes_after)


class TokenizerSections:
    """The tokenizer sections of the last 256 repositories read. Safe to share between threads.

    `load` and `save` store them beyond this process. A wrong section costs a second read and
    never a wrong result, so that the store need not be trusted.
    """

    def __init__(
        self,
        load: Callable[[str], TokenizerSection | None] = lambda repo_id: None,
        save: Callable[[str, TokenizerSection], None] = lambda repo_id, section: None,
    ) -> None:
        self._load = load
        self._save = save
        self._sections: OrderedDict[str, TokenizerSection] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, repo_id: str) -> TokenizerSection | None:
        """Return the section of another file of the repository, None if none was read."""
        key = repo_id.casefold()
        with self._lock:
            section = self._sections.get(key)
        return section or self._load(key)

    def put(self, repo_id: str, section: TokenizerSection) -> None:
        """Store the section of a file whose whole header was read."""
        key = repo_id.casefold()
        with self._lock:
            self._sections[key] = section
            self._sections.move_to_end(key)
            while len(self._sections) > _ENTRIES:
                self._sections.popitem(last=False)
        self._save(key, section)
