"""OwnCards: GPUs as their owners name them, with the memory that is really free, or described.

The catalogue itself knows listed names alone, so that what strangers write in model cards and logs
describes no cards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from gpusizer.core.messages import Note
from gpusizer.gpus.catalogue import MAX_NAME_CHARS, Catalogue, computers_named
from gpusizer.gpus.custom_card import custom_card, is_custom
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.own_memory import NOTHING_STATED, OwnMemory, split_memory, with_memory


class FindsGpus(Protocol):
    """What finds a GPU by its name: the catalogue, or the reader's own cards."""

    def find(self, text: str) -> Gpu: ...


@dataclass(frozen=True, slots=True)
class OwnCards:
    """Finds GPUs that a request names.

    `memory` is what is free on each of them, unless a card's own text says otherwise.
    """

    catalogue: Catalogue
    memory: OwnMemory = NOTHING_STATED

    def find(self, text: str) -> Gpu:
        """The GPU of the catalogue, or the card that the text describes ("custom:96GB@1800GB/s"),
        with its free memory ("4090 (20.5 GB free)").

        Raises UnknownGpu as the catalogue does, and InvalidRequest for a description or memory in
        another form, and for more memory than a device has.
        """
        if len(text) > MAX_NAME_CHARS:
            return self.catalogue.find(text)
        name, memory = split_memory(text)
        gpu = custom_card(name) if is_custom(name) else self._listed(name)
        return with_memory(gpu, memory if memory.is_stated else self.memory)

    def _listed(self, name: str) -> Gpu:
        """The GPU of the catalogue; of a computer sold with several chips the newest one, and that
        it was taken.
        """
        gpu = self.catalogue.find(name)
        others = [other.name for other in computers_named(name, self.catalogue.gpus)[1:]]
        if not others:
            return gpu
        taken = Note("computer_taken", computer=name, gpu=gpu.name, others=", ".join(others))
        return replace(gpu, statements=(*gpu.statements, taken))


@lru_cache(maxsize=8)
def with_used_memory(catalogue: Catalogue, memory: OwnMemory) -> Catalogue:
    """The GPUs with so much of every device in use, as a desktop takes it whatever the card; those
    that have no more are left out.

    What is free of one device says nothing of others: it leaves the catalogue as it is. Kept for
    the next request that states the same.
    """
    used = memory.used_bytes
    if not used:
        return catalogue
    holding = (gpu for gpu in catalogue.gpus if gpu.device_torch_memory_bytes > used)
    return Catalogue(tuple(with_memory(gpu, OwnMemory(used_bytes=used)) for gpu in holding))
