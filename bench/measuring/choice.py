"""Choice: an embedded model that can be built with random weights on a device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.measuring.backend import Config
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.model.profile import build_profile
from scrapers.cache.stored import EmbeddedSnapshots

_BYTES_PER_WEIGHT = 2
_ROOM = 0.6  # share of the device for weights; the measured amounts need the remainder


@dataclass(frozen=True, slots=True)
class Choice:
    """A model: its configuration and the bytes of its weights in 16 bits."""

    repo_id: str
    config: Config
    weight_bytes: int


def every_choice() -> Iterator[Choice]:
    """Yield the unquantized text models with a complete configuration."""
    snapshots = EmbeddedSnapshots(SNAPSHOTS_DIR)
    for repo_id in snapshots.ids():
        choice = choose(repo_id, snapshots)
        if choice is not None:
            yield choice


def choose(repo_id: str, snapshots: EmbeddedSnapshots | None = None) -> Choice | None:
    """Return an embedded model, None if it cannot be built from its configuration."""
    snapshots = snapshots or EmbeddedSnapshots(SNAPSHOTS_DIR)
    snapshot = snapshots.get(repo_id)
    if snapshot is None or len(snapshot.components) != 1:
        return None
    config, profile = snapshot.components[0].config, build_profile(snapshot)
    is_generator = profile.architecture is not None and profile.architecture.generates
    if not is_generator or profile.quantization or not config or not config.get("model_type"):
        return None
    return Choice(snapshot.repo_id, config, profile.parameters * _BYTES_PER_WEIGHT)


def that_fit(choices: Iterable[Choice], memory_bytes: int) -> list[Choice]:
    """Return the models whose weights fit on a device of that memory, smallest first."""
    room = memory_bytes * _ROOM
    return sorted(
        (choice for choice in choices if choice.weight_bytes <= room),
        key=lambda choice: choice.weight_bytes,
    )
