"""Pictures cut into tiles or scaled to a budget: tokens by hand, and broken configurations."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.model.vision_tokens import picture_rule
from tests.asking import size
from tests.sizers import embedded_sizer

CLIP = {"model_type": "clip_vision_model", "patch_size": 14, "image_size": 336}
SIGLIP = {"model_type": "siglip_vision_model", "patch_size": 14, "image_size": 384}
NEXT = {"model_type": "llava_next", "vision_config": CLIP}
ROW = [[384, 384 * tiles] for tiles in range(1, 11)]
GRANITE = {
    "model_type": "llava_next",
    "image_grid_pinpoints": ROW,
    "vision_feature_select_strategy": "full",
    "vision_config": SIGLIP,
}
ONEVISION = {"model_type": "llava_onevision", "vision_config": SIGLIP}
LLAMA4_TOWER = {"image_size": 336, "patch_size": 14, "pixel_shuffle_ratio": 0.5}
LLAMA4 = {"model_type": "llama4", "vision_config": LLAMA4_TOWER}
IDEFICS3 = {"model_type": "idefics3", "vision_config": {"image_size": 364, "patch_size": 14}}
SMOLVLM = {
    "model_type": "smolvlm",
    "scale_factor": 4,
    "vision_config": {"image_size": 512, "patch_size": 16},
}
GEMMA4 = {
    "model_type": "gemma4",
    "vision_soft_tokens_per_image": 280,
    "vision_config": {"patch_size": 16, "pooling_kernel_size": 3},
}
GLM = {"model_type": "glm4v_moe", "vision_config": {"patch_size": 14, "spatial_merge_size": 2}}
DOTS = {"model_type": "dots_ocr", "vision_config": {"patch_size": 14, "spatial_merge_size": 2}}
KIMI = {"model_type": "kimi_k25", "vision_config": {"patch_size": 14, "merge_kernel_size": [2, 2]}}
MINICPM = {"model_type": "minicpmv", "query_num": 64, "vision_config": {"patch_size": 14}}
PHI4 = {"model_type": "phi4mm", "embd_layer": {"image_embd_layer": {"crop_size": 448}}}
FAMILIES = (
    *(NEXT, GRANITE, ONEVISION, LLAMA4, IDEFICS3, SMOLVLM, GEMMA4),
    *(GLM, DOTS, KIMI, MINICPM, PHI4),
)


@pytest.mark.parametrize(
    ("config", "width", "height", "tokens"),
    [
        # vLLM's examples of 2024 for llava-v1.6-mistral state 1,176 and 2,928 (image_feature_size)
        (NEXT, 336, 336, 576 + 24 * (24 + 1)),  # half of 336 x 672
        (NEXT, 672, 672, 576 + 48 * (48 + 1)),
        (NEXT, 1920, 1080, 576 + 28 * (48 + 1)),  # 672 x 378 of 672 x 672: 27 rows and a half pad
        (GRANITE, 1920, 1080, 729 + 27 * (48 + 1)),  # 682 x 384 of 768 x 384
        (ONEVISION, 1024, 1024, 729 + 81 * (81 + 1)),  # 1152 x 1152: nine tiles are kept
        (ONEVISION, 1920, 1080, 729 + 60 * (108 + 1)),  # 75 x 135, over nine tiles by 1.242^2
        # smg-project/smg, pull request 494, counts 144 and 720 without the marks of tiles
        (LLAMA4, 336, 336, 144),
        (LLAMA4, 672, 672, 4 * (144 + 1) + 144),
        (LLAMA4, 450, 300, 2 * (144 + 1) + 144),
        (LLAMA4, 1024, 1024, 16 * (144 + 1) + 144),  # three tiles are 1,008 pixels
        (LLAMA4, 1920, 1080, 15 * (144 + 1) + 144),  # 5 x 3 reduce it least
        (IDEFICS3, 400, 400, 4 * (4 * (169 + 2) + 1) + 169),  # enlarged to 1456 x 1456
        (IDEFICS3, 1920, 1080, 3 * (4 * (169 + 2) + 1) + 169),  # 1456 x 820
        (IDEFICS3, 1080, 1920, 4 * (3 * (169 + 2) + 1) + 169),
        (SMOLVLM, 2048, 2048, 4 * (4 * (64 + 2) + 1) + 64),
        (SMOLVLM, 4000, 40, 1 * (4 * (64 + 2) + 1) + 64),
        (GEMMA4, 1024, 1024, 16 * 16),  # scaled to 803 x 803, in squares of 48
        (GEMMA4, 1920, 1080, 22 * 12),  # 1070 x 602
        (GEMMA4, 16_384, 16, 280),  # one row, of the budget's length
        (GEMMA4, 40, 4000, 1 * 167),  # 80 x 8032
        (GLM, 1024, 1024, 37 * 37),
        (GLM, 8000, 6000, 90 * 67),  # scaled to 4,816,896 pixels
        (GLM, 1000, 16, 62),  # first enlarged to 1750 x 28
        (DOTS, 8000, 6000, 138 * 103),  # scaled to 11,289,600 pixels
        (KIMI, 1024, 1024, 37 * 37),
        (KIMI, 1010, 1010, 37 * 37),  # 36.07 squares, padded to 37
        (KIMI, 8000, 6000, 74 * 56),  # scaled to 16,384 patches
        (MINICPM, 448, 448, 64),
        # 640 for 1.8 million pixels by the card of MiniCPM-V 2.6, which leaves out the marks
        (MINICPM, 1344, 1344, 640 + 9 * 2 + 2),
        (MINICPM, 1920, 1080, 64 + 8 * (64 + 2) + 1),  # 4 x 2 of at most nine
        (
            MINICPM,
            200,
            2000,
            64 + 3 * (64 + 2) + 2,
        ),  # 1.99 slices by area, of 3 the ratio is nearer
        (PHI4, 400, 400, 16 * 17 + 1 + 16 * 17),
        (PHI4, 1344, 1008, 16 * 17 + 1 + 36 * (48 + 1)),  # of 3 x 3 tiles, 336 rows pad
        (PHI4, 1920, 1080, 16 * 17 + 1 + 45 * (80 + 1)),  # 2240 x 1260 of 5 x 3 tiles
        (PHI4, 8000, 8000, 16 * 17 + 1 + 96 * (96 + 1)),  # 6 x 6 at most
    ],
)
def test_tokens_of_a_picture(config: Any, width: int, height: int, tokens: int) -> None:
    rule = picture_rule(config)
    assert rule is not None and rule.tokens(width, height) == tokens


@pytest.mark.parametrize("config", FAMILIES, ids=lambda config: str(config["model_type"]))
@pytest.mark.parametrize("sides", [(16, 16_384), (16_384, 16), (16, 16), (16_384, 16_384)])
def test_pictures_of_any_size_have_tokens(config: Any, sides: tuple[int, int]) -> None:
    rule = picture_rule(config)
    assert rule is not None and 1 <= rule.tokens(*sides) <= 16_384


def test_a_stated_limit_of_tiles_is_obeyed() -> None:
    rule = picture_rule({**ONEVISION, "vision_aspect_ratio": "anyres_max_4"})
    assert rule is not None and rule.tokens(1024, 1024) == 729 + 54 * (54 + 1)


def test_a_stated_budget_of_gemma_is_obeyed() -> None:
    rule = picture_rule({**GEMMA4, "vision_soft_tokens_per_image": 1120})
    assert rule is not None and rule.tokens(1024, 1024) == 33 * 33


@pytest.mark.parametrize(
    "config",
    [
        {**NEXT, "vision_feature_select_strategy": "full"},
        {**NEXT, "vision_config": {**CLIP, "model_type": "timm_wrapper"}},
        {**NEXT, "vision_config": {**CLIP, "model_type": ["clip_vision_model"]}},
        {**NEXT, "vision_config": {**CLIP, "image_size": 7}},
        {**NEXT, "image_grid_pinpoints": []},
        {**NEXT, "image_grid_pinpoints": "336x672"},
        {**NEXT, "image_grid_pinpoints": [[336, 672]] * 65},
        {**NEXT, "image_grid_pinpoints": [[336]]},
        {**NEXT, "image_grid_pinpoints": [[336, 0]]},
        {**NEXT, "image_grid_pinpoints": [[336, 10**9]]},
        {**NEXT, "image_grid_pinpoints": [[200, 672]]},
        {**ONEVISION, "vision_aspect_ratio": "square"},
        {**ONEVISION, "vision_aspect_ratio": "anyres_max_0"},
        {**ONEVISION, "vision_aspect_ratio": 9},
        {**LLAMA4, "vision_config": {"image_size": 336, "patch_size": 0}},
        {**LLAMA4, "vision_config": {"image_size": 20, "patch_size": 14}},
        {**LLAMA4, "vision_config": {**LLAMA4_TOWER, "pixel_shuffle_ratio": 0.25}},
        {**IDEFICS3, "scale_factor": 0},
        {**IDEFICS3, "vision_config": {"image_size": 2048, "patch_size": 14}},
        {**IDEFICS3, "vision_config": {"patch_size": 14}},
        {**GEMMA4, "vision_soft_tokens_per_image": -1},
        {**GEMMA4, "vision_config": {"patch_size": 16, "pooling_kernel_size": "3"}},
        {**KIMI, "vision_config": {"patch_size": 14, "merge_kernel_size": [4, 4]}},
        {**KIMI, "vision_config": {"patch_size": 14, "merge_kernel_size": 2}},
        {**MINICPM, "query_num": None},
        {**MINICPM, "query_num": 10**9},
        {**PHI4, "embd_layer": {"image_embd_layer": {"crop_size": 4}}},
        {**PHI4, "embd_layer": ["image_embd_layer"]},
    ],
)
def test_a_broken_configuration_has_no_rule(config: Any) -> None:
    assert picture_rule(config) is None


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("google/gemma-4-31B-it", 264),
        ("ibm-granite/granite-vision-3.3-2b", 2052),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 2319),
        ("moonshotai/Kimi-K2.5", 69 * 39),
        ("openbmb/MiniCPM-Llama3-V-2_5", 96 + 8 * (96 + 2) + 1),
        ("rednote-hilab/dots.ocr", 69 * 39),
    ],
)
def test_pictures_of_stored_models_are_counted(model: str, tokens: int) -> None:
    sides = {"image_width": 1920, "image_height": 1080}
    report = size(embedded_sizer(), {"model": model, "gpu": "8x h100 sxm", "images": 1, **sides})
    assert report.workload.image_tokens == tokens
