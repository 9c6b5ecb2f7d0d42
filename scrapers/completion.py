"""Completion: what one repository leaves open, answered from a second one.

A gated repository shows totals: its embedded snapshot or an ungated copy says the rest. An
adapter names its base model: what runs is both. One hop, never more, so that a chain of
repositories naming each other costs what two models cost.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from gpusizer.core.errors import MalformedRepo, ModelUnreadable, UnsupportedDtype
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.hub.model_ref import ModelRef, is_repo_id
from gpusizer.hub.snapshot import ADAPTER_COMPONENT, RepoSnapshot
from scrapers.error_mapping import is_away

ADAPTER_CONFIG = "adapter_config.json"

Read = Callable[[ModelRef], RepoSnapshot]
Lookup = Callable[[ModelRef], RepoSnapshot | None]


@dataclass(frozen=True, slots=True)
class Completion:
    """Fills in a snapshot from others.

    Attributes:
        embedded: the embedded snapshot of a model, None where there is none.
        read: a model as its own repository shows it; raises ModelUnreadable.
    """

    embedded: Lookup
    read: Read

    def __call__(self, ref: ModelRef, snapshot: RepoSnapshot) -> RepoSnapshot:
        """The snapshot, completed where it can be.

        An adapter alone would be the wrong number. So where its base could not be asked for now
        (HubUnreachable, HubRateLimited), or came in pieces (MalformedRepo, UnsupportedDtype),
        that is raised. A base that is gone, behind a gate or too large is a note.
        """
        return self._with_base(self._ungated(ref, snapshot))

    def _ungated(self, ref: ModelRef, snapshot: RepoSnapshot) -> RepoSnapshot:
        if not snapshot.gated or all(part.totals is None for part in snapshot.components):
            return snapshot
        embedded = self.embedded(replace(ref, repo_id=snapshot.repo_id))
        if embedded is not None:
            return embedded
        for mirror in mirrors_of(snapshot.repo_id):
            try:
                copy = self.read(ModelRef(mirror))
            except ModelUnreadable:
                continue
            if elements(copy) == elements(snapshot):
                return _renamed(copy, snapshot, mirror)
        return snapshot

    def _with_base(self, snapshot: RepoSnapshot) -> RepoSnapshot:
        if snapshot.format != "adapter" or len(snapshot.components) != 1:
            return snapshot
        named = base_of_adapter(snapshot)
        if named is None:
            return snapshot.with_notes(Note("base_model_not_named"))
        ref = ModelRef(named)
        try:
            base = self._ungated(ref, self._base(ref))
        except ModelUnreadable as error:
            if is_away(error) or isinstance(error, MalformedRepo | UnsupportedDtype):
                raise
            return snapshot.with_notes(Note("base_model_not_read", base=named, reason=error.code))
        if base.format == "adapter":
            return snapshot.with_notes(Note("base_model_not_read", base=named, reason="adapter"))
        adapter = replace(snapshot.components[0], name=ADAPTER_COMPONENT)
        return replace(
            snapshot,
            components=(*base.components, adapter),
            extra_configs={**base.extra_configs, **snapshot.extra_configs},
            notes=(*snapshot.notes, Note("base_model_added", base=base.repo_id), *base.notes),
        )

    def _base(self, ref: ModelRef) -> RepoSnapshot:
        try:
            return self.read(ref)
        except ModelUnreadable:
            embedded = self.embedded(ref)
            if embedded is None:
                raise
            return embedded


def base_of_adapter(snapshot: RepoSnapshot) -> str | None:
    """The base model an adapter names, in its own configuration or on its card."""
    config = snapshot.extra_configs.get(ADAPTER_CONFIG, {})
    for name in (config.get("base_model_name_or_path"), *snapshot.base_models):
        if isinstance(name, str) and is_repo_id(name) and name != snapshot.repo_id:
            return name
    return None


def elements(snapshot: RepoSnapshot) -> Counter[str]:
    """Elements by dtype: of the tensors that were read, or as the Hub counts them."""
    counts: Counter[str] = Counter()
    for component in snapshot.components:
        counts.update(component.totals.parameters if component.totals else {})
        for tensor in component.tensors:
            counts[tensor.dtype] += tensor.elements
    return counts


def _renamed(copy: RepoSnapshot, snapshot: RepoSnapshot, mirror: str) -> RepoSnapshot:
    """The copy's weights under the name and the card of the repository asked for."""
    return replace(
        snapshot,
        format=copy.format,
        components=copy.components,
        extra_configs=copy.extra_configs,
        notes=(*snapshot.notes, Note("read_from_mirror", mirror=mirror)),
    )


def mirrors_of(repo_id: str) -> tuple[str, ...]:
    """Repositories that may hold a gated one's weights without a gate, likeliest first.

    They are trusted only once their totals agree.
    """
    return _mirrors().get(repo_id.casefold(), ())


@cache
def _mirrors() -> dict[str, tuple[str, ...]]:
    """Mirrors by the ID of the gated repository, in lower case."""
    mirrors: dict[str, tuple[str, ...]] = {}
    with (DATA_DIR / "mirrors.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["repo"].casefold()
            mirrors[key] = (*mirrors.get(key, ()), row["mirror"])
    return mirrors
