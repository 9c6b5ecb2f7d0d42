"""GPUs as their owners name or describe them, with the memory that is really free.

The catalogue itself knows listed names alone, so that model cards and logs of strangers describe no
cards.
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
from gpusizer.gpus.vgpu import refuse_unlisted, vgpu_card, vgpu_named

HERE = "here"  # The machine that a command line runs on; only the shell can read it.


class FindsGpus(Protocol):
    """Source of GPUs by name: the catalogue, or the user's own cards."""

    def find(self, text: str) -> Gpu: ...


@dataclass(frozen=True, slots=True)
class UserGpus:
    """Finds GPUs that a request names.

    `memory` is free on each of them, unless a card's own text states another amount.
    """

    catalogue: Catalogue
    memory: FreeMemory = NOTHING_STATED

    def find(self, text: str) -> Gpu:
        """Return the GPU that `text` names, or the card that it describes.

        The text may state a description ("custom:96GB@1800GB/s"), free memory ("4090 (20.5 GB
        free)") and a Mac's GPU cores ("M4 Pro 24GB (16 cores)"). Raises UnknownGpu as the catalogue
        does, and InvalidRequest for a description or memory in another form, for more memory than a
        device has, and for cores that a chip never had.
        """
        if len(text) > MAX_NAME_CHARS:
            return self.catalogue.find(text)
        if text.strip().casefold() == HERE:
            raise UnknownGpu(value=HERE, reason="here")
        name, memory = split_memory(text)
        gpu = custom_card(name) if is_custom(name) else self._own(name)
        return with_memory(gpu, memory if memory.is_stated else self.memory)

    def _own(self, name: str) -> Gpu:
        # A bare size means some card, a profile an instance of a card, a type a virtual GPU.
        size = size_named(name)
        if size is not None:
            return sized_card(size, self.catalogue.gpus)
        virtual = vgpu_named(name)
        if virtual is not None:
            return vgpu_card(virtual, self.catalogue.find(virtual.gpu))
        refuse_unlisted(name)
        card, profile = split_profile(name)
        return mig_instance(self.catalogue.find(card), profile) if profile else self._listed(name)

    def _listed(self, name: str) -> Gpu:
        # Of a chip sold with several GPUs the largest is taken, with a note.
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
        # Of a computer sold with several chips the one with that number; None for other texts.
        gpu = self.catalogue.match(name)
        if gpu is not None:
            return gpu if gpu.segment == "apple" else None
        chips = macs_named(name, self.catalogue.gpus)
        with_these = [chip for chip in chips if cores in cores_sold(chip)]
        return with_these[0] if len(with_these) == 1 else None


@lru_cache(maxsize=8)
def with_used_memory(catalogue: Catalogue, memory: FreeMemory) -> Catalogue:
    """Return the catalogue with `used_bytes` of each device in use, without smaller GPUs.

    Free memory of one device says nothing about others and leaves the catalogue unchanged. The
    result is cached for further requests with the same memory.
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
    """Return requests such as "2xrtx-4090-24gb" for up to `most` saved items, the primary first.

    `items` is the Hub's `hardwareItems`, in OAuth user information and a user's overview: objects
    of `sku` ([type, maker, model]), `mem` (GB of one unit), `num` and, on one, `isPrimary`
    (huggingface/hub-docs, docs/hub/hardware.md). The input is untrusted: items of another form, and
    GPUs that the catalogue lacks with that memory, are left out.
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
    # Booleans are not numbers here.
    return isinstance(number, int | float) and not isinstance(number, bool) and 1 <= number <= most
