"""Catalogue: all known GPUs, searched by slugs, names and aliases."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpusizer.core.errors import UnknownGpu
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import toml_of
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.names import (
    NameKey,
    SearchedNames,
    candidate_keys,
    name_key,
    search_words,
    telling_words,
)
from gpusizer.gpus.purchase import with_prices
from gpusizer.gpus.table import read_gpus

MAX_NAME_CHARS = 100
MAX_SUGGESTIONS = 5


@dataclass(frozen=True, eq=False)
class Catalogue:
    """An ordered, read-only set of GPUs with unique slugs, names and aliases.

    Without `slots`, because the indexes are cached properties.
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

        Raises UnknownGpu with up to five names to suggest. A product sold in several memory
        sizes needs its size, unless the alias file names the default.
        """
        if len(text) > MAX_NAME_CHARS:
            raise UnknownGpu(value=text[:MAX_NAME_CHARS], suggestions=[])
        gpu = self.match(text)
        if gpu is None:
            raise UnknownGpu(value=text, suggestions=self.suggestions(text))
        return gpu

    def search(self, query: str) -> list[Gpu]:
        """GPUs that a query names, the likeliest first. Empty: all of them.

        First what `find` takes it for, or the sizes of the product that it names; then those with
        every word of the query as whole words of their names, makers and generations; then those
        with words that only begin so. In the order of the file within each.
        """
        query = query[:MAX_NAME_CHARS]
        if not query.strip():
            return list(self.gpus)
        words = search_words(query)
        gpus = [*self._named(query), *self._with_words(words)]
        return _distinct(gpus or self._with_words(telling_words(words)))

    def match(self, text: str) -> Gpu | None:
        """The one GPU that a text names, None for several or none."""
        exact = self._by_slug.get(text.strip().casefold())
        if exact is not None:
            return exact
        for key in candidate_keys(text):
            for index in (self._by_alias, self._by_name):
                matches = index.get(key, ())
                if len(matches) == 1:
                    return matches[0]
        return next(iter(computers_named(text, self.gpus)), None)

    def _named(self, text: str) -> tuple[Gpu, ...]:
        """The GPU that a text names; of a product without its size every size."""
        gpu = self.match(text)
        if gpu is not None:
            return (gpu,)
        key = name_key(text)
        return self._by_name.get(key, ()) if key.core else ()

    def _with_words(self, words: Sequence[str]) -> list[Gpu]:
        """GPUs that have every word: as whole words first, then as the beginnings of words."""
        if not words:
            return []
        searched = tuple(zip(self.gpus, self._searched_names, strict=True))
        whole = [gpu for gpu, names in searched if names.have_whole(words)]
        return whole + [gpu for gpu, names in searched if names.have_beginnings(words)]

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
    def _searched_names(self) -> tuple[SearchedNames, ...]:
        """What each GPU is searched by, in the order of the file."""
        return tuple(
            SearchedNames.of((gpu.slug, gpu.name, gpu.vendor, gpu.architecture, *gpu.aliases))
            for gpu in self.gpus
        )

    def suggestions(self, text: str) -> list[str]:
        """Names of the sizes the text could mean, else the closest ones; five at most."""
        for key in candidate_keys(text):
            matches = self._by_name.get(NameKey(key.core, None), ()) if key.core else ()
            if matches:
                return [gpu.name for gpu in matches[:MAX_SUGGESTIONS]]
        spellings = {name: gpu.name for gpu in self.gpus for name in (gpu.slug, gpu.name.lower())}
        # In reverse, so that the first GPU with a core wins: the file lists modified cards last.
        names_by_core = {
            key.core: gpu.name
            for gpu in reversed(self.gpus)
            for key in (*_name_keys(gpu), *_alias_keys(gpu))
        }
        close = difflib.get_close_matches(text.casefold(), spellings, MAX_SUGGESTIONS)
        close_cores = difflib.get_close_matches(name_key(text).core, names_by_core, MAX_SUGGESTIONS)
        names = [names_by_core[core] for core in close_cores] + [spellings[name] for name in close]
        return list(dict.fromkeys(names))[:MAX_SUGGESTIONS]


def load_catalogue(path: Path = DATA_DIR) -> Catalogue:
    """The catalogue in `gpus.csv` and `gpu_aliases.csv` of a folder, with today's prices.

    Reads these two files each time.

    Raises ValueError naming the file, line and field of the first malformed cell.
    """
    return Catalogue(with_prices(read_gpus(path / "gpus.csv", path / "gpu_aliases.csv")))


def _distinct(gpus: Iterable[Gpu]) -> list[Gpu]:
    """Each GPU once, where it comes first."""
    by_slug: dict[str, Gpu] = {}
    for gpu in gpus:
        by_slug.setdefault(gpu.slug, gpu)
    return list(by_slug.values())


def _name_keys(gpu: Gpu) -> list[NameKey]:
    sized = [name_key(gpu.name), name_key(gpu.slug)]
    if gpu.status == "modified":
        return sized
    return sized + [NameKey(key.core, None) for key in sized]


def _alias_keys(gpu: Gpu) -> list[NameKey]:
    written = [name_key(alias) for alias in gpu.aliases]
    size = int(gpu.memory_marketing_gb)
    return written + [NameKey(key.core, size) for key in written if key.memory_gb is None]


def _index(
    gpus: Iterable[Gpu], keys_of: Callable[[Gpu], list[NameKey]]
) -> dict[NameKey, tuple[Gpu, ...]]:
    index: dict[NameKey, tuple[Gpu, ...]] = {}
    for gpu in gpus:
        for key in dict.fromkeys(keys_of(gpu)):
            index[key] = (*index.get(key, ()), gpu)
    return index


_COMPUTER = re.compile(
    r"(?:apple )?(mac ?studio|mac ?book ?pro|mac ?book ?air|mac ?mini|mac ?pro|imac)"
    r" (?:with )?(\d{2,4}) ?(?:gb|gib|g)?"
)
_MODELS: Mapping[str, str] = toml_of(__file__)


def computers_named(text: str, gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """The chips with which a Mac of that name and so much memory was sold, the newest first.

    The catalogue's notes name the computers of a chip. None for a text that names a chip, or
    anything but a computer with its memory.
    """
    plain = " ".join(re.sub(r"[-_]", " ", unicodedata.normalize("NFKC", text)).casefold().split())
    match = _COMPUTER.fullmatch(plain)
    if match is None:
        return ()
    computer, gb = _MODELS[match[1].replace(" ", "")], int(match[2])
    sold = [
        gpu
        for gpu in gpus
        if gpu.segment == "apple" and gpu.memory_marketing_gb == gb and computer in gpu.notes
    ]
    return tuple(sorted(sold, key=lambda gpu: -gpu.release_year))
