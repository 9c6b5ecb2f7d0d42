"""Rig: the cards of one machine, and the llama.cpp build that uses them together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB
from gpusizer.fit.compatibility import runs_engine
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.loading import NVME_GB_PER_S
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.gpus.own_cards import FindsGpus
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.engines.llama_cpp import BACKENDS, CUDA, VULKAN

MOST_CARDS = 16  # GGML_CUDA_MAX_DEVICES
MOST_RAM_BYTES = 64 * 1024 * GIB

_BETWEEN = re.compile(r"\s*(?:[+,;&、]|\band\b|\bwith\b|\be\b|\bcom\b|和|加)\s*", re.IGNORECASE)
_MEMORY_WORD = re.compile(
    r"\b(?:ram|memory|memoria|mem|dram|l?p?ddr\d\w?(?:-\d+)?)\b|内存|记忆体", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:(\d{1,2})\s*[x×*]\s*)?(\d{1,6}(?:\.\d+)?)\s*(tb|tib|t|gb|gib|g)?(?![a-z\d])", re.IGNORECASE
)
_NO_CARD = re.compile(r"(?:cpu(?:[ -]only)?|no gpus?|sem gpu|只用 ?cpu|无显卡)$", re.IGNORECASE)
_COUNT_LAST = re.compile(r"(.*\S)\s+[x×*]\s*(\d{1,3})$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RigWords:
    """Names of the cards, repeated for equal ones, and bytes of system memory (None: not stated).

    Memory modules count in binary: "64 GB" are 64 x 2^30 bytes.
    """

    cards: tuple[str, ...]
    ram_bytes: int | None


def is_rig(text: str) -> bool:
    """Whether a text means a machine rather than one kind of GPU."""
    return "+" in text or _MEMORY_WORD.search(_plain(text)) is not None


def parse_rig(text: str, ram_bytes: int | None = None) -> RigWords:
    """Read cards and system memory from a text such as people write.

    `ram_bytes` is the memory of a machine whose text names none.

    >>> parse_rig("RTX 3090 + 2x RTX 3060 + 64GB RAM")
    RigWords(cards=('RTX 3090', 'RTX 3060', 'RTX 3060'), ram_bytes=68719476736)

    Raises InvalidRequest for an empty text, memory without an amount, and too much of anything.
    """
    cards: list[str] = []
    ram: int | None = None
    for part in _BETWEEN.split(_plain(text)):
        if not part or _NO_CARD.fullmatch(part):
            continue
        if _MEMORY_WORD.search(part):
            ram = (ram or 0) + _amount(part, text)
            continue
        last = _COUNT_LAST.fullmatch(part)
        card = parse_gpu_request(f"{last[2]}x {last[1]}" if last else part)
        cards += [card.name] * min(card.count or 1, MOST_CARDS + 1)
    if not cards and ram is None:
        raise InvalidRequest(field="rig", value=text[:80], reason="rig_empty")
    if len(cards) > MOST_CARDS:
        raise _out_of_range(text, 0, MOST_CARDS)
    return RigWords(tuple(cards), ram_bytes if ram is None else ram)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("ó", "o").strip()


def _amount(part: str, text: str) -> int:
    words = _MEMORY_WORD.sub(" ", part)
    match = _AMOUNT.search(words)
    if match is None:
        raise InvalidRequest(field="rig", value=text[:80], reason="ram_amount")
    if re.search(r"\d", words[: match.start()] + words[match.end() :]):
        raise InvalidRequest(field="rig", value=text[:80], reason="rig_separator")
    unit = (match[3] or "g").lower()
    number = float(match[2]) * int(match[1] or 1) * (1024 if unit.startswith("t") else 1)
    amount = round(number * GIB)
    if not 0 < amount <= MOST_RAM_BYTES:
        raise _out_of_range(text, 1, MOST_RAM_BYTES // GIB)
    return amount


def _out_of_range(text: str, low: int, high: int) -> InvalidRequest:
    return InvalidRequest(field="rig", value=text[:80], reason="out_of_range", low=low, high=high)


SYSTEM_BYTES = 4 * GIB
"""System memory assumed to be used by the system and other programs, in bytes."""

USUAL_DISK_BYTES_PER_SECOND = NVME_GB_PER_S * GB
"""Bytes a second that a disk reads one after the other."""

CPU = "CPU"
_VULKAN_NAME = "Vulkan"


@dataclass(frozen=True, slots=True)
class Rig:
    """One machine.

    Attributes:
        gpus: one entry for each device that software sees, fastest first, as CUDA lists them.
        ram_bytes: system memory, None when nobody said; 0 where the GPU's own is all there is.
        backend: name of the llama.cpp build: a software stack, "Vulkan" or "CPU".
        notes: what the reader must know about this set of cards.
        disk_bytes_per_second: what its disk reads one after the other.
    """

    gpus: tuple[Gpu, ...]
    ram_bytes: int | None
    backend: str
    notes: tuple[Note, ...]
    disk_bytes_per_second: float = USUAL_DISK_BYTES_PER_SECOND

    @property
    def device_class(self) -> int:
        """The engine's defaults that apply: those of the backend."""
        return VULKAN if self.backend == _VULKAN_NAME else BACKENDS.get(self.backend, CUDA)

    @property
    def free_ram_bytes(self) -> int | None:
        """Bytes of system memory that a model may use, None if the request does not state any."""
        return None if self.ram_bytes is None else max(0, self.ram_bytes - SYSTEM_BYTES)

    @property
    def shares_memory(self) -> bool:
        """Whether GPU and system share one memory, so that nothing can be moved out of it."""
        return len(self.gpus) == 1 and self.gpus[0].is_integrated


def build_rig(
    words: RigWords,
    cards: FindsGpus,
    disk_bytes_per_second: float = USUAL_DISK_BYTES_PER_SECOND,
) -> Rig:
    """The machine that the words describe, with cards found by their names.

    Raises UnknownGpu, and InvalidRequest for cards that llama.cpp cannot use or not together.
    """
    boards = [cards.find(name) for name in words.cards]
    gpus = [gpu for gpu in boards for _ in range(gpu.devices_per_board)]
    gpus.sort(key=lambda gpu: -(gpu.fp32_flops or 0))
    backend = _backend(boards)
    notes = list(dict.fromkeys(note for gpu in boards for note in gpu.statements))
    if backend == _VULKAN_NAME:
        notes.append(Note("rig_vulkan", stacks=", ".join(sorted({g.software for g in boards}))))
    if backend == CPU:
        notes.append(Note("rig_cpu_only"))
    rig = Rig(tuple(gpus), words.ram_bytes, backend, tuple(notes), disk_bytes_per_second)
    if rig.shares_memory:
        extra = (Note("rig_shared_memory", gpu=gpus[0].name),) if words.ram_bytes else ()
        return replace(rig, ram_bytes=0, notes=(*notes, *extra))
    if words.ram_bytes is None:
        return replace(rig, notes=(*notes, Note("rig_ram_unknown")))
    return rig


def machine_of(
    gpu: Gpu,
    boards: int,
    ram_bytes: int,
    disk_bytes_per_second: float = USUAL_DISK_BYTES_PER_SECOND,
) -> Rig:
    """The machine of equal boards and so much system memory."""
    devices = (gpu,) * (gpu.devices_per_board * boards)
    rig = Rig(devices, ram_bytes, gpu.software, (), disk_bytes_per_second)
    return replace(rig, ram_bytes=0) if rig.shares_memory else rig


def _backend(boards: Sequence[Gpu]) -> str:
    """The build that drives all cards at once."""
    for gpu in boards:
        if not runs_engine(ENGINES["llama.cpp"], gpu):
            raise _refusal(boards, "rig_not_supported", gpu=gpu.name)
    stacks = {gpu.software for gpu in boards}
    if not stacks:
        return CPU
    apple = [gpu for gpu in boards if gpu.software == "Metal"]
    if apple and len(boards) > 1:
        raise _refusal(boards, "rig_apple_alone", gpu=apple[0].name)
    if len(stacks) == 1:
        return stacks.pop()
    for gpu in boards:
        if not _has_vulkan(gpu):
            raise _refusal(boards, "rig_no_vulkan", gpu=gpu.name, stacks=", ".join(sorted(stacks)))
    return _VULKAN_NAME


def _has_vulkan(gpu: Gpu) -> bool:
    """Whether a GPU has a Vulkan driver: graphics cards do; CDNA, Ponte Vecchio and the Chinese
    stacks are not known to.
    """
    if gpu.vendor == "AMD":
        return not gpu.architecture.startswith("CDNA")
    return gpu.vendor == "NVIDIA" or gpu.slug.startswith("arc-")


def _refusal(boards: Sequence[Gpu], reason: str, **facts: str) -> InvalidRequest:
    value = " + ".join(gpu.slug for gpu in boards)
    return InvalidRequest(field="rig", value=value[:160], reason=reason, **facts)
