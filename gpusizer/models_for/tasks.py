"""What people use a model for, in a handful of groups."""

from __future__ import annotations

from typing import Literal, get_args

from gpusizer.profile import ModelProfile
from gpusizer.roles import Part

Task = Literal["text", "vision", "embedding", "speech", "image", "other"]
TASKS: tuple[Task, ...] = get_args(Task)
"""Writing text; the same with images to look at; vectors and scores; hearing and speaking;
making images and video; the rest, image encoders among them."""

_OF_TAG: dict[str, Task] = {
    **dict.fromkeys(("text-generation", "text2text-generation", "translation", "summarization",
                     "conversational"), "text"),
    **dict.fromkeys(("image-text-to-text", "visual-question-answering", "image-to-text",
                     "video-text-to-text", "any-to-any"), "vision"),
    **dict.fromkeys(("feature-extraction", "sentence-similarity", "text-ranking", "fill-mask",
                     "text-classification", "token-classification"), "embedding"),
    **dict.fromkeys(("automatic-speech-recognition", "text-to-speech", "text-to-audio",
                     "audio-to-audio", "audio-text-to-text"), "speech"),
    **dict.fromkeys(("text-to-image", "image-to-image", "text-to-video", "image-to-video"),
                    "image"),
}  # fmt: skip


def task_of(profile: ModelProfile) -> Task:
    """By the Hub's pipeline tag; without one by what the model is made of."""
    tag = profile.pipeline_tag
    if tag in _OF_TAG:
        return _OF_TAG[tag]
    if tag and tag != "unknown":
        return "other"
    if profile.format == "diffusers":
        return "image"
    arch = profile.architecture
    if arch is None:
        return "other"
    if not arch.generates:
        return "embedding"
    parts = {group.part for group in profile.groups}
    if Part.VISION in parts:
        return "vision"
    return "speech" if Part.AUDIO in parts else "text"
