"""Verdict: whether a model runs on a machine, and where its weights are."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """Verdict on a model and a machine, from the best to the worst."""

    FITS = "fits"  # even at the high end of every band
    TIGHT = "tight"  # at the likely values, not at the high end
    OFFLOAD = "offload"  # part of the weights must live in system memory
    FROM_DISK = (
        "from_disk"  # system memory does not hold that part: the file's pages are read again
    )
    DOES_NOT_FIT = "does_not_fit"  # memory is short
    NOT_SUPPORTED = "not_supported"  # no engine runs it there, however much memory there is

    @property
    def place(self) -> int:
        """Rank of the verdict: 0 for the best, FITS."""
        return _PLACES[self]

    @property
    def all_on_gpu(self) -> bool:
        """Whether it is FITS or TIGHT: the model runs with nothing in system memory."""
        return self is Verdict.FITS or self is Verdict.TIGHT

    @property
    def in_memory(self) -> bool:
        """Whether GPUs and system memory together hold the model."""
        return self.all_on_gpu or self is Verdict.OFFLOAD

    @property
    def runs(self) -> bool:
        """Whether the model runs at all, however slowly."""
        return self.in_memory or self is Verdict.FROM_DISK


_PLACES = {verdict: place for place, verdict in enumerate(Verdict)}
