"""Tasks: the groups that models are listed by."""

from __future__ import annotations

from typing import Literal, get_args

from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

Task = Literal["text", "vision", "embedding", "speech", "image", "other"]
TASKS: tuple[Task, ...] = get_args(Task)
"""In order: text generation; the same with images as input; vectors and scores; speech recognition
and synthesis; generation of images and video; all others, image encoders among them."""

_OF_TAG: dict[str, Task] = {
    **dict.fromkeys(
        (
            "text-generation",
            "text2text-generation",
            "translation",
            "summarization",
            "conversational",
        ),
        "text",
    ),
    **dict.fromkeys(
        (
            "image-text-to-text",
            "visual-question-answering",
            "image-to-text",
            "video-text-to-text",
            "any-to-any",
        ),
        "vision",
    ),
    **dict.fromkeys(
        (
            "feature-extraction",
            "sentence-similarity",
            "text-ranking",
            "fill-mask",
            "text-classification",
            "token-classification",
        ),
        "embedding",
    ),
    **dict.fromkeys(
        (
            "automatic-speech-recognition",
            "text-to-speech",
            "text-to-audio",
            "audio-to-audio",
            "audio-text-to-text",
        ),
        "speech",
    ),
    **dict.fromkeys(
        ("text-to-image", "image-to-image", "text-to-video", "image-to-video"), "image"
    ),
}


def task_of_tag(tag: str | None) -> Task | None:
    """The task that a pipeline tag of the Hub names; None where there is none."""
    if tag in _OF_TAG:
        return _OF_TAG[tag]
    return "other" if tag and tag != "unknown" else None


def task_of(profile: ModelProfile) -> Task:
    """The task of a model: by the Hub's pipeline tag, without one by the parts of the model."""
    tagged = task_of_tag(profile.pipeline_tag)
    if tagged is not None:
        return tagged
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


ModelKind = Literal["decoder", "encoder", "encoder_decoder", "speech", "tower", "pipeline"]
"""What engines tell models apart by: language models; encoders of text; encoders with a decoder of
text; the same that hear sound; encoders of images or sound alone; pipelines of diffusers."""

_KINDS: dict[str, ModelKind] = {
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5", "t5gemma"), "encoder_decoder"),
    **dict.fromkeys(("bart", "mbart", "m2m_100", "marian", "pegasus"), "encoder_decoder"),
    **dict.fromkeys(("led", "blenderbot", "fsmt", "prophetnet"), "encoder_decoder"),
    **dict.fromkeys(("switch_transformers", "seamless_m4t", "seamless_m4t_v2"), "encoder_decoder"),
    **dict.fromkeys(("whisper", "speech_to_text", "moonshine", "speecht5"), "speech"),
    **dict.fromkeys(("clip", "clip_text_model", "siglip", "siglip2", "vit"), "tower"),
    **dict.fromkeys(("dinov2", "dinov3_vit", "timm", "wav2vec2", "hubert"), "tower"),
}


def kind_of(profile: ModelProfile) -> ModelKind:
    """The kind of a model; a decoder where nothing tells."""
    arch = profile.architecture
    if profile.format == "diffusers":
        return "pipeline"
    if arch is None or arch.model_type == "unknown":
        told = task_of_tag(profile.pipeline_tag)
        return "decoder" if told in (None, "text", "vision") else "tower"
    return _KINDS.get(arch.model_type, "decoder" if arch.generates else "encoder")


def writes_text(profile: ModelProfile) -> bool:
    """Whether the model answers in tokens, one after another."""
    arch = profile.architecture
    if arch is None or not arch.generates or kind_of(profile) == "tower":
        return False
    return task_of(profile) not in ("embedding", "image")
