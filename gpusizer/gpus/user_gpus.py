"""UserGpus: GPUs as their owners name them, with the memory that is really free, or described.

The catalogue itself knows listed names alone, so that what strangers write in model cards and logs
describes no cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeGuard

from gpusizer.core.errors import UnknownGpu
from gpusizer.core.loose_values import JsonObject
from gpusizer.core.messages import Note
from gpusizer.gpus.catalogue import MAX_NAME_CHARS, Catalogue
from gpusizer.gpus.custom_card import custom_card, is_custom
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.gpu_cores import cores_sold, split_cores, taken_cores, with_cores
from gpusizer.gpus.macs import generation_named, macs_named
from gpusizer.gpus.mig import mig_instance, split_profile
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.gpus.own_memory import NOTHING_STATED, FreeMemory, split_memory, with_memory
from gpusizer.gpus.sized_card import size_named, sized_card
from gpusizer.gpus.vgpu import vgpu_card, vgpu_named

HERE = "here"
"""Names the machine that a command line runs on, which only the shell can look at."""


class FindsGpus(Protocol):
    """What finds a GPU by its name: the catalogue, or the reader's own cards."""

    def find(self, text: str) -> Gpu: ...


@dataclass(frozen=True, slots=True)
class UserGpus:
    """Finds GPUs that a request names.

    `memory` is what is free on each of them, unless a card's own text says otherwise.
    """

    catalogue: Catalogue
    memory: FreeMemory = NOTHING_STATED

    def find(self, text: str) -> Gpu:
        """The GPU of the catalogue, or the card that the text describes ("custom:96GB@1800GB/s"),
        with its free memory ("4090 (20.5 GB free)"), and of a Mac with its GPU cores
        ("M4 Pro 24GB (16 cores)").

        Raises UnknownGpu as the catalogue does, and InvalidRequest for a description or memory in
        another form, for more memory than a device has, and for cores that a chip never had.
        """
        if len(text) > MAX_NAME_CHARS:
            return self.catalogue.find(text)
        if text.strip().casefold() == HERE:
            raise UnknownGpu(value=HERE, reason="here")
        name, memory = split_memory(text)
        gpu = custom_card(name) if is_custom(name) else self._own(name)
        return with_memory(gpu, memory if memory.is_stated else self.memory)

    def _own(self, name: str) -> Gpu:
        """Some card of a bare size, a virtual GPU, an instance of a card, or the GPU of that
        name."""
        size = size_named(name)
        if size is not None:
            return sized_card(size, self.catalogue.gpus)
        virtual = vgpu_named(name)
        if virtual is not None:
            return vgpu_card(virtual, self.catalogue.find(virtual.gpu))
        card, profile = split_profile(name)
        return mig_instance(self.catalogue.find(card), profile) if profile else self._listed(name)

    def _listed(self, name: str) -> Gpu:
        """The GPU of the catalogue with the cores that its name states; of a chip sold with several
        GPUs the largest one, and that it was taken.
        """
        unnumbered, cores = split_cores(name)
        gpu = self._with_cores(unnumbered, cores[-1]) if cores else None
        if gpu is not None:
            return with_cores(gpu, cores[-1])
        gpu = self.catalogue.match(name)
        stated: list[Note] = []
        if gpu is None:
            gpu, *others = generation_named(unnumbered, self.catalogue.gpus) or (
                self.catalogue.find(unnumbered),
            )
            names = ", ".join(other.name for other in others)
            if others:
                stated.append(Note("chip_taken", named=name, gpu=gpu.name, others=names))
        cores_note = taken_cores(gpu)
        if cores_note is not None:
            stated.insert(0, cores_note)
        return replace(gpu, statements=(*gpu.statements, *stated)) if stated else gpu

    def _with_cores(self, name: str, cores: int) -> Gpu | None:
        """The chip of that name; of a computer sold with several chips the one with that number,
        None for what is no chip."""
        gpu = self.catalogue.match(name)
        if gpu is not None:
            return gpu if gpu.segment == "apple" else None
        chips = macs_named(name, self.catalogue.gpus)
        with_these = [chip for chip in chips if cores in cores_sold(chip)]
        return with_these[0] if len(with_these) == 1 else None


@lru_cache(maxsize=8)
def with_used_memory(catalogue: Catalogue, memory: FreeMemory) -> Catalogue:
    """The GPUs with so much of every device in use, as a desktop takes it whatever the card; those
    that have no more are left out.

    What is free of one device says nothing of others: it leaves the catalogue as it is. Kept for
    the next request that states the same.
    """
    used = memory.used_bytes
    if not used:
        return catalogue
    holding = (gpu for gpu in catalogue.gpus if gpu.device_torch_memory_bytes > used)
    return Catalogue(tuple(with_memory(gpu, FreeMemory(used_bytes=used)) for gpu in holding))


_MAX_ITEMS = 32
_MAX_CHARS = 80
_MAX_GB = 100_000


def saved_gpus(items: object, catalogue: Catalogue, most: int) -> tuple[str, ...]:
    """Requests such as "2xrtx-4090-24gb" for up to `most` saved items, the primary one first.

    `items` is the Hub's `hardwareItems`, of OAuth user information and of a user's overview:
    objects of `sku` ([type, maker, model]), `mem` (GB of one unit), `num` and, on one,
    `isPrimary` (huggingface/hub-docs, docs/hub/hardware.md). The input is untrusted: items of
    another form, and GPUs that the catalogue does not have with that memory, are left out.
    """
    if not isinstance(items, list):
        return ()
    objects = [item for item in items[:_MAX_ITEMS] if isinstance(item, Mapping)]
    objects.sort(key=lambda item: item.get("isPrimary") is not True)
    return tuple(dict.fromkeys(_requests(objects, catalogue)))[:most]


def _requests(items: Iterable[JsonObject], catalogue: Catalogue) -> Iterable[str]:
    for item in items:
        sku, memory, count = item.get("sku"), item.get("mem"), item.get("num", 1)
        if not isinstance(sku, list) or len(sku) != 3 or not isinstance(sku[2], str):
            continue
        if not _is_from_one_to(memory, _MAX_GB) or not _is_from_one_to(count, MAX_COUNT):
            continue
        try:
            gpu = catalogue.find(f"{sku[2][:_MAX_CHARS]} {memory:g}GB")
        except UnknownGpu:
            continue  # a processor, or a card outside the catalogue
        yield f"{int(count)}x{gpu.slug}" if count > 1 else gpu.slug


def _is_from_one_to(number: object, most: int) -> TypeGuard[float]:
    """Whether a value is a number from 1 to `most`; booleans are not numbers here."""
    return isinstance(number, int | float) and not isinstance(number, bool) and 1 <= number <= most
