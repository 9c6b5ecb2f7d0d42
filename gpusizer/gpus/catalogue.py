"""Catalogue of all known GPUs, searched by slugs, names and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpusizer.core.errors import UnknownGpu
from gpusizer.core.paths import DATA_DIR
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.macs import chip_names, macs_named
from gpusizer.gpus.names import (
    NameKey,
    SearchedNames,
    candidate_keys,
    makers_named,
    name_key,
    search_words,
    telling_words,
)
from gpusizer.gpus.near_names import near_cores
from gpusizer.gpus.purchase import with_prices
from gpusizer.gpus.table import read_gpus
from gpusizer.gpus.unlisted import GPUS, why_unlisted

MAX_NAME_CHARS = 100
MAX_SUGGESTIONS = 5


@dataclass(frozen=True, eq=False)  # without `slots`: the indexes are cached properties
class Catalogue:
    """An ordered, read-only set of GPUs with unique slugs, names and aliases."""

    gpus: tuple[Gpu, ...]

    def __post_init__(self) -> None:
        owners: dict[str, Gpu] = {}
        for gpu in self.gpus:
            for text in (gpu.slug, gpu.name, *gpu.aliases):
                owner = owners.setdefault(text.casefold(), gpu)
                if owner is not gpu:
                    raise ValueError(f"{text!r} names both {owner.slug} and {gpu.slug}")

    def find(self, text: str) -> Gpu:
        """Return the GPU with this slug, name or alias, in any usual spelling.

        A product sold in several memory sizes needs its size, unless the alias file names a
        default. Raises UnknownGpu with up to five suggestions, and a `reason` if the text is known
        to name no GPU of this catalogue.
        """
        if len(text) > MAX_NAME_CHARS:
            raise UnknownGpu(value=text[:MAX_NAME_CHARS], suggestions=[])
        gpu = self.match(text)
        if gpu is None:
            raise self.unknown(text)
        return gpu

    def unknown(self, text: str) -> UnknownGpu:
        """Build the error for a name without a GPU, with a reason and near names."""
        chips = macs_named(text, self.gpus)
        if chips:
            sizes = {gpu.memory_marketing_gb for gpu in chips}
            names = chip_names(chips) if len(sizes) > 1 else [gpu.name for gpu in chips]
            return UnknownGpu(value=text, reason="several_chips", suggestions=names)
        reason = why_unlisted(text)
        if not reason:
            return UnknownGpu(value=text, suggestions=self.suggestions(text))
        near = self.suggestions(text) if reason in GPUS else []
        return UnknownGpu(value=text, reason=reason, suggestions=near)

    def search(self, query: str) -> list[Gpu]:
        """Return GPUs that a query names, the most likely first; all for an empty query.

        First the match of `find` or the sizes of the named product; then GPUs with each word of the
        query as a whole word of their names, makers and generations; then those with words that
        begin so. Each group keeps the order of the file.
        """
        query = query[:MAX_NAME_CHARS]
        if not query.strip():
            return list(self.gpus)
        words = search_words(query)
        named = self._named(query)
        if not named and why_unlisted(query):
            return []
        gpus = [*named, *self._with_words(words, products=not named)]
        return _distinct(gpus or self._with_words(telling_words(words)))

    def match(self, text: str) -> Gpu | None:
        """Return the one GPU that a text names, or None for several or no match."""
        exact = self._by_slug.get(text.strip().casefold())
        if exact is not None:
            return exact
        makers = makers_named(text)
        for key in candidate_keys(text):
            for index in (self._by_alias, self._by_name):
                matches = _of_makers(index.get(key, ()), makers)
                if len(matches) == 1:
                    return matches[0]
        chips = macs_named(text, self.gpus)
        return chips[0] if len(chips) == 1 else None

    def sizes_of(self, text: str) -> tuple[Gpu, ...]:
        """Return each memory size of the product that a text names, its match first; else ()."""
        meant = self.match(text)
        names = (text,) if meant is None else (text, meant.name)
        cores = [key.core for key in map(name_key, names) if key.core]
        sizes = [gpu for core in cores for gpu in self._by_name.get(NameKey(core, None), ())]
        likely = _of_makers(sizes, makers_named(text))
        return tuple(_distinct(likely if meant is None else (meant, *likely)))

    def _named(self, text: str) -> tuple[Gpu, ...]:
        # A product without its size yields each size.
        gpu = self.match(text)
        if gpu is not None:
            return (gpu,)
        chips = macs_named(text, self.gpus)
        if chips:
            return chips
        key = name_key(text)
        sizes = self._by_name.get(key, ()) if key.core else ()
        return _of_makers(sizes, makers_named(text))

    def _with_words(self, words: Sequence[str], *, products: bool = True) -> list[Gpu]:
        # Whole words first, then beginnings of words; with `products` only beginnings without
        # further digits.
        if not words:
            return []
        begin = SearchedNames.have_products if products else SearchedNames.have_beginnings
        searched = tuple(zip(self.gpus, self._searched_names, strict=True))
        whole = [gpu for gpu, names in searched if names.have_whole(words)]
        return whole + [gpu for gpu, names in searched if begin(names, words)]

    @cached_property
    def _by_slug(self) -> dict[str, Gpu]:
        return {gpu.slug: gpu for gpu in self.gpus}

    @cached_property
    def _by_alias(self) -> dict[NameKey, tuple[Gpu, ...]]:
        # Aliases as written; one without a size also names the size of its GPU.
        return _index(self.gpus, _alias_keys)

    @cached_property
    def _by_name(self) -> dict[NameKey, tuple[Gpu, ...]]:
        # Names and slugs, with and without the size; modified cards only with it.
        return _index(self.gpus, _name_keys)

    @cached_property
    def _searched_names(self) -> tuple[SearchedNames, ...]:
        # In the order of the file.
        return tuple(
            SearchedNames.from_names(
                (gpu.slug, gpu.name, gpu.vendor, gpu.architecture, *gpu.aliases)
            )
            if gpu.vendor == "NVIDIA"  # whose compute capability is a number like any other
            else SearchedNames.from_names(
                (
                    gpu.slug,
                    gpu.name,
                    gpu.vendor,
                    gpu.architecture,
                    gpu.compute_capability,
                    *gpu.aliases,
                )
            )
            for gpu in self.gpus
        )

    def suggestions(self, text: str) -> list[str]:
        """Return at most five names that a text could mean.

        These are the sizes of its product, else GPUs with all of its words, else the closest names
        of its makers.
        """
        makers, key = makers_named(text), name_key(text)
        for reading in candidate_keys(text):
            sizes = self._by_name.get(NameKey(reading.core, None), ()) if reading.core else ()
            if sizes:
                likely = _of_makers(sizes, makers) or sizes
                return [gpu.name for gpu in likely[:MAX_SUGGESTIONS]]
        words = telling_words(search_words(text))
        unsized = [word for word in words if word != f"{key.memory_gb}gb"]
        worded = _distinct(self._with_words(words) or self._with_words(unsized))
        names = [gpu.name for gpu in worded] or self._near(key, makers)
        return names[:MAX_SUGGESTIONS]

    def _near(self, key: NameKey, makers: frozenset[str]) -> list[str]:
        # One GPU of each product: the one its alias means, else its first size.
        cards: dict[str, list[Gpu]] = {}
        for gpu in _of_makers(self.gpus, makers):
            for core in {other.core for other in (*_alias_keys(gpu), *_name_keys(gpu))}:
                cards.setdefault(core, []).append(gpu)
        sizes = {core: [gpu.memory_marketing_gb for gpu in named] for core, named in cards.items()}
        near = near_cores(key, sizes) if key.core else []
        meant = (self._by_alias.get(NameKey(core, None), cards[core])[0] for core in near)
        return list(dict.fromkeys(gpu.name for gpu in meant))


def load_catalogue(path: Path = DATA_DIR) -> Catalogue:
    """Return the catalogue in `gpus.csv` and `gpu_aliases.csv` of a folder, with today's prices.

    Reads both files at each call. Raises ValueError with file, line and field of the first
    malformed cell.
    """
    return Catalogue(with_prices(read_gpus(path / "gpus.csv", path / "gpu_aliases.csv")))


def _distinct(gpus: Iterable[Gpu]) -> list[Gpu]:
    by_slug: dict[str, Gpu] = {}
    for gpu in gpus:
        by_slug.setdefault(gpu.slug, gpu)
    return list(by_slug.values())


def _of_makers(gpus: Sequence[Gpu], makers: frozenset[str]) -> tuple[Gpu, ...]:
    # A text without a maker leaves all.
    return tuple(gpu for gpu in gpus if not makers or gpu.vendor in makers)


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
