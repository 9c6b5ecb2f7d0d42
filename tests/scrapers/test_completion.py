"""Completion: adapters with their base model, gated models by their copies."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.messages import Note
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import build_profile
from scrapers.fetcher import Fetcher
from tests.hub_emulator import FakeRepo, HubEmulator, literal_file, llama_repo, safetensors_file
from tests.scrapers.conftest import settings_of

ADAPTER = ModelRef("org/adapter")
LORA = {
    f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_{side}.weight": ("F32", shape)
    for layer in range(2)
    for side, shape in (("A", (8, 64)), ("B", (64, 8)))
}
LORA_PARAMETERS = 2 * 2 * 8 * 64
GATED = "meta-llama/Llama-2-7b-hf"  # has two copies in data/mirrors.csv
COPIES = ("unsloth/llama-2-7b", "NousResearch/Llama-2-7b-hf")


@pytest.fixture
def fetch(hub: HubEmulator) -> Fetcher:
    return Fetcher(settings_of(hub, timeout_seconds=60.0))


@pytest.fixture
def fetch_alone(hub: HubEmulator, tmp_path: Any) -> Fetcher:
    """Without embedded snapshots."""
    settings = settings_of(
        hub,
        timeout_seconds=60.0,
        snapshots_folder=tmp_path,
    )
    return Fetcher(settings)


def adapter_repo(base: Any = "org/base", **attributes: Any) -> FakeRepo:
    """Return a LoRA adapter of rank 8."""
    files = {
        "adapter_config.json": literal_file({"r": 8, "base_model_name_or_path": base}),
        "adapter_model.safetensors": safetensors_file(LORA),
    }
    return FakeRepo(ADAPTER.repo_id, files, **attributes)


def sizes(snapshot: RepoSnapshot) -> dict[str, int]:
    """Parameters by component."""
    return {part.name: part.parameters for part in build_profile(snapshot).components}


def test_adapter_and_base(hub: HubEmulator, fetch: Fetcher) -> None:
    hub.add(adapter_repo())
    base = hub.add(llama_repo("org/base"))
    snapshot = fetch(ADAPTER)
    assert (snapshot.repo_id, snapshot.format) == ("org/adapter", "adapter")
    assert Note("base_model_added", base="org/base") in snapshot.notes
    parameters = sum(base.counted_parameters().values())
    assert sizes(snapshot) == {"transformer": parameters, "adapter": LORA_PARAMETERS}
    profile = build_profile(snapshot)
    assert profile.architecture == build_profile(fetch(ModelRef("org/base"))).architecture
    assert (profile.native_dtype, profile.file_count) == ("BF16", 2)


@pytest.mark.parametrize(
    ("base", "reason"),
    [("org/missing", "model_not_found"), ("org/other-adapter", "adapter")],
)
def test_base_that_cannot_be_read(hub: HubEmulator, fetch: Fetcher, base: str, reason: str) -> None:
    hub.add(adapter_repo(base))
    hub.add(FakeRepo("org/other-adapter", adapter_repo(ADAPTER.repo_id).files))
    snapshot = fetch(ADAPTER)
    assert sizes(snapshot) == {"adapter": LORA_PARAMETERS}
    assert snapshot.notes == (Note("base_model_not_read", base=base, reason=reason),)


@pytest.mark.parametrize(
    "base",
    ["/home/me/llama", "../../api/models/x", "http://127.0.0.1:1/x", 7, None, "", "org/adapter"],
)
def test_names_that_are_no_repository_are_not_followed(
    hub: HubEmulator, fetch: Fetcher, base: Any
) -> None:
    hub.add(adapter_repo(base))
    snapshot = fetch(ADAPTER)
    assert snapshot.notes == (Note("base_model_not_named"),)
    assert all("adapter" in request.path or "xet" in request.path for request in hub.requests)


def test_the_card_names_a_base_too(hub: HubEmulator, fetch: Fetcher) -> None:
    hub.add(adapter_repo(None, card_data={"base_model": "org/base"}))
    hub.add(llama_repo("org/base"))
    assert "transformer" in sizes(fetch(ADAPTER))


def test_embedded_base_when_the_live_one_is_gated(hub: HubEmulator, fetch: Fetcher) -> None:
    hub.add(adapter_repo("meta-llama/Llama-3.1-8B"))
    hub.add(llama_repo("meta-llama/Llama-3.1-8B", gated="manual"))
    assert sizes(fetch(ADAPTER)) == {"transformer": 8_030_261_248, "adapter": LORA_PARAMETERS}


def test_a_copy_with_equal_totals_answers_for_a_gated_model(
    hub: HubEmulator, fetch_alone: Fetcher
) -> None:
    hub.add(llama_repo(GATED, gated="manual", card_data={"license": "llama2"}))
    hub.add(llama_repo(COPIES[0], layers=3))
    hub.add(llama_repo(COPIES[1]))
    snapshot = fetch_alone(ModelRef(GATED))
    assert (snapshot.repo_id, snapshot.gated, snapshot.license) == (GATED, True, "llama2")
    assert snapshot.notes == (Note("read_from_mirror", mirror=COPIES[1]),)
    profile = build_profile(snapshot)
    assert profile.weights_basis == "headers"
    assert profile.architecture is not None


@pytest.mark.parametrize("layers", [None, 3])
def test_totals_stay_where_no_copy_agrees(
    hub: HubEmulator, fetch_alone: Fetcher, layers: int | None
) -> None:
    repo = hub.add(llama_repo(GATED, gated="manual"))
    if layers:
        hub.add(llama_repo(COPIES[0], layers=layers))
    profile = build_profile(fetch_alone(ModelRef(GATED)))
    assert profile.weights_basis == "api"
    assert profile.parameters == sum(repo.counted_parameters().values())
    assert "gated_totals" in [note.code for note in profile.caveats]


def test_an_embedded_adapter_has_its_embedded_base() -> None:
    fetch = Fetcher(Settings(offline=True))
    snapshot = fetch(ModelRef("neo4j/text2cypher-gemma-2-9b-it-finetuned-2024v1"))
    assert sizes(snapshot) == {"transformer": 9_241_705_984, "adapter": 216_072_192}
