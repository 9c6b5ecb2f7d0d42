"""gpusizer.model.tasks and purposes: whether a model writes, reads text or does neither."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tasks import kind_of, task_of, writes_text
from tests.builders import Config, group, snapshot

SMALL: Config = {
    "model_type": "new_model",
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
}


def profile(config: Config, tag: str | None = None) -> ModelProfile:
    """Return a model of its configuration and tag, with a tensor that shows nothing."""
    repository = snapshot([group("other.weight", (2, 2))], {**SMALL, **config})
    return build_profile(replace(repository, pipeline_tag=tag))


@pytest.mark.parametrize(
    "name, tag, kind",
    [
        ("NewForCausalLM", None, "decoder"),
        ("QWenLMHeadModel", None, "decoder"),
        ("NewForConditionalGeneration", "image-text-to-text", "decoder"),
        ("MultiModalityCausalLM", "any-to-any", "decoder"),
        ("MarianMTModel", None, "decoder"),
        ("VisionEncoderDecoderModel", None, "decoder"),
        ("NewForCausalLM", "feature-extraction", "decoder"),  # vLLM keeps its keys while it reads
        ("NewModel", "text-generation", "decoder"),
        ("NewModel", "sentence-similarity", "encoder"),
        ("NewModel", None, "encoder"),
        ("AlbertForMaskedLM", None, "encoder"),
        ("XLMWithLMHeadModel", "fill-mask", "encoder"),
        ("LayoutLMForQuestionAnswering", "visual-question-answering", "encoder"),
        ("NewModel", "zero-shot-image-classification", "tower"),
        ("TableTransformerForObjectDetection", None, "tower"),
        ("DeiTForImageClassification", None, "tower"),
        ("WavLMForCTC", "automatic-speech-recognition", "tower"),
        ("VitsModel", "text-to-audio", "tower"),
        ("Qwen3VLVisionModel", None, "tower"),
        ("NewAudioEncoder", None, "tower"),
    ],
)
def test_what_a_model_does_follows_from_its_class_and_then_its_tag(
    name: str, tag: str | None, kind: str
) -> None:
    found = profile({"architectures": [name]}, tag)
    assert kind_of(found) == kind
    assert bool(found.kv_cache_bytes_per_token) is (kind == "decoder")
    assert writes_text(found) is (kind == "decoder" and task_of(found) != "embedding")


@pytest.mark.parametrize(
    "keys, generates",
    [
        ({}, False),
        ({"use_cache": True}, True),
        ({"use_cache": True, "num_key_value_heads": None}, False),
        ({"is_encoder_decoder": True}, True),
        ({"auto_map": {"AutoModelForCausalLM": "modeling.New"}}, True),
        ({"auto_map": {"AutoModel": "modeling.New"}}, False),
        ({"auto_map": "modeling.New"}, False),
        ({"use_cache": True, "use_bidirectional_attention": True}, False),
        ({"use_cache": True, "use_bidirectional_attention": "vision"}, True),
        ({"use_cache": True, "is_causal": False}, False),
        ({"use_cache": True, "vocab_size": None}, False),
        ({"model_type": "mistral"}, True),
        ({"model_type": "xlm-roberta", "use_cache": True}, False),
    ],
)
def test_a_base_class_without_a_tag_is_told_by_its_keys(keys: Config, generates: bool) -> None:
    arch = profile({"architectures": ["NewModel"], **keys}).architecture
    assert arch is not None
    assert arch.generates is generates


@pytest.mark.parametrize(
    "keys, reads",
    [
        ({}, "text"),
        ({"vocab_size": None}, "other"),
        ({"vision_config": {"hidden_size": 64}}, "other"),
    ],
)
def test_an_encoder_reads_text_where_it_has_words_alone(keys: Config, reads: str) -> None:
    arch = profile({"architectures": ["NewModel"], **keys}).architecture
    assert arch is not None
    assert (arch.generates, arch.reads) == (False, reads)


@pytest.mark.parametrize("tag", ["image-classification", None])
def test_an_encoder_of_images_is_no_embedding_model(tag: str | None) -> None:
    found = profile({"architectures": ["ViTForImageClassification"]}, tag)
    assert task_of(found) == "other"
