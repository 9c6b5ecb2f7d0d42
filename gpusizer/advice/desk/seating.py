"""Seating: servers in the order in which they start, each with its options on its devices.

An engine that budgets with a share of the card receives the least that surely holds its model
beside those that started before it. vLLM refuses a share larger than what is free (since 0.9.1),
counts what others hold as its own before that, and counts what others load while it starts as its
own, too (its issues 14376 and 55827): servers on one card start one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.advice.capacity_limits import SureLimits
from gpusizer.advice.desk.choices import Choices, as_devices, share_of
from gpusizer.advice.desk.placing import Placing
from gpusizer.advice.desk.rooms import Seat
from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.run_config import RunConfig, memory_of
from gpusizer.fit.run_configs import judged
from gpusizer.fit.study import Study
from gpusizer.gpus import Gpu
from gpusizer.model.tasks import kind_of


@dataclass(frozen=True, slots=True)
class DeskServer:
    """A model where it is loaded.

    Attributes:
        study: the model and its workload, with the share that its engine receives.
        config: how it runs there, beside what started before it.
        seat: its devices in the machine, what it takes of them, and whether it stays.
        start: its place in the order of starting, from 1; None for one that waits.
        share: share of each of its cards that its engine receives, None under one without.
        cache_bytes: what that share surely leaves its KV cache on each card, None without one.
        longest_context: tokens of one user if it also got all that nothing takes; None unknown.
    """

    study: Study
    config: RunConfig
    seat: Seat
    start: int | None
    share: float | None
    cache_bytes: int | None
    longest_context: int | None

    @property
    def devices(self) -> tuple[int, ...]:
        """Numbers of its devices in the machine; none where system memory holds all of it."""
        return self.seat.group

    @property
    def stays(self) -> bool:
        """Whether it is never unloaded for another."""
        return self.seat.stays

    @property
    def told(self) -> str:
        """The option that limits its memory: a share of the card, or layers on devices; "" for an
        engine that takes what it needs."""
        if self.share is not None:
            return f"{self.config.estimate.engine.abilities.share_option} {self.share:g}"
        arranged = self.config.arranged
        return "" if arranged is None else f"-ngl {arranged.how.gpu_layers}"


def servers_of(
    machine: Machine, models: Sequence[Choices], placing: Placing
) -> tuple[DeskServer | None, ...]:
    """Return the server of each model, None for one that nothing loads."""
    machine = as_devices(machine)
    servers: list[DeskServer | None] = [None] * len(models)
    left = [gpu.device_free_bytes for gpu in machine.gpus]
    for start, (number, seat) in enumerate(_in_order(models, placing), start=1):
        before = left if seat.stays else placing.state.left_bytes
        servers[number] = _server(machine, models[number], seat, before, placing, start)
        if seat.stays:
            for device, taking in zip(seat.group, seat.option.takings, strict=True):
                left[device] -= taking.held_bytes
    return tuple(servers)


def _in_order(models: Sequence[Choices], placing: Placing) -> Iterator[tuple[int, Seat]]:
    # Those that stay first, of these engines with a share of the card, the largest first.
    seats = [(number, seat) for number, seat in enumerate(placing.seats) if seat is not None]

    def key(pair: tuple[int, Seat]) -> tuple[bool, bool, int, int]:
        number, seat = pair
        takes_share = models[number].config_of(seat.option).estimate.utilization < 1
        return not seat.stays, not takes_share, -seat.option.total_bytes, number

    yield from sorted(seats, key=key)


def _server(
    machine: Machine,
    model: Choices,
    seat: Seat,
    before: Sequence[int],
    placing: Placing,
    start: int,
) -> DeskServer:
    config, study = model.config_of(seat.option), model.study
    beside = _on(config, machine, seat, before)
    share = None
    if config.machine.gpus and config.arranged is None:
        share = share_of(config.estimate, beside.gpu, beside.gpu.free_bytes)
    if share is not None:
        study = study.with_workload(memory_utilization=share)
    if config.arranged is None and config.in_turns is None and config.machine.gpus:
        final = judged(study, beside, study.reestimate(config.estimate))
    elif config.arranged is not None and len(seat.group) > 1:
        # llama.cpp deals layers out by what is free: its split becomes an option.
        final = replace(config, arranged=replace(config.arranged, default=False))
    else:
        final = config
    return DeskServer(
        study=study,
        config=final,
        seat=seat,
        start=start if seat.stays else None,
        share=share,
        cache_bytes=None if share is None else _cache_bytes(study, final, share),
        longest_context=_longest(model.study, config, machine, seat, placing),
    )


def _on(config: RunConfig, machine: Machine, seat: Seat, left: Sequence[int]) -> Machine:
    # Devices with so much left; equal ones as the one with the least.
    gpus = tuple(_with_free(machine.gpus[device], left[device]) for device in seat.group)
    if config.machine.is_uniform and gpus:
        gpus = (min(gpus, key=lambda gpu: gpu.device_free_bytes),) * len(gpus)
    return replace(config.machine, gpus=gpus)


def _with_free(gpu: Gpu, free_bytes: int) -> Gpu:
    # Nothing is stated of a device that nothing else uses.
    return gpu if free_bytes == gpu.device_free_bytes else replace(gpu, free_bytes=free_bytes)


def _cache_bytes(study: Study, config: RunConfig, share: float) -> int | None:
    estimate = config.estimate
    cache = estimate.per_gpu.kv_cache.likely
    # Whisper also keeps an encoder's output (`CrossAttentionSpec`, vllm/v1/kv_cache_interface.py),
    # which estimates leave out: vLLM measures what its share has room for.
    reads_encoder = kind_of(study.profile) in ("speech", "encoder_decoder")
    if not cache or reads_encoder or estimate.engine.budget_rule != "whole":
        return None
    others = estimate.shared.held.high - estimate.per_gpu.kv_cache.high
    return max(cache, int(share * memory_of(estimate.engine, config.gpu)) - others)


def _longest(
    study: Study, config: RunConfig, machine: Machine, seat: Seat, placing: Placing
) -> int | None:
    if config.in_turns is not None:
        return None
    left = list(placing.state.left_bytes)
    if seat.stays:
        for device, taking in zip(seat.group, seat.option.takings, strict=True):
            left[device] += taking.held_bytes
    there = _on(config, machine, seat, left)
    if config.arranged is None and config.machine.gpus:
        alone = judged(study, there, config.estimate)
    else:
        alone = replace(config, machine=there)
    return SureLimits(study, Fit.from_config(study, alone)).context
