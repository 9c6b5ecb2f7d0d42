"""Shelf: the models that come with gpusizer, profiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from gpusizer.profile import ModelProfile, build_profile
from gpusizer.roles import Kind, Part
from gpusizer.snapshot import RepoSnapshot

Library = Callable[[], Iterable[RepoSnapshot]]
"""Hands out every stored snapshot; the composition root supplies it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that may run.

    Attributes:
        core_parameters, core_bytes: parameters and stored bytes that every engine loads onto
            GPUs: without input tables, which llama.cpp leaves on the host, and draft layers.
    """

    profile: ModelProfile
    core_parameters: int
    core_bytes: int

    @classmethod
    def of(cls, profile: ModelProfile) -> Candidate:
        """The candidate of a profile."""
        core = [
            group
            for group in profile.groups
            if group.kind not in (Kind.EMBEDDING, Kind.BUFFER)
            and group.part is not Part.MTP
            and not group.duplicate
        ]
        parameters = sum(group.parameters for group in core)
        return cls(profile, parameters, sum(group.stored_bytes for group in core))


class Shelf:
    """Candidates of a library, made when first asked for and kept."""

    def __init__(self, library: Library) -> None:
        self._library = library

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every model, the largest first."""
        made = [Candidate.of(build_profile(snapshot)) for snapshot in self._library()]
        return tuple(sorted(made, key=lambda one: -one.profile.parameters))
