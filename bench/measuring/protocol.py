"""The order of operations that separates the parts of a model's memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.measuring.backend import Backend, Config, DeviceFull, Training


@dataclass(frozen=True, slots=True)
class Prefill:
    """The memory of one prompt in bytes; None if the device has no such number.

    Attributes:
        tokens: length of the prompt.
        weights: tensors allocated after the model is loaded.
        cache: tensors that stay allocated after the prompt was read.
        activations: peak of allocated tensors without weights and cache.
        allocator: peak of the allocator's reservation minus the tensors' peak.
        context: bytes in use outside of the allocator.
        full: whether the device ran out of memory; all numbers but the weights are zero then.
    """

    tokens: int
    weights: int
    cache: int = 0
    activations: int = 0
    allocator: int | None = None
    context: int | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The memory of one training step in its steady state, in bytes.

    Attributes:
        weights: the model's own weights, without adapters.
        adapters: added trainable weights.
        gradients: tensors allocated by the backward pass that stay after it.
        optimizer: states that stay allocated after the first update.
        saved: tensors that the forward pass stores for the backward pass.
        activations: peak of the forward pass without weights and states.
        backward: peak of the backward pass without weights, states and all gradients.
        peak: peak of allocated tensors during the whole step.
    """

    weights: int
    adapters: int = 0
    gradients: int = 0
    optimizer: int = 0
    saved: int = 0
    activations: int = 0
    backward: int = 0
    peak: int = 0
    allocator: int | None = None
    context: int | None = None
    full: bool = False


def measure_inference(
    backend: Backend, config: Config, dtype: str, contexts: Sequence[int]
) -> Iterator[Prefill]:
    """Yield one reading per context, shortest first, until the device is full.

    The first prompt of a process also loads kernels and their workspaces, so one prompt is read
    before the measurement. Raises NotBuildable; DeviceFull when not even the weights fit.
    """
    start = backend.live_bytes()
    try:
        backend.load(config, dtype)
        weights = backend.live_bytes() - start
        yield from _series(backend, sorted(contexts), weights)
    finally:
        backend.unload()


def _series(backend: Backend, contexts: Sequence[int], weights: int) -> Iterator[Prefill]:
    tokens = contexts[0]
    try:
        backend.prefill(tokens)
        backend.drop_cache()
        for tokens in contexts:
            yield _prefill(backend, tokens, weights)
    except DeviceFull:
        yield Prefill(tokens=tokens, weights=weights, full=True)


def _prefill(backend: Backend, tokens: int, weights: int) -> Prefill:
    before = backend.live_bytes()
    backend.mark()
    backend.prefill(tokens)
    after, peak = backend.live_bytes(), backend.peak_bytes()
    reserved, context = backend.reserved_peak_bytes(), backend.context_bytes()
    backend.drop_cache()
    return Prefill(
        tokens=tokens,
        weights=weights,
        cache=after - before,
        activations=peak - after,
        allocator=None if reserved is None else reserved - peak,
        context=context,
    )


def growth_per_token(readings: Sequence[Prefill]) -> float | None:
    """Return the bytes of cache per token, from the shortest and the longest prompt."""
    done = [reading for reading in readings if not reading.full]
    if len(done) < 2:
        return None
    first, last = done[0], done[-1]
    return (last.cache - first.cache) / (last.tokens - first.tokens)


def measure_training(backend: Backend, config: Config, training: Training) -> Step:
    """Measure the second of two steps, as the first one creates the states. Raises NotBuildable."""
    start = backend.live_bytes()
    try:
        backend.load(config, "bf16" if training.precision == "bf16" else "f32")
        weights, adapters = backend.live_bytes() - start, 0
        try:
            backend.prepare(training)
            adapters = backend.live_bytes() - start - weights
            return _second_step(backend, training, weights, adapters)
        except DeviceFull:
            return Step(weights=weights, adapters=adapters, full=True)
    finally:
        backend.unload()


def _second_step(backend: Backend, training: Training, weights: int, adapters: int) -> Step:
    before = backend.live_bytes()
    backend.forward(training)
    backend.backward()
    backend.optimizer_step()
    backend.clear_gradients()
    settled = backend.live_bytes()
    backend.mark()
    backend.forward(training)
    saved, forward_peak = backend.live_bytes() - settled, backend.peak_bytes()
    backend.backward()
    held, backward_peak = backend.live_bytes(), backend.peak_bytes()
    backend.optimizer_step()
    peak, reserved = backend.peak_bytes(), backend.reserved_peak_bytes()
    backend.clear_gradients()
    return Step(
        weights=weights,
        adapters=adapters,
        gradients=held - settled,
        optimizer=settled - before,
        saved=saved,
        activations=forward_peak - settled,
        backward=backward_peak - held,
        peak=peak,
        allocator=None if reserved is None else reserved - peak,
        context=backend.context_bytes(),
    )
