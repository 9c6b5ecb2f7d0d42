"""TokenizerSection: the long part of a GGUF header that the quantizations of a model share.

Of a header of 8 MB all but some 50 kB are lists of tokens and merges, and those are the same in
every quantization of a repository. Nothing of them is kept, only their number, so that another
quantization is read around them: what comes before the list of tokens, the head of each further
list where it must be, and everything behind. The reading counts only if it all fits: as many
tokens, the same heads byte for byte, as many metadata entries and tensors as the file says, and
tensors that fill the file to its last byte. Else the whole header is read, as if nothing were
known.
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
    """The lists of one tokenizer, as a header had them.

    Attributes:
        tokens: length of the first list, that of the tokens.
        start: offset of the first token in that file.
        length: bytes from the first token to the end of the last list.
        heads: of each further list its key, types and length as they are written, with their
            offsets from the first token.
        rest: bytes of the header behind the last list.
    """

    tokens: int
    start: int
    length: int
    heads: tuple[tuple[int, bytes], ...]
    rest: int

    def to_json(self) -> list[Any]:
        heads = [[offset, head.hex()] for offset, head in self.heads]
        return [self.tokens, self.start, self.length, heads, self.rest]

    @classmethod
    def from_json(cls, data: Any) -> TokenizerSection:
        """Inverse of `to_json`. Raises ValueError, TypeError or KeyError for anything else."""
        tokens, start, length, heads, rest = data
        if any(type(number) is not int or number < 0 for number in (tokens, start, length, rest)):
            raise ValueError("a number of a tokenizer section")
        written = tuple((int(offset), bytes.fromhex(head)) for offset, head in heads)
        end = 0
        for offset, head in written:
            if offset < end or len(head) < _LEAST_HEAD_BYTES:
                raise ValueError("a head of a tokenizer section")
            end = offset + len(head)
        if end > length:
            raise ValueError("the length of a tokenizer section")
        return cls(tokens, start, length, written, rest)


class TokenizerSections:
    """The last sections that were read, by repository. Safe to share between threads.

    `load` and `save` keep them beyond this process. They need not be trusted.
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
        """The section that another file of the repository had."""
        key = repo_id.casefold()
        with self._lock:
            section = self._sections.get(key)
        return section or self._load(key)

    def put(self, repo_id: str, section: TokenizerSection) -> None:
        """Remember the section of a file that was read whole."""
        key = repo_id.casefold()
        with self._lock:
            self._sections[key] = section
            self._sections.move_to_end(key)
            while len(self._sections) > _ENTRIES:
                self._sections.popitem(last=False)
        self._save(key, section)
