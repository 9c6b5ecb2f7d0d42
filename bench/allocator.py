"""Simulates PyTorch's caching allocator when every training step has another length.

    python -m bench.allocator

Steps of a decoder with checkpoints follow the allocator's rules (c10/cuda/CUDACachingAllocator.cpp
of PyTorch 2.1): the smallest free block that is large enough, split if more than the smallest piece
is left, else a new segment; neighbours are joined once both are free; segments return to the device
only when it is full, and then all without a live block (release_cached_blocks). Lengths are
log-normal as in ms-swift's benchmark (docs/source_en/LLM/Benchmark.md: 3234.4 ± 2547.5 tokens, at
least 91), without those beyond the cap, as in ms-swift; or even between two bounds. It prints the
constants of `gpusizer/training/lengths.py`.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

_MIB = 1 << 20
_UNIT = 512  # kMinBlockSize
_SMALL, _SMALL_SEGMENT = _MIB, 2 * _MIB  # kSmallSize, kSmallBuffer
_MIDDLE, _MIDDLE_SEGMENT = 10 * _MIB, 20 * _MIB  # kMinLargeAlloc, kLargeBuffer
_ROUND_LARGE = 2 * _MIB
_SEGMENT_SPAN = 1 << 44  # addresses of one segment lie closer together than this
_STEPS, _STEPS_OF_EQUALS = 200, 6
_FOUND_WITHIN = 0.01  # of the peak
_MEAN_TOKENS, _SPREAD_TOKENS, _SHORTEST = 3234.4, 2547.5, 91


@dataclass(slots=True, eq=False)
class Block:
    """A piece of a segment between its neighbours, in the pool of small or of large ones."""

    address: int
    size: int
    small: bool
    free: bool = False
    before: Block | None = None
    after: Block | None = None


class OutOfMemory(Exception):
    """A segment does not fit the device, even after all free segments were returned."""


class CachingAllocator:
    """Allocator with bytes in use, their peak, and bytes reserved on a device of `capacity`."""

    def __init__(self, capacity: float = math.inf) -> None:
        self.capacity = capacity
        self.allocated = self.peak = self.reserved = self._segments = 0
        self._free: dict[bool, list[tuple[int, int, Block]]] = {True: [], False: []}

    def take(self, wanted: float) -> Block:
        """Return a block of at least `wanted` bytes. Raises OutOfMemory."""
        size = max(_UNIT, -(-int(wanted) // _UNIT) * _UNIT)
        small = size <= _SMALL
        pool = self._free[small]
        place = bisect.bisect_left(pool, (size, -1))
        block = pool.pop(place)[2] if place < len(pool) else self._segment(size)
        left = block.size - size
        if left >= _UNIT if small else left > _SMALL:
            rest = Block(block.address + size, left, small, True, block, block.after)
            if rest.after:
                rest.after.before = rest
            block.after, block.size = rest, size
            self._put(rest)
        block.free = False
        self.allocated += block.size
        self.peak = max(self.peak, self.allocated)
        return block

    def give(self, *blocks: Block) -> None:
        """Take blocks back; each joins its free neighbours."""
        for block in blocks:
            self.allocated -= block.size
            block.free = True
            if block.after and block.after.free:
                self._join(block, self._taken(block.after))
            if block.before and block.before.free:
                before = self._taken(block.before)
                self._join(before, block)
                block = before
            self._put(block)

    def _segment(self, size: int) -> Block:
        small = size <= _SMALL
        rounded = -(-size // _ROUND_LARGE) * _ROUND_LARGE
        large = _MIDDLE_SEGMENT if size < _MIDDLE else rounded
        self._segments += 1
        taken = _SMALL_SEGMENT if small else large
        if self.reserved + taken > self.capacity:
            self._release()
        if self.reserved + taken > self.capacity:
            raise OutOfMemory
        self.reserved += taken
        return Block(self._segments * _SEGMENT_SPAN, taken, small)

    def _release(self) -> None:
        # Segments without a live block return to the device.
        for small, pool in self._free.items():
            whole = [entry for entry in pool if not (entry[2].before or entry[2].after)]
            self.reserved -= sum(size for size, _, _ in whole)
            self._free[small] = [entry for entry in pool if entry[2].before or entry[2].after]

    def _put(self, block: Block) -> None:
        bisect.insort(self._free[block.small], (block.size, block.address, block))

    def _taken(self, block: Block) -> Block:
        pool = self._free[block.small]
        pool.pop(bisect.bisect_left(pool, (block.size, block.address)))
        return block

    @staticmethod
    def _join(block: Block, after: Block) -> None:
        block.size += after.size
        block.after = after.after
        if block.after:
            block.after.before = block


@dataclass(frozen=True, slots=True)
class Decoder:
    """Widths of a decoder: residual stream, keys of a layer, gated MLP, vocabulary."""

    hidden: int
    keys: int
    inner: int
    layers: int
    vocabulary: int
    raises_logits: bool  # its code makes FP32 logits and keeps a shifted copy of them


def step(pool: CachingAllocator, model: Decoder, tokens: int) -> None:
    """Run the forward and the backward pass of one sequence next to frozen 16-bit weights."""
    checkpoints = [pool.take(2 * model.hidden * tokens)]
    for _ in range(model.layers):
        output, kept = _layer(pool, model, tokens)
        pool.give(*kept)
        checkpoints.append(output)
    normed = pool.take(2 * model.hidden * tokens)
    gradient_of_logits = _loss(pool, model, tokens)
    gradient = pool.take(2 * model.hidden * tokens)
    pool.give(gradient_of_logits, normed)
    for _ in range(model.layers):
        last = checkpoints.pop()
        output, kept = _layer(pool, model, tokens)
        before = _backwards(pool, model, tokens)
        pool.give(*kept, gradient, output, last)
        gradient = before
    pool.give(gradient, checkpoints.pop())


def _layer(pool: CachingAllocator, model: Decoder, tokens: int) -> tuple[Block, list[Block]]:
    # The output of one layer, and the blocks that its backward pass needs.
    def take(*widths: int) -> list[Block]:
        return [pool.take(width * tokens) for width in widths]

    hidden, keys, inner = model.hidden, model.keys, model.inner
    norm = take(4 * hidden, 4 * hidden, 2 * hidden)
    plain = take(2 * hidden, 2 * keys)
    value, cast = take(2 * keys, 4 * hidden)
    turned = take(2 * hidden, 2 * keys)
    pool.give(*plain)
    attention, projected = take(2 * hidden, 2 * hidden)
    residual = take(2 * hidden)
    pool.give(projected)
    second = take(4 * hidden, 4 * hidden, 2 * hidden)
    gated = take(2 * inner, 2 * inner, 2 * inner, 2 * inner)
    down, output = take(2 * hidden, 2 * hidden)
    pool.give(down)
    return output, [*norm, value, cast, *turned, attention, *residual, *second, *gated]


def _backwards(pool: CachingAllocator, model: Decoder, tokens: int) -> Block:
    # The gradient of a layer's input; gradients within the layer come and go.
    hidden, keys, inner = (2 * width * tokens for width in (model.hidden, model.keys, model.inner))
    product, act, up, gate = (pool.take(inner) for _ in range(4))
    pool.give(product, act)
    first, second = pool.take(hidden), pool.take(hidden)
    pool.give(up, gate)
    wide = pool.take(2 * hidden)
    pool.give(first, second)
    stream = pool.take(hidden)
    pool.give(wide)
    parts = [pool.take(hidden), pool.take(keys), pool.take(keys)]
    result = pool.take(hidden)
    pool.give(*parts, stream)
    return result


def _loss(pool: CachingAllocator, model: Decoder, tokens: int) -> Block:
    # The 16-bit gradient of the logits, after the loss and its backward pass.
    entries = tokens * model.vocabulary
    logits = pool.take(2 * entries)
    if model.raises_logits:
        wide = pool.take(4 * entries)
        pool.give(logits)
        shifted, logits = pool.take(4 * entries), wide
        softmax = pool.take(4 * entries)
        pool.give(shifted)
    else:
        shifted, cast = pool.take(2 * entries), pool.take(4 * entries)
        softmax = pool.take(4 * entries)
        pool.give(cast, shifted)
        wide = pool.take(4 * entries)  # accelerate's copy of what the model returns
        pool.give(logits)
        logits = wide
    pool.give(logits)
    loss, gradient = pool.take(4 * entries), pool.take(4 * entries)
    pool.give(loss, softmax)
    result = pool.take(2 * entries)
    pool.give(gradient)
    return result


def lengths(cap: int, chance: random.Random) -> Iterator[int]:
    """Yield log-normal lengths of at most `cap` tokens."""
    variance = math.log(1 + (_SPREAD_TOKENS / _MEAN_TOKENS) ** 2)
    middle = math.log(_MEAN_TOKENS) - variance / 2
    while True:
        tokens = int(chance.lognormvariate(middle, math.sqrt(variance)))
        if _SHORTEST <= tokens <= cap:
            yield tokens


def between(low: int, high: int, chance: random.Random) -> Iterator[int]:
    """Yield lengths of `low` to `high` tokens, evenly distributed."""
    while True:
        yield chance.randint(low, high)


@dataclass(frozen=True, slots=True)
class Left:
    """Bytes beyond the peak in use, as shares of that peak."""

    held: float  # in segments on a device with room for all
    stays: float  # on the smallest device that the steps run on


def left_by(model: Decoder, tokens: Sequence[int]) -> Left:
    """Return the bytes beyond the peak that steps of these lengths leave."""
    pool = played(model, tokens)
    few, enough = pool.peak, pool.reserved
    while enough - few > _FOUND_WITHIN * pool.peak:
        middle = (few + enough) // 2
        try:
            played(model, tokens, middle)
        except OutOfMemory:
            few = middle
        else:
            enough = middle
    return Left(pool.reserved / pool.peak - 1, enough / pool.peak - 1)


def played(model: Decoder, tokens: Sequence[int], capacity: float = math.inf) -> CachingAllocator:
    """Return the allocator after steps of these lengths. Raises OutOfMemory."""
    pool = CachingAllocator(capacity)
    for length in tokens:
        step(pool, model, length)
    return pool


MODELS = {
    "Qwen-1.8B": Decoder(2048, 2048, 5504, 24, 151_936, raises_logits=False),
    "Qwen-7B": Decoder(4096, 4096, 11_008, 32, 151_936, raises_logits=False),
    "Llama-3-8B": Decoder(4096, 1024, 14_336, 32, 128_256, raises_logits=True),
    "Yi-6B": Decoder(4096, 512, 11_008, 32, 64_000, raises_logits=True),
}


def main() -> None:
    """Print for each model and cap what lengths leave, compared with equal lengths.

    Lines are of two orders of log-normal lengths, then of even ones: held, remaining, and the share
    of the excess that remains.
    """
    for name, model in MODELS.items():
        for cap in (512, 2048, 8192):
            equal = left_by(model, [cap] * _STEPS_OF_EQUALS)
            for seed in range(2):
                drawn = islice(lengths(cap, random.Random(seed)), _STEPS)
                _show(f"{name:12}      up to {cap:>6}", left_by(model, list(drawn)), equal)
        for low in (1024, 2007):
            drawn = islice(between(low, cap := 2048, random.Random(0)), _STEPS)
            equal = left_by(model, [cap] * _STEPS_OF_EQUALS)
            _show(f"{name:12}{low:>6} to {cap:>6}", left_by(model, list(drawn)), equal)


def _show(title: str, left: Left, equal: Left) -> None:
    share = (left.stays - equal.stays) / (left.held - equal.held)
    print(f"{title}{left.held:>7.2f}{left.stays:>7.2f}{share:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
