"""How much memory a snapshot takes, so that caches of snapshots can be bounded in bytes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def memory_bytes(value: Any) -> int:
    """Bytes of a value of dataclasses, mappings, sequences and scalars, with all it holds.

    An object that two places hold counts once.

    >>> memory_bytes("a" * 1000) - memory_bytes("")
    1000
    """
    total_bytes, seen, waiting = 0, set[int](), [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        total_bytes += sys.getsizeof(item)
        if is_dataclass(item):
            waiting.extend(getattr(item, field.name) for field in fields(item))
        elif isinstance(item, Mapping):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            waiting.extend(item)
    return total_bytes
