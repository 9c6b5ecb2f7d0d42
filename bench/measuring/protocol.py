"""What is done, in which order, to tell the parts of a model's memory apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.measuring.backend import Backend, Config, DeviceFull, Training


@dataclass(frozen=True, slots=True)
class Prefill:
    """One prompt. Bytes; None where the device has no such number.

    Attributes:
        tokens: of the prompt.
        weights: tensors alive once the model is loaded.
        cache: tensors that stay after the prompt was read.
        activations: most alive at once beyond weights and cache.
        allocator: most that the allocator held beyond the tensors' own peak.
        context: in use on the device beyond the allocator's.
        full: the device ran out of memory; the other numbers are zero but for the weights.
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
    """One training step in its steady state. Bytes.

    Attributes:
        weights: the model's own, adapters apart.
        adapters: added trainable weights.
        gradients: alive after the backward pass.
        optimizer: states, alive after the first update.
        saved: what the forward pass keeps for the backward pass.
        activations: most alive at once during the forward pass beyond weights and states.
        backward: most alive at once during the backward pass beyond those and all gradients.
        peak: most alive at once during the whole step.
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
    """One reading per context, shortest first, until the device is full.

    The first prompt of a process also loads kernels and their workspaces, so one is read before
    anything is counted. Raises NotBuildable; DeviceFull when not even the weights fit.
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
    """Bytes of cache each further token takes, from the shortest prompt to the longest."""
    done = [reading for reading in readings if not reading.full]
    if len(done) < 2:
        return None
    first, last = done[0], done[-1]
    return (last.cache - first.cache) / (last.tokens - first.tokens)


def measure_training(backend: Backend, config: Config, training: Training) -> Step:
    """The second of two steps, when the optimizer's states exist. Raises NotBuildable."""
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
