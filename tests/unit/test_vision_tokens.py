"""Pictures in a prompt: tokens by hand for each family's processor, and what they take."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.memory.workload import Workload
from gpusizer.model.attended_inputs import attended_picture_bytes, attended_sound_bytes
from gpusizer.model.vision_tokens import FixedTokens, Tiles, picture_rule
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.usecases.requests.request import SizeRequest
from tests.asking import size
from tests.documents import written
from tests.sizers import embedded_sizer

QWEN2 = {"model_type": "qwen2_5_vl", "vision_config": {"patch_size": 14, "spatial_merge_size": 2}}
QWEN3 = {"model_type": "qwen3_vl", "vision_config": {"patch_size": 16, "spatial_merge_size": 2}}
GEMMA = {"model_type": "gemma3", "mm_tokens_per_image": 256, "vision_config": {"patch_size": 14}}
CLIP = {"model_type": "clip_vision_model", "patch_size": 14, "image_size": 336}
LLAVA = {"model_type": "llava", "vision_config": CLIP}
PIXTRAL_TOWER = {"model_type": "pixtral", "patch_size": 16, "image_size": 1024}
PIXTRAL = {"model_type": "llava", "vision_config": PIXTRAL_TOWER}
MISTRAL = {
    "model_type": "mistral3",
    "spatial_merge_size": 2,
    "vision_config": {"model_type": "pixtral", "patch_size": 14, "image_size": 1540},
}
INTERNVL = {
    "model_type": "internvl_chat",
    "force_image_size": 448,
    "max_dynamic_patch": 12,
    "use_thumbnail": True,
    "vision_config": {"patch_size": 14, "image_size": 448},
}


@pytest.mark.parametrize(
    ("config", "width", "height", "tokens"),
    [
        (QWEN2, 1024, 1024, 37 * 37),  # 1024 / 28 = 36.6
        (QWEN2, 28, 28, 2 * 2),  # 3,136 pixels at least
        (QWEN2, 8000, 6000, 147 * 110),  # scaled to 12,845,056 pixels: 4138.5 x 3103.9
        (QWEN3, 1024, 1024, 32 * 32),
        (QWEN3, 1920, 1080, 60 * 34),  # 1080 / 32 = 33.75
        (QWEN3, 64, 64, 8 * 8),  # 65,536 pixels at least
        (GEMMA, 4000, 200, 256),
        (LLAVA, 1920, 1080, 24 * 24),
        (PIXTRAL, 1024, 1024, 64 * (64 + 1)),  # each row ends with a token
        (PIXTRAL, 1920, 1080, 36 * (64 + 1)),  # scaled to 1024 x 576
        (PIXTRAL, 100, 40, 3 * (7 + 1)),
        (MISTRAL, 1540, 1540, 55 * (55 + 1)),
        (MISTRAL, 1920, 1080, 31 * (55 + 1)),  # scaled to 1540 x 866
        (INTERNVL, 448, 448, 256),
        (INTERNVL, 896, 448, (2 + 1) * 256),
        (INTERNVL, 1920, 1080, (4 * 2 + 1) * 256),  # 2 x 1 is as near, and 4 x 2 half full
        (INTERNVL, 300, 300, 256),  # 2 x 2 is as near, and not half full
    ],
)
def test_tokens_of_a_picture(config: Any, width: int, height: int, tokens: int) -> None:
    rule = picture_rule(config)
    assert rule is not None and rule.tokens(width, height) == tokens


@pytest.mark.parametrize("config", [QWEN2, QWEN3])
@pytest.mark.parametrize("sides", [(16, 16_384), (16_384, 16_384), (16, 16), (3000, 17)])
def test_tokens_stay_within_the_processors_limits(config: Any, sides: tuple[int, int]) -> None:
    rule = picture_rule(config)
    assert rule is not None and 1 <= rule.tokens(*sides) <= 16_384


def test_what_internvl_states_otherwise_is_obeyed() -> None:
    assert picture_rule({**INTERNVL, "dynamic_image_size": False}) == FixedTokens(256)
    assert picture_rule({**INTERNVL, "use_thumbnail": False}) == Tiles(448, 1, 12, 256, False)
    assert picture_rule({**INTERNVL, "downsample_ratio": 0.25}) is None


@pytest.mark.parametrize(
    "config",
    [
        None,
        {},
        {"model_type": ["qwen2_vl"], "vision_config": {"patch_size": 14}},
        {"model_type": "mllama", "vision_config": {"patch_size": 14, "image_size": 448}},
        {"model_type": "qwen2_vl", "vision_config": "none"},
        {"model_type": "qwen2_vl", "vision_config": {"patch_size": 0}},
        {"model_type": "qwen2_vl", "vision_config": {"patch_size": -14}},
        {"model_type": "qwen2_vl", "vision_config": {"patch_size": True}},
        {"model_type": "qwen2_vl", "vision_config": {"patch_size": 10**9}},
        {"model_type": "qwen2_vl", "vision_config": {"patch_size": 14, "spatial_merge_size": "2"}},
        {"model_type": "gemma3", "mm_tokens_per_image": 10**12, "vision_config": {"x": 1}},
        {"model_type": "llava", "vision_config": {**CLIP, "patch_size": None}},
        {"model_type": "llava", "vision_config": {**CLIP, "model_type": "siglip_vision_model"}},
        {**LLAVA, "vision_feature_select_strategy": "full"},
        {**INTERNVL, "max_dynamic_patch": 10**6},
        {**INTERNVL, "min_dynamic_patch": 13},
    ],
)
def test_an_unknown_or_broken_configuration_has_no_rule(config: Any) -> None:
    assert picture_rule(config) is None


MLLAMA: Any = {
    "model_type": "mllama",
    "text_config": {
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
    },
    "vision_config": {"patch_size": 14, "image_size": 560, "max_num_tiles": 4},
}


def test_a_picture_read_by_cross_attention_has_keys_and_values() -> None:
    """Four tiles of 40 x 40 patches and one, in 8 layers, of 8 heads with 128 elements."""
    keys = 4 * (40 * 40 + 1) * 8 * (8 * 128)
    assert attended_picture_bytes(MLLAMA) == 2 * keys * 2
    assert attended_picture_bytes({**MLLAMA, "model_type": "llama4"}) is None
    assert attended_picture_bytes(None) is None


@pytest.mark.parametrize(
    "part",
    [
        {"text_config": {}},
        {"text_config": {**MLLAMA["text_config"], "cross_attention_layers": 8}},
        {"text_config": {**MLLAMA["text_config"], "num_attention_heads": 8192}},
        {"vision_config": {"patch_size": 0, "image_size": 560}},
        {"vision_config": {"patch_size": 14, "image_size": 560, "max_num_tiles": 10**9}},
    ],
)
def test_a_broken_configuration_has_no_keys_and_values(part: Any) -> None:
    assert attended_picture_bytes({**MLLAMA, **part}) is None


def ask(model: str, **more: Any) -> Any:
    return size(embedded_sizer(), {"model": model, "gpu": "8x h100 sxm", **more})


def codes(report: Any) -> set[str]:
    return {note.code for note in report.notes}


def test_pictures_come_on_top_of_the_context() -> None:
    model = "mistralai/Mistral-Small-3.1-24B-Instruct-2503"
    fields = {"context": 4000, "engine": "vllm", "quant": "bf16"}
    asked = ask(model, **fields, images=2, image_width=1920, image_height=1080)
    assert (asked.workload.context, asked.workload.image_tokens) == (4000 + 3472, 3472)
    plain, longer = (ask(model, **{**fields, "context": tokens}) for tokens in (4000, 7472))
    answers = [written(report) for report in (asked, plain, longer)]
    cache = [answer["estimates"][0]["kv_cache_bytes"] for answer in answers]
    assert cache[0] == cache[2] > cache[1]
    prompts = [answer["ranking"][0]["speed_basis"]["prompt_tokens"] for answer in answers]
    assert prompts == [3472 + 3000, 3000, 5604], "a quarter of the text is answer"
    first = [answer["ranking"][0]["time_to_first_token_seconds"]["likely"] for answer in answers]
    assert first[0] > first[2] > first[1]
    workload = answers[0]["workload"]
    assert {name: workload[name] for name in ("images", "image_tokens")} == {
        "images": 2,
        "image_tokens": 3472,
    }
    (note,) = [note for note in asked.notes if note.code == "pictures_counted"]
    assert note.fields == {"count": 2, "width": 1920, "height": 1080, "tokens": 3472}


def test_stated_lengths_get_the_pictures_of_each_prompt() -> None:
    lengths = {"prompt_tokens": 500, "answer_tokens": 200, "top": 1, "engine": "vllm"}
    fields = {**lengths, "images": 2, "image_width": 512, "image_height": 512}
    model = "google/gemma-3-27b-it"
    plan = ask(model, **fields, requests_per_second=1).serving_plan
    assert (plan.target.prompt_tokens, plan.target.answer_tokens) == (500 + 512, 200)
    users = ask(model, **fields, concurrency=4)
    assert users.workload.context == 700 + 512
    load = users.request.load_within(users.workload)
    assert (load.prompt, load.answer) == (500 + 512, 200)
    only = SizeRequest.from_fields({"model": model, "concurrency": 4, "prompt_tokens": 500})
    open_answer = only.load_within(Workload(context=4512, concurrency=4, image_tokens=512))
    assert open_answer is not None
    assert (open_answer.prompt, open_answer.answer) == (1012, 3500)


def test_a_context_that_is_not_named_leaves_room_for_pictures() -> None:
    """LLaVA reads 4,096 tokens: its two pictures take 1,152 of them."""
    report = ask("llava-hf/llava-1.5-7b-hf", images=2, engine="vllm")
    assert (report.workload.context, report.workload.image_tokens) == (4096, 1152)
    assert "context_shortened" not in codes(report)
    with pytest.raises(InvalidRequest) as raised:
        ask("llava-hf/llava-1.5-7b-hf", images=8)
    assert raised.value.fields["field"] == "images"


@pytest.mark.parametrize(
    ("model", "more", "code"),
    [
        ("meta-llama/Llama-3.2-11B-Vision", {}, "pictures_attended"),
        ("moonshotai/Kimi-VL-A3B-Instruct", {}, "pictures_unknown"),
        ("Qwen/Qwen3-8B", {}, "pictures_not_read"),
        ("google/gemma-3-27b-it", {"text_only": True, "engine": "vllm"}, "pictures_not_read"),
    ],
)
def test_pictures_that_cannot_be_counted_are_left_out(
    model: str, more: dict[str, Any], code: str
) -> None:
    report = ask(model, images=3, **more)
    assert code in codes(report)
    assert (report.workload.images, report.workload.image_tokens) == (0, 0)
    assert report.workload.context == ask(model, **more).workload.context


@pytest.mark.parametrize(
    ("stated", "sound_bytes"),
    [
        ({"d_model": 1280, "decoder_layers": 32, "max_source_positions": 1500}, 245_760_000),
        ({"d_model": 1280, "decoder_layers": 4, "max_source_positions": 1500}, 30_720_000),
        ({"d_model": 1280, "decoder_layers": 32}, None),
        ({"d_model": 10**9, "decoder_layers": "x", "max_source_positions": True}, None),
    ],
)
def test_whisper_keeps_keys_and_values_of_a_recording(
    stated: dict[str, Any], sound_bytes: int | None
) -> None:
    """2 x 1,500 positions x 1,280 x 32 layers x 2 bytes of Whisper large-v3; turbo has 4 layers."""
    assert attended_sound_bytes({"model_type": "whisper", **stated}) == sound_bytes
    assert attended_sound_bytes({"model_type": "llama", **stated}) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_about_whisper_says_what_it_leaves_out(language: Language) -> None:
    report = size(embedded_sizer(), {"model": "openai/whisper-large-v3", "gpu": "4090"})
    (note,) = [note for note in report.profile.caveats if note.code == "sound_attended"]
    assert "0" + ("," if language == "pt" else ".") + "23" in say_note(note, language)
