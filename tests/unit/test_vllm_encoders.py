"""vLLM: what encoders of images hold while the peak of start-up is measured."""

from __future__ import annotations

import pytest

from gpusizer.core.units import GIB
from gpusizer.memory.engines import Split
from gpusizer.memory.engines.vllm.encoders import embeddings_bytes, tower_bytes
from tests.vllm_models import LLAMA_8B, architecture, embedded, peak

NINE = embedded("Qwen/Qwen3.5-9B")
PATCHES = 4 * 16_384


def test_the_tower_of_an_image_is_its_patches_and_the_widest_point_of_a_block() -> None:
    """Qwen3.5-9B: 27 blocks of 1,152 with an MLP of 4,304; patches of 3 x 2 x 16 x 16 values."""
    found = tower_bytes(NINE, architecture(NINE), 8192, Split())
    assert found == PATCHES * 2 * (1536 + 3 * 1152 + 2 * 4304)
    assert found / GIB == pytest.approx(1.66, abs=0.01)
    halved = tower_bytes(NINE, architecture(NINE), 8192, Split(2))
    assert halved == PATCHES * 2 * (1536 + 3 * 1152 + 4304)
    longer = tower_bytes(NINE, architecture(NINE), 32_768, Split())
    assert longer == 2 * found  # a step larger than the largest image


def test_the_peak_is_the_towers_or_the_decoders_beside_its_embeddings() -> None:
    """Qwen3.5-4B on an RTX 4090 D under 0.23 left 10.21 GiB: 21.17 - 8.61 - 0.79 - 1.56."""
    four = embedded("Qwen/Qwen3.5-4B")
    tower = PATCHES * 2 * (1536 + 3 * 1024 + 2 * 4096)
    assert peak(four, engine_version="0.23.0") == tower
    decoding = 3.5 * 4 * 1024 * 248_320  # a batch that outweighs the tower
    assert peak(four, engine_version="0.23.0", max_num_seqs=1024) > decoding > tower
    without = peak(four, engine_version="0.23.0", text_only=True)
    assert without < tower


def test_other_models_have_no_tower_of_this_family() -> None:
    assert tower_bytes(LLAMA_8B, architecture(LLAMA_8B), 8192, Split()) == 0
    llava = embedded("ybelkada/llava-1.5-7b-hf-awq")
    assert tower_bytes(llava, architecture(llava), 8192, Split()) == 0
    assert embeddings_bytes(llava, architecture(llava), 8192) > 0
