"""The memory that a snapshot is said to take is the memory that Python gives it."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from gpusizer.core.settings import Settings
from scrapers.embedded import EmbeddedSnapshots
from scrapers.snapshot_size import memory_bytes


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-R1", "meta-llama/Meta-Llama-3-70B"])
def test_a_snapshot_takes_about_what_is_said(model: str) -> None:
    embedded = EmbeddedSnapshots(Settings().snapshots_folder)
    embedded.get(model)
    tracemalloc.start()
    try:
        gc.collect()
        before_bytes = tracemalloc.get_traced_memory()[0]
        snapshot = embedded.get(model)
        gc.collect()
        taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    finally:
        tracemalloc.stop()
    assert 0.7 * taken_bytes < memory_bytes(snapshot) < 2 * taken_bytes


def test_what_two_places_hold_counts_once() -> None:
    text = "x" * 10_000
    assert memory_bytes([text, text]) < 1.1 * memory_bytes([text])
