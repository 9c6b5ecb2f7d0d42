"""PyTorch's caching allocator by its rules, and what varying lengths leave in it."""

from __future__ import annotations

import random
from itertools import islice
from statistics import median

import pytest

from bench.allocator import CachingAllocator, Decoder, OutOfMemory, left_by, lengths, step
from gpusizer.training.lengths import LEFT

_MIB = 1 << 20


def test_a_longer_block_does_not_fit_where_a_shorter_one_was() -> None:
    pool = CachingAllocator()
    pool.give(pool.take(100 * _MIB))
    pool.give(pool.take(101 * _MIB))
    assert (pool.reserved, pool.peak) == (202 * _MIB, 102 * _MIB)  # too little is left to split
    pool.give(pool.take(100 * _MIB))
    assert pool.reserved == 202 * _MIB


def test_the_smallest_block_is_split_and_joined_again() -> None:
    pool = CachingAllocator()
    first, second = pool.take(60 * _MIB), pool.take(100 * _MIB)
    pool.give(first, second)
    parts = [pool.take(30 * _MIB), pool.take(30 * _MIB)]
    assert parts[0].after is parts[1] and pool.reserved == 160 * _MIB
    pool.give(*parts)
    assert pool.take(60 * _MIB).address == first.address
    assert pool.reserved == 160 * _MIB


def test_small_and_middling_blocks_share_segments() -> None:
    pool = CachingAllocator()
    for wanted in (700, 512, 900_000):
        pool.take(wanted)
    assert pool.reserved == 2 * _MIB and pool.allocated == 1024 + 512 + 900_096
    pool.take(2 * _MIB)
    pool.take(9 * _MIB)
    assert pool.reserved == 22 * _MIB


def test_equal_lengths_leave_little_behind() -> None:
    model = Decoder(1024, 256, 2816, 6, 32_000, raises_logits=True)
    pool = CachingAllocator()
    for _ in range(12):
        step(pool, model, 1000)
    assert pool.reserved < 1.4 * pool.peak


def test_varying_lengths_leave_about_twice_the_peak() -> None:
    """The constant of the estimate is the median of larger models and more steps."""
    model = Decoder(1024, 256, 2816, 6, 128_000, raises_logits=True)
    drawn = (list(islice(lengths(2048, random.Random(seed)), 120)) for seed in range(3))
    left = median(left_by(model, tokens).held for tokens in drawn)
    assert LEFT / 2 < left < 2 * LEFT


def test_a_full_device_gets_back_segments_without_a_live_block() -> None:
    """Of 300 MiB: 101 do not fit in 100 free ones, whose whole segment is released; 60 beside a
    live block are not."""
    pool = CachingAllocator(300 * _MIB)
    pool.give(pool.take(100 * _MIB))
    live, rest = pool.take(40 * _MIB), pool.take(60 * _MIB)
    pool.give(rest)
    assert pool.reserved == 100 * _MIB
    pool.give(pool.take(150 * _MIB))
    assert pool.reserved == 250 * _MIB
    kept = pool.take(200 * _MIB)  # 150 went back, the segment of `live` did not
    assert pool.reserved == 300 * _MIB
    pool.give(kept)
    with pytest.raises(OutOfMemory):
        pool.take(201 * _MIB)
    assert live.after is rest
