"""PyTorch's caching allocator by its rules, and what varying lengths leave in it."""

from __future__ import annotations

from statistics import median

from bench.allocator import CachingAllocator, Decoder, left_by_lengths, step
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
    left = median(left_by_lengths(model, 2048, 120, seed) for seed in range(5))
    assert LEFT / 2 < left < 2 * LEFT
