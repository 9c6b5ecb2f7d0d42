"""Catalogue: every known GPU, found by what people type."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpusizer.errors import UnknownGpu
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.names import NameKey, candidate_keys, name_key
from gpusizer.gpus.table import read_gpus
from gpusizer.paths import DATA_DIR

MAX_NAME_CHARS = 100
MAX_SUGGESTIONS = 5

_Array = TypeVar("_Array", bound=npt.NDArray[Any])


@dataclass(frozen=True, eq=False, slots=True)
class GpuColumns:
    """The numbers ranking needs, one read-only array each, in catalogue order.

    Floats are NaN where the value is unknown. Rates, bandwidth, power and prices are those of
    the board; `device_memory_bytes` is that of one device.
    """

    device_memory_bytes: npt.NDArray[np.int64]
    devices_per_board: npt.NDArray[np.int64]
    bandwidth_bytes_per_second: npt.NDArray[np.float64]
    fp16_flops: npt.NDArray[np.float64]
    power_watts: npt.NDArray[np.float64]
    buy_usd: npt.NDArray[np.float64]
    rent_usd_per_hour: npt.NDArray[np.float64]
    nvlink: npt.NDArray[np.bool_]
    unified_memory: npt.NDArray[np.bool_]
    bf16_support: npt.NDArray[np.bool_]
    fp8_support: npt.NDArray[np.bool_]
    fp4_support: npt.NDArray[np.bool_]
    int8_support: npt.NDArray[np.bool_]
    software: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """An ordered, read-only set of GPUs with unique slugs, names and aliases.

    Without `slots`, because the arrays and indexes are built on first use and kept.
    """

    gpus: tuple[Gpu, ...]

    def __post_init__(self) -> None:
        owners: dict[str, Gpu] = {}
        for gpu in self.gpus:
            for text in (gpu.slug, gpu.name, *gpu.aliases):
                owner = owners.setdefault(text.casefold(), gpu)
                if owner is not gpu:
                    raise ValueError(f"{text!r} names both {owner.slug} and {gpu.slug}")

    def find(self, text: str) -> Gpu:
        """The GPU with this slug, name or alias, in any usual spelling.

        Raises UnknownGpu with up to five slugs to suggest. A product sold in several memory
        sizes needs its size, unless the alias file names the default.
        """
        if len(text) > MAX_NAME_CHARS:
            raise UnknownGpu(value=text[:MAX_NAME_CHARS], suggestions=[])
        exact = self._by_slug.get(text.strip().casefold())
        if exact is not None:
            return exact
        for key in candidate_keys(text):
            for index in (self._by_alias, self._by_name):
                found = index.get(key, ())
                if len(found) == 1:
                    return found[0]
        raise UnknownGpu(value=text, suggestions=self._suggestions(text))

    def search(self, query: str) -> list[Gpu]:
        """GPUs for which every word of the query is part of some name. Empty: all of them."""
        words = query[:MAX_NAME_CHARS].casefold().split()
        return [
            gpu
            for gpu, haystack in zip(self.gpus, self._haystacks, strict=True)
            if all(word in haystack for word in words)
        ]

    @cached_property
    def columns(self) -> GpuColumns:
        """Arrays over `gpus`, built once."""
        gpus = self.gpus
        return GpuColumns(
            device_memory_bytes=_integers(gpu.device_memory_bytes for gpu in gpus),
            devices_per_board=_integers(gpu.devices_per_board for gpu in gpus),
            bandwidth_bytes_per_second=_floats(gpu.bandwidth_bytes_per_second for gpu in gpus),
            fp16_flops=_floats(gpu.fp16_flops for gpu in gpus),
            power_watts=_floats(gpu.power_watts for gpu in gpus),
            buy_usd=_floats(gpu.buy_usd for gpu in gpus),
            rent_usd_per_hour=_floats(gpu.rent_usd_per_hour for gpu in gpus),
            nvlink=_flags(gpu.nvlink for gpu in gpus),
            unified_memory=_flags(gpu.unified_memory for gpu in gpus),
            bf16_support=_flags(gpu.bf16_support for gpu in gpus),
            fp8_support=_flags(gpu.fp8_support for gpu in gpus),
            fp4_support=_flags(gpu.fp4_support for gpu in gpus),
            int8_support=_flags(gpu.int8_support for gpu in gpus),
            software=tuple(gpu.software for gpu in gpus),
        )

    @cached_property
    def _by_slug(self) -> dict[str, Gpu]:
        return {gpu.slug: gpu for gpu in self.gpus}

    @cached_property
    def _by_alias(self) -> dict[NameKey, tuple[Gpu, ...]]:
        """Aliases as written; one without a size also stands for the size of its GPU."""
        return _index(self.gpus, _alias_keys)

    @cached_property
    def _by_name(self) -> dict[NameKey, tuple[Gpu, ...]]:
        """Names and slugs, with and without the size; modified cards only with it."""
        return _index(self.gpus, _name_keys)

    @cached_property
    def _haystacks(self) -> tuple[str, ...]:
        return tuple(
            " ".join(
                (
                    gpu.slug,
                    gpu.slug.replace("-", ""),
                    gpu.name,
                    gpu.vendor,
                    gpu.architecture,
                    *gpu.aliases,
                )
            ).casefold()
            for gpu in self.gpus
        )

    def _suggestions(self, text: str) -> list[str]:
        """Slugs of the sizes the text could mean, else of the closest names."""
        for key in candidate_keys(text):
            found = self._by_name.get(NameKey(key.core, None), ()) if key.core else ()
            if found:
                return [gpu.slug for gpu in found[:MAX_SUGGESTIONS]]
        spellings = {name: gpu.slug for gpu in self.gpus for name in (gpu.slug, gpu.name.lower())}
        # Backwards, so that the first GPU of a core keeps it: the file lists modified cards last.
        core_slugs = {core: gpu.slug for gpu in reversed(self.gpus) for core in _cores(gpu)}
        close = difflib.get_close_matches(text.casefold(), spellings, MAX_SUGGESTIONS)
        close_cores = difflib.get_close_matches(name_key(text).core, core_slugs, MAX_SUGGESTIONS)
        slugs = [core_slugs[core] for core in close_cores] + [spellings[name] for name in close]
        return list(dict.fromkeys(slugs))[:MAX_SUGGESTIONS]


def load_catalogue(path: Path = DATA_DIR) -> Catalogue:
    """The catalogue in `gpus.csv` and `gpu_aliases.csv` of a folder. Reads the files each time.

    Raises ValueError naming the file, line and field of the first malformed cell.
    """
    return Catalogue(read_gpus(path / "gpus.csv", path / "gpu_aliases.csv"))


def _name_keys(gpu: Gpu) -> list[NameKey]:
    sized = [name_key(gpu.name), name_key(gpu.slug)]
    if gpu.status == "modified":
        return sized
    return sized + [NameKey(key.core, None) for key in sized]


def _alias_keys(gpu: Gpu) -> list[NameKey]:
    written = [name_key(alias) for alias in gpu.aliases]
    size = int(gpu.memory_marketing_gb)
    return written + [NameKey(key.core, size) for key in written if key.memory_gb is None]


def _cores(gpu: Gpu) -> set[str]:
    return {key.core for key in (*_name_keys(gpu), *_alias_keys(gpu))}


def _index(
    gpus: Iterable[Gpu], keys_of: Callable[[Gpu], list[NameKey]]
) -> dict[NameKey, tuple[Gpu, ...]]:
    index: dict[NameKey, tuple[Gpu, ...]] = {}
    for gpu in gpus:
        for key in dict.fromkeys(keys_of(gpu)):
            index[key] = (*index.get(key, ()), gpu)
    return index


def _integers(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return _read_only(np.fromiter(values, dtype=np.int64))


def _floats(values: Iterable[float | None]) -> npt.NDArray[np.float64]:
    return _read_only(
        np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    )


def _flags(values: Iterable[bool]) -> npt.NDArray[np.bool_]:
    return _read_only(np.fromiter(values, dtype=np.bool_))


def _read_only(array: _Array) -> _Array:
    array.setflags(write=False)
    return array
