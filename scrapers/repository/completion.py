"""Completion: adds facts that one repository lacks from a second repository.

A gated repository shows anonymous readers its totals only; its embedded snapshot or an ungated copy
has the tensors. An adapter runs with its base model, so that both are counted. No third repository
is read: a chain of repositories that name each other would cost any number of requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from gpusizer.core.errors import (
    HubRateLimited,
    HubUnreachable,
    MalformedRepo,
    ModelUnreadable,
    UnsupportedDtype,
)
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.hub.model_ref import ModelRef, is_repo_id
from gpusizer.hub.snapshot import ADAPTER_COMPONENT, RepoSnapshot

ADAPTER_CONFIG = "adapter_config.json"

Read = Callable[[ModelRef], RepoSnapshot]
Lookup = Callable[[ModelRef], RepoSnapshot | None]


@dataclass(frozen=True, slots=True)
class Completion:
    """Adds facts from other repositories to a snapshot."""

    embedded: Lookup  # returns the embedded snapshot of a model, None without one
    read: Read  # returns the snapshot of a model's own repository; raises ModelUnreadable

    def __call__(self, ref: ModelRef, snapshot: RepoSnapshot) -> RepoSnapshot:
        """Return the snapshot, completed if a second repository allows it.

        Raises if the base model of an adapter cannot be read now (HubUnreachable, HubRateLimited)
        or contradicts its format (MalformedRepo, UnsupportedDtype).
        """
        # The bytes of an adapter alone would be far too few, hence the errors. A base that does not
        # exist, is gated or exceeds the limits becomes a note.
        return self._with_base(self._without_gate(ref, snapshot))

    def _without_gate(self, ref: ModelRef, snapshot: RepoSnapshot) -> RepoSnapshot:
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
        base_id = base_of_adapter(snapshot)
        if base_id is None:
            return snapshot.with_notes(Note("base_model_not_named"))
        ref = ModelRef(base_id)
        try:
            base = self._without_gate(ref, self._base(ref))
        except ModelUnreadable as error:
            if _is_unavailable(error) or isinstance(error, MalformedRepo | UnsupportedDtype):
                raise
            return snapshot.with_notes(Note("base_model_not_read", base=base_id, reason=error.code))
        if base.format == "adapter":
            return snapshot.with_notes(Note("base_model_not_read", base=base_id, reason="adapter"))
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
    """Return the ID of an adapter's base model, from its configuration or its model card."""
    config = snapshot.extra_configs.get(ADAPTER_CONFIG, {})
    for name in (config.get("base_model_name_or_path"), *snapshot.base_models):
        if isinstance(name, str) and is_repo_id(name) and name != snapshot.repo_id:
            return name
    return None


def elements(snapshot: RepoSnapshot) -> Counter[str]:
    """Count elements by dtype, from the tensors that were read or the Hub's own totals."""
    counts: Counter[str] = Counter()
    for component in snapshot.components:
        counts.update(component.totals.parameters if component.totals else {})
        for tensor in component.tensors:
            counts[tensor.dtype] += tensor.elements
    return counts


def _renamed(copy: RepoSnapshot, snapshot: RepoSnapshot, mirror: str) -> RepoSnapshot:
    # The copy's weights under the ID and model card of the requested repository.
    return replace(
        snapshot,
        format=copy.format,
        components=copy.components,
        extra_configs=copy.extra_configs,
        notes=(*snapshot.notes, Note("read_from_mirror", mirror=mirror)),
    )


def _is_unavailable(error: ModelUnreadable) -> bool:
    # False in offline mode.
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] != "offline"
    return isinstance(error, HubRateLimited)


def mirrors_of(repo_id: str) -> tuple[str, ...]:
    """Return IDs of ungated repositories that may copy a gated one's weights, likeliest first."""
    # A mirror is used only if its element counts by dtype equal those of the gated repository.
    return _mirrors().get(repo_id.casefold(), ())


@cache
def _mirrors() -> dict[str, tuple[str, ...]]:
    # Mirrors by the lower-case ID of the gated repository.
    mirrors: dict[str, tuple[str, ...]] = {}
    rows = read_table(
        DATA_DIR / "mirrors.csv", lambda row: (row.text("repo").casefold(), row.text("mirror"))
    )
    for repo, mirror in rows:
        mirrors[repo] = (*mirrors.get(repo, ()), mirror)
    return mirrors
