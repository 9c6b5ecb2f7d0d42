"""Models that come with gpusizer, profiled once, and their use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from gpusizer.hub.leaderboards import ListLeaderboard
from gpusizer.hub.listed_models import ListTrending
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tasks import task_of
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.quality.boards import ScoreBoards, embedded_boards
from gpusizer.usecases.models_for.families import Member, name_of, read_name
from gpusizer.usecases.models_for.live_use import Uses


class Shelf(Protocol):
    """Stored snapshots by name; `gpusizer/composition/` supplies them."""

    def ids(self) -> Sequence[str]:
        """Return every model's ID."""

    def get(self, repo_id: str) -> RepoSnapshot | None:
        """Return the snapshot of a model, or None if it is not stored."""


@dataclass(frozen=True, slots=True)
class CandidateModel:
    """A model that may run."""

    profile: ModelProfile
    # Parameters and stored bytes that every engine loads onto GPUs: without input tables, which
    # llama.cpp leaves on the host, and draft layers.
    core_parameters: int
    core_bytes: int
    member: Member  # facts that decide its family
    # quantizations that its name asks for; empty for those of the request
    quants: tuple[str, ...] = ()

    @classmethod
    def from_profile(cls, profile: ModelProfile) -> CandidateModel:
        """Return the candidate of a profile."""
        core = [
            group
            for group in profile.groups
            if group.kind not in (Kind.EMBEDDING, Kind.BUFFER)
            and group.part is not Part.MTP
            and not group.duplicate
        ]
        parameters = sum(group.parameters for group in core)
        stored_bytes = sum(group.stored_bytes for group in core)
        return cls(profile, parameters, stored_bytes, Member.from_profile(profile))


class ModelLibrary:
    """Candidates of a shelf; they are profiled on first use and cached.

    `read_use` reads the embedded figures of their use, `trending` requests the Hub's current ones;
    without it no answer is live. `read_boards` reads the scores of boards, `leaderboards` requests
    the Hub's current ones.
    """

    def __init__(
        self,
        shelf: Shelf | None = None,
        read_use: Callable[[], Uses] = dict,
        trending: ListTrending | None = None,
        read_boards: Callable[[], ScoreBoards] = embedded_boards,
        leaderboards: ListLeaderboard | None = None,
    ) -> None:
        self._shelf = shelf
        self._profiles: dict[str, ModelProfile] = {}
        self._read_use = read_use
        self._read_boards = read_boards
        self.trending = trending
        self.leaderboards = leaderboards

    @cached_property
    def candidates(self) -> tuple[CandidateModel, ...]:
        """All models, the largest first."""
        candidates = [CandidateModel.from_profile(self._profile(repo_id)) for repo_id in self._ids]
        return tuple(sorted(candidates, key=lambda candidate: -candidate.profile.parameters))

    def larger_siblings(self, profile: ModelProfile) -> Iterator[ModelProfile]:
        """Yield models of the same series, tuning and task with more parameters, largest first.

        Copies in another quantization are left out. Only models of the series are profiled.
        """
        name, task = name_of(profile), task_of(profile)
        found = map(self._profile, self._by_series.get((name.series, name.tuning), ()))
        larger = [sibling for sibling in found if sibling.parameters > profile.parameters]
        for sibling in sorted(larger, key=lambda sibling: -sibling.parameters):
            if task_of(sibling) == task and name_of(sibling).kind != "quantized":
                yield sibling

    @property
    def _ids(self) -> Sequence[str]:
        return self._shelf.ids() if self._shelf else ()

    @cached_property
    def _by_series(self) -> Mapping[tuple[str, str], Sequence[str]]:
        # Originals by series and tuning, as named.
        found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for repo_id in self._ids:
            name = read_name(repo_id)
            if name.series and name.kind != "quantized":
                found[name.series, name.tuning].append(repo_id)
        return found

    def _profile(self, repo_id: str) -> ModelProfile:
        if repo_id not in self._profiles:
            snapshot = self._shelf.get(repo_id) if self._shelf else None
            if snapshot is None:
                raise KeyError(repo_id)
            self._profiles[repo_id] = build_profile(snapshot)
        return self._profiles[repo_id]

    @cached_property
    def uses(self) -> Uses:
        """Use of repositories, from the embedded table."""
        return self._read_use()

    @cached_property
    def boards(self) -> ScoreBoards:
        """Scores of models on boards."""
        return self._read_boards()
