"""build_lister: the quantized repositories of a base model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import HubUnreachable
from gpusizer.core.settings import Settings
from gpusizer.hub.quantized_repos import QuantizedRepo
from scrapers.hub_api import model_info
from scrapers.model_tree import build_lister, form_of, parse_listing
from tests.each import each
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, sparse_file
from tests.scrapers.conftest import settings_of

BASE = "org/base"


def quantized(name: str, downloads: int, *files: str, **attributes: Any) -> FakeRepo:
    """A quantization of the base, with files of 1,000 bytes."""
    card = {"base_model": BASE, "base_model_relation": "quantized"}
    stored = {path: sparse_file(1000) for path in files}
    return FakeRepo(name, stored, downloads=downloads, card_data=card, **attributes)


def test_most_downloaded_first(hub: HubEmulator) -> None:
    hub.add(quantized("a/base-AWQ", 50, "model.safetensors", likes=3))
    hub.add(quantized("b/base-GGUF", 900, "m.Q4_K_M.gguf", "m.Q8_0.gguf", tags=["gguf"]))
    hub.add(quantized("c/base-FP8-dynamic", 70, "model.safetensors", "pytorch_model.bin"))
    hub.add(FakeRepo("d/fine-tune", card_data={"base_model": BASE}, downloads=10**6))
    lister = build_lister(settings_of(hub, timeout_seconds=2.0))
    assert lister(BASE, False) == (
        QuantizedRepo("b/base-GGUF", "gguf", 900, 0),
        QuantizedRepo("c/base-FP8-dynamic", "fp8", 70, 0),
        QuantizedRepo("a/base-AWQ", "awq", 50, 3),
    )
    assert len(hub.requests) == 1
    assert [repo.weight_bytes for repo in lister(BASE, True)] == [2000, 1000, 1000]
    assert len(hub.requests) == 1 + 1 + 3
    assert lister("org/unloved", False) == ()


def test_a_repository_that_fails_has_no_size(hub: HubEmulator) -> None:
    hub.add(quantized("a/base-AWQ", 50, "model.safetensors"))
    hub.faults.add(Fault("status", match="/tree/", status=404))
    lister = build_lister(settings_of(hub, timeout_seconds=2.0))
    assert [repo.weight_bytes for repo in lister(BASE, True)] == [None]


def test_a_file_list_of_several_pages_has_no_size(hub: HubEmulator) -> None:
    hub.add(quantized("a/base-AWQ", 50, "a.safetensors", "b.safetensors"))
    hub.options.page_size = 1
    lister = build_lister(settings_of(hub, timeout_seconds=2.0))
    assert [repo.weight_bytes for repo in lister(BASE, True)] == [None]


def test_limit(hub: HubEmulator) -> None:
    for number in range(5):
        hub.add(quantized(f"a/base-{number}-AWQ", number))
    lister = build_lister(
        settings_of(hub, timeout_seconds=2.0),
        limit=2,
    )
    assert [repo.downloads for repo in lister(BASE, False)] == [4, 3]


def test_offline() -> None:
    lister = build_lister(Settings(offline=True))
    with pytest.raises(HubUnreachable, match="offline"):
        lister(BASE, False)


@each(
    "entry, form",
    [
        ({"id": "u/Llama-3.1-8B-bnb-4bit"}, "bitsandbytes"),
        ({"id": "u/x", "tags": ["transformers", "MLX"]}, "mlx"),
        ({"id": "u/x_exl2"}, "exl2"),
        ({"id": "u/x.w4a16", "tags": ["compressed-tensors"]}, "compressed-tensors"),
        ({"id": "u/x-FP8", "tags": ["compressed-tensors"]}, "fp8"),
        ({"id": "u/x", "tags": [1, None]}, "other"),
        ({"id": "u/x", "tags": "gguf"}, "other"),
    ],
)
def test_format(entry: dict[str, Any], form: str) -> None:
    assert form_of(model_info(entry)) == form


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "tags", "downloads", "likes"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_hostile_listings(answer: Any) -> None:
    try:
        repos = parse_listing(answer, BASE)
    except HubUnreachable:
        assert not isinstance(answer, list)
        return
    assert all(repo.downloads >= 0 and repo.likes >= 0 for repo in repos)
