"""Draft models that guess tokens: a second repository, or layers of the model itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import DraftMethod, DraftModel, ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.model.weights import WeightGroup

# Parts of repository names by method, in vLLM's order (`SpeculativeConfig.__post_init__`).
_BY_NAME: tuple[tuple[str, DraftMethod], ...] = (
    ("eagle-", "eagle"),
    ("eagle3", "eagle3"),
    ("dflash", "dflash"),
)
# Parts of class names in configurations, such as LlamaForCausalLMEagle3.
_BY_CLASS: tuple[tuple[str, DraftMethod], ...] = (
    ("eagle3", "eagle3"),
    ("eagle", "eagle"),
    ("dflash", "dflash"),
)
_MOST_BLOCK_TOKENS = 1024


def with_draft(profile: ModelProfile, snapshot: RepoSnapshot) -> ModelProfile:
    """Return the profile with a draft model. Raises the errors of `build_profile`."""
    config = snapshot.components[0].config or {}
    draft = build_profile(snapshot)
    method = method_of(snapshot.repo_id, config.get("architectures"))
    return replace(profile, draft=DraftModel(draft, method, _length(config.get("block_size"))))


def method_of(repo_id: str, classes: object) -> DraftMethod:
    """Return the draft method by repository name, then by class names.

    >>> method_of("AngelSlim/Qwen3-8B_eagle3", None), method_of("Qwen/Qwen3-0.6B", None)
    ('eagle3', 'draft_model')
    """
    named = classes if isinstance(classes, list) else []
    words = [name.lower() for name in named if isinstance(name, str)]
    return _first(_BY_NAME, [repo_id.lower()]) or _first(_BY_CLASS, words) or "draft_model"


def guesses_itself(profile: ModelProfile) -> bool:
    """Return whether the model has multi-token-prediction layers of its own."""
    return any(map(drafts, profile.groups))


def drafts(group: WeightGroup) -> bool:
    """Return whether these weights belong to a draft layer alone."""
    # Engines share the embedding and the output head with the model.
    return group.part is Part.MTP and group.kind not in (Kind.EMBEDDING, Kind.OUTPUT)


def _length(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 1 < value <= _MOST_BLOCK_TOKENS else None


def _first(table: Iterable[tuple[str, DraftMethod]], words: list[str]) -> DraftMethod | None:
    return next((method for part, method in table for word in words if part in word), None)
