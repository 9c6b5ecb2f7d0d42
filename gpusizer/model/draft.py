"""What guesses tokens: a second model, read from its repository, or layers of the model itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import DraftMethod, DraftModel, ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.model.weights import WeightGroup

_BY_NAME: tuple[tuple[str, DraftMethod], ...] = (
    ("eagle-", "eagle"),
    ("eagle3", "eagle3"),
    ("dflash", "dflash"),
)
"""What vLLM tells methods by, in this order (`SpeculativeConfig.__post_init__`)."""
_BY_CLASS: tuple[tuple[str, DraftMethod], ...] = (
    ("eagle3", "eagle3"),
    ("eagle", "eagle"),
    ("dflash", "dflash"),
)
"""The same of the classes that configurations name, such as LlamaForCausalLMEagle3."""
_MOST_BLOCK_TOKENS = 1024


def with_draft(profile: ModelProfile, snapshot: RepoSnapshot) -> ModelProfile:
    """The profile with a second model that guesses tokens for it.

    Raises what `build_profile` does about the second repository.
    """
    config = snapshot.components[0].config or {}
    draft = build_profile(snapshot)
    method = method_of(snapshot.repo_id, config.get("architectures"))
    return replace(profile, draft=DraftModel(draft, method, _length(config.get("block_size"))))


def method_of(repo_id: str, classes: object) -> DraftMethod:
    """How a repository of this name, and of these classes, guesses tokens.

    >>> method_of("AngelSlim/Qwen3-8B_eagle3", None), method_of("Qwen/Qwen3-0.6B", None)
    ('eagle3', 'draft_model')
    """
    named = classes if isinstance(classes, list) else []
    words = [name.lower() for name in named if isinstance(name, str)]
    return _first(_BY_NAME, [repo_id.lower()]) or _first(_BY_CLASS, words) or "draft_model"


def guesses_itself(profile: ModelProfile) -> bool:
    """Whether a model has layers of its own that guess tokens (multi-token prediction)."""
    return any(map(drafts, profile.groups))


def drafts(group: WeightGroup) -> bool:
    """Whether these weights guess tokens, besides the embedding and the output head, which engines
    share with the model."""
    return group.part is Part.MTP and group.kind not in (Kind.EMBEDDING, Kind.OUTPUT)


def _length(value: object) -> int | None:
    """A length of a block as a stranger's configuration names it."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 1 < value <= _MOST_BLOCK_TOKENS else None


def _first(table: Iterable[tuple[str, DraftMethod]], words: list[str]) -> DraftMethod | None:
    return next((method for part, method in table for word in words if part in word), None)
