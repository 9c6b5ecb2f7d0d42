"""HeaderTurns: safetensors headers of one model, read in one or two ranges, parsed in turn."""

from __future__ import annotations

import threading

from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from gpusizer.hub.tensors import TensorGroup, group_entries
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.byte_window import Source
from scrapers.formats.safetensors_header import count_tensors, header_end, parse_header

# Tensors of a file, and its bytes if a response gave them. Tensors are grouped as soon as they are
# parsed: a list of them takes 100 times the memory.
Header = tuple[tuple[TensorGroup, ...], int | None]


class HeaderTurns:
    """Parses one header at a time, so that only one JSON is in memory. Thread-safe.

    After a refused header no other is read, because the model cannot be read.
    """

    def __init__(self, budget: ReadBudget) -> None:
        self._budget = budget
        self._turn = threading.Lock()
        self._refusal: ModelUnreadable | None = None

    def read(self, source: Source, path: str, first_bytes: int) -> Header:
        """Read `first_bytes` of a file, then the rest of its header, and parse that.

        Raises as `header_end` and `parse_header` do, HubUnreachable ("truncated"), LimitsExceeded
        ("tensors", "tensor_groups").
        """
        budget, limits = self._budget, self._budget.limits
        header, file_bytes = source(0, first_bytes)
        end = header_end(header, file_bytes, budget.repo_id, path, limits)
        # The rest of a longer header is read in its turn: many long ones would fill the memory.
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
