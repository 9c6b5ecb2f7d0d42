"""Catalogue: every known GPU, found by what people type."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpusizer.errors import UnknownGpu
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.names import NameKey, candidate_keys, name_key
from gpusizer.gpus.table import read_gpus
from gpusizer.paths import DATA_DIR

MAX_NAME_CHARS = 100
MAX_SUGGESTIONS = 5


@dataclass(frozen=True, eq=False)
class Catalogue:
    """An ordered, read-only set of GPUs with unique slugs, names and aliases.

    Without `slots`, because the indexes are built on first use and kept.
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
