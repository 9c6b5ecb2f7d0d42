"""HeaderTurns: the safetensors headers of one model, read in one range or two, parsed in turn."""

from __future__ import annotations

import threading

from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from gpusizer.hub.tensors import TensorGroup, group_entries
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.byte_window import Source
from scrapers.formats.safetensors_header import count_tensors, header_end, parse_header

Header = tuple[tuple[TensorGroup, ...], int | None]
"""Tensors of a file, and the size of the whole file in bytes if a response gave it.

Tensors are grouped as soon as they are parsed: a list of them takes 100 times the memory.
"""


class HeaderTurns:
    """Parses one header at a time, so that the JSON of one is in memory. Safe between threads.

    After a header that is refused no other is read: the model cannot be read either way.
    """

    def __init__(self, budget: ReadBudget) -> None:
        self._budget = budget
        self._turn = threading.Lock()
        self._refusal: ModelUnreadable | None = None

    def read(self, source: Source, path: str, first_bytes: int) -> Header:
        """Read the first `first_bytes` of a file, as much as its header lacks, and parse that.

        What is left of a header longer than `long_header_bytes` is read in its turn: many long
        ones would fill the memory. Raises as `header_end` and `parse_header` do, HubUnreachable
        ("truncated"), LimitsExceeded ("tensors", "tensor_groups").
        """
        budget, limits = self._budget, self._budget.limits
        header, file_bytes = source(0, first_bytes)
        end = header_end(header, file_bytes, budget.repo_id, path, limits)
        if end <= limits.long_header_bytes:
            header = self._whole(source, header, end)
        with self._turn:
            if self._refusal is not None:
                raise self._refusal
            try:
                budget.seconds_left()
                header = self._whole(source, header, end)
                counted = count_tensors(header)
                budget.count("tensors", counted)
                groups = group_entries(parse_header(header, file_bytes, budget.repo_id, path))
                budget.count_groups(groups, counted)
            except ModelUnreadable as error:
                self._refusal = error
                raise
        return groups, file_bytes

    def _whole(self, source: Source, start: bytes, end: int) -> bytes:
        header = start + source(len(start), end)[0] if end > len(start) else start
        if end > len(header):
            raise HubUnreachable(repo_id=self._budget.repo_id, reason="truncated")
        return header[:end]
