"""Projectors: towers beside a text, in files and buffers of their own."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.units import MIB
from gpusizer.gpus import load_catalogue
from gpusizer.memory.projector import projector_buffer
from gpusizer.model.profile import build_profile
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.builders import group, llama, with_tensors
from tests.documents import written

VISION = (
    group("vision_tower.encoder.layers.{}.mlp.fc1.weight", (4000, 1000), range(24)),
    group("vision_tower.encoder.layers.{}.mlp.fc1.bias", (4000,), range(24)),
    group("multi_modal_projector.linear.weight", (4096, 1000)),
)
# matrices at 16 bits, vectors in FP32
PROJECTOR = 24 * (2 * 4000 * 1000 + 4 * 4000) + 2 * 4096 * 1000
TEXT = llama()
SEEING = with_tensors(TEXT, (*TEXT.components[0].tensors, *VISION))


def estimate(seeing: bool = True, **fields: Any) -> dict[str, Any]:
    sizer = Sizer(lambda ref: SEEING if seeing else TEXT, load_catalogue())
    request = {"model": "org/model", "max_watts": 1, "quant": "q4_k_m", **fields}
    (row,) = written(size(sizer, request))["estimates"]
    assert isinstance(row, dict)
    return row


@pytest.mark.parametrize("quant", ["q8_0", "bf16"])
def test_the_text_is_one_file_and_the_projector_another(quant: str) -> None:
    seeing, text = (estimate(sees, quant=quant, engine="llama.cpp") for sees in (True, False))
    assert seeing["projector_bytes"] == PROJECTOR
    assert text["projector_bytes"] == 0
    assert seeing["file_bytes"] == text["file_bytes"]
    assert seeing["weights_bytes"] == text["weights_bytes"] + PROJECTOR
    assert seeing["host_bytes"] == text["host_bytes"]


def test_a_checkpoint_of_other_formats_is_one_set_of_files() -> None:
    row = estimate(quant="bf16", engine="vllm")
    assert row["projector_bytes"] == 0
    assert row["file_bytes"] > estimate(seeing=False, quant="bf16", engine="vllm")["file_bytes"]


@pytest.mark.parametrize("engine", ["llama.cpp", "ollama"])
def test_text_alone_leaves_the_projector_out(engine: str) -> None:
    alone = estimate(text_only=True, engine=engine)
    text = estimate(seeing=False, engine=engine)
    for name in ("weights_bytes", "host_bytes", "file_bytes", "activations_bytes"):
        assert alone[name] == text[name]
    assert alone["projector_bytes"] == PROJECTOR


def tower(hidden: int, inner: int, *, gated: bool = False, places: int = 0) -> tuple[Any, ...]:
    """Matrices of a vision tower that its buffer follows from."""
    blocks = "vision_tower.encoder.layers.{}.mlp"
    names = ("gate_proj", "up_proj") if gated else ("fc1",)
    matrices = [group(f"{blocks}.{name}.weight", (inner, hidden), range(24)) for name in names]
    if places:
        name = "vision_tower.embeddings.position_embedding.weight"
        matrices.append(group(name, (places, hidden)))
    return tuple(matrices)


@pytest.mark.parametrize(
    ("model_type", "tensors", "flash_mib", "plain_mib", "tolerance"),
    [
        # what llama.cpp reports: gpustack/gguf-parser-go issue 44
        ("gemma3_text", tower(1152, 4304, places=4096), 121, 1132, 0.003),
        ("qwen2_vl", tower(1280, 5120), 267, 4598, 0.09),
        ("qwen2_5_vl", tower(1280, 3420, gated=True), 705, 4872, 0.09),
    ],
)
def test_the_tower_has_a_buffer_of_its_own(
    model_type: str, tensors: tuple[Any, ...], flash_mib: float, plain_mib: float, tolerance: float
) -> None:
    text = llama(model_type=model_type)
    profile = build_profile(with_tensors(text, (*text.components[0].tensors, *tensors)))
    for flash, expected in ((True, flash_mib), (False, plain_mib)):
        buffer = projector_buffer(profile, flash_attention=flash)
        assert buffer.likely == pytest.approx(expected * MIB, rel=tolerance)
        assert buffer.low <= expected * MIB <= buffer.high


def test_the_tower_adds_to_the_activations() -> None:
    places = group("vision_tower.embeddings.position_embedding.weight", (576, 1000))
    seeing = with_tensors(SEEING, (*SEEING.components[0].tensors, places))
    profile = build_profile(seeing)
    text = estimate(seeing=False)["activations_bytes"]
    sizer = Sizer(lambda ref: seeing, load_catalogue())
    request = {"model": "org/model", "max_watts": 1, "quant": "q4_k_m"}
    (row,) = written(size(sizer, request))["estimates"]
    buffer = projector_buffer(profile, flash_attention=True).likely
    assert buffer == 576 * (4000 + 3 * 1000) * 4
    assert row["activations_bytes"] == text + buffer
