"""Tasks: the groups of a list of models."""

from __future__ import annotations

from typing import Literal, get_args

from gpusizer.core.tables import toml_of
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

Task = Literal["text", "vision", "embedding", "speech", "image", "other"]
# text generation; text generation with images as input; vectors and scores; speech recognition and
# synthesis; generation of images and video; all others, image encoders among them
TASKS: tuple[Task, ...] = get_args(Task)

_TABLES = toml_of(__file__)
_OF_TAG: dict[str, Task] = {tag: task for task, tags in _TABLES["tags"].items() for tag in tags}


def task_of_tag(tag: str | None) -> Task | None:
    """Return the task of the Hub's pipeline tag, or None without a tag."""
    if tag in _OF_TAG:
        return _OF_TAG[tag]
    return "other" if tag and tag != "unknown" else None


def task_of(profile: ModelProfile) -> Task:
    """Return the task of a model by the Hub's pipeline tag, else by the model's parts."""
    tagged = task_of_tag(profile.pipeline_tag)
    if tagged is not None:
        return tagged
    if profile.format == "diffusers":
        return "image"
    arch = profile.architecture
    if arch is None:
        return "other"
    if not arch.generates:
        return "other" if kind_of(profile) == "tower" else "embedding"
    parts = {group.part for group in profile.groups}
    if Part.VISION in parts:
        return "vision"
    return "speech" if Part.AUDIO in parts else "text"


# in order: language models; encoders of text; encoders with a decoder of text; encoders of sound
# with a decoder of text; encoders of images or sound alone; pipelines of diffusers
# Kind of model as engines distinguish them.
ModelKind = Literal["decoder", "encoder", "encoder_decoder", "speech", "tower", "pipeline"]

_KINDS: dict[str, ModelKind] = {
    name: kind for kind, names in _TABLES["kinds"].items() for name in names
}


def kind_of(profile: ModelProfile) -> ModelKind:
    """Return the kind of a model; a decoder if nothing states it."""
    arch = profile.architecture
    if profile.format == "diffusers":
        return "pipeline"
    if arch is None or arch.model_type == "unknown":
        told = task_of_tag(profile.pipeline_tag)
        return "decoder" if told in (None, "text", "vision") else "tower"
    kind = _KINDS.get(arch.model_type)
    if arch.generates:
        return kind or "decoder"
    return "tower" if kind == "tower" or arch.reads == "other" else "encoder"


def writes_text(profile: ModelProfile) -> bool:
    """Return whether the model answers in tokens, one after another."""
    arch = profile.architecture
    if arch is None or not arch.generates or kind_of(profile) == "tower":
        return False
    return task_of(profile) not in ("embedding", "image")
