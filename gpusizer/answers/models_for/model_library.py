"""ModelLibrary: the models that come with gpusizer, profiled once, and how much they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from gpusizer.answers.models_for.families import Member
from gpusizer.answers.models_for.model_use import Uses
from gpusizer.hub.listed_models import ListTrending
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part

Library = Callable[[], Iterable[RepoSnapshot]]
"""Returns every stored snapshot; `gpusizer/composition/` supplies it."""


@dataclass(frozen=True, slots=True)
class CandidateModel:
    """A model that may run.

    Attributes:
        core_parameters, core_bytes: parameters and stored bytes that every engine loads onto
            GPUs: without input tables, which llama.cpp leaves on the host, and draft layers.
        member: what its family follows from.
        quants: those that its name asks for; empty for those of the request.
    """

    profile: ModelProfile
    core_parameters: int
    core_bytes: int
    member: Member
    quants: tuple[str, ...] = ()

    @classmethod
    def of(cls, profile: ModelProfile) -> CandidateModel:
        """The candidate of a profile."""
        core = [
            group
            for group in profile.groups
            if group.kind not in (Kind.EMBEDDING, Kind.BUFFER)
            and group.part is not Part.MTP
            and not group.duplicate
        ]
        parameters = sum(group.parameters for group in core)
        stored_bytes = sum(group.stored_bytes for group in core)
        return cls(profile, parameters, stored_bytes, Member.of(profile))


class ModelLibrary:
    """Candidates of a library; they are profiled on first use and cached.

    `read_use` reads the embedded figures of their use, `trending` asks the Hub for those of now;
    without it no answer is live.
    """

    def __init__(
        self,
        library: Library,
        read_use: Callable[[], Uses] = dict,
        trending: ListTrending | None = None,
    ) -> None:
        self._library = library
        self._read_use = read_use
        self.trending = trending

    @cached_property
    def candidates(self) -> tuple[CandidateModel, ...]:
        """Every model, the largest first."""
        candidates = [CandidateModel.of(build_profile(snapshot)) for snapshot in self._library()]
        return tuple(sorted(candidates, key=lambda candidate: -candidate.profile.parameters))

    @cached_property
    def uses(self) -> Uses:
        """How much repositories are used, as the embedded table says."""
        return self._read_use()
