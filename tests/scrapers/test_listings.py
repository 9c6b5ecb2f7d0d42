"""Listings of the Hub: models of the hour, and models made of one."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import HubRateLimited, HubUnreachable, ModelUnreadable
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.settings import Settings
from gpusizer.hub.listed_models import ListTrending, QuantizedRepo
from gpusizer.usecases.models_for.live_use import embedded_use
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.listings import (
    LISTED_MODELS,
    build_lister,
    build_trending,
    form_of,
    parse_quantized,
    parse_trending,
)
from scripts import refresh_model_use
from tests.any_json import any_json
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, sparse_file
from tests.scrapers.conftest import settings_of

DAY = date(2026, 11, 20)


def trending(hub: HubEmulator, on_call: OnCall = ignore_call) -> ListTrending:
    settings = settings_of(hub, timeout_seconds=60.0)
    return build_trending(settings, on_call, today=lambda: DAY)


def test_one_request_most_trending_first(hub: HubEmulator) -> None:
    hub.add(FakeRepo("a/cool-7B", trending_score=3, downloads=50, likes=4))
    hub.add(
        FakeRepo(
            "b/hot-AWQ",
            trending_score=800.5,
            downloads=7,
            tags=["license:mit", "base_model:quantized:b/hot"],
            pipeline_tag="text-generation",
            parameters={"I32": 100, "F16": 20},
            card_data={"base_model": "b/hot", "base_model_relation": "quantized"},
            last_modified="2026-11-02T10:00:00.000Z",
            gated="auto",
        )
    )
    hub.add(FakeRepo("c/secret", trending_score=9999, private=True))
    calls: list[tuple[str, int | None]] = []
    ask = trending(hub, lambda kind, status: calls.append((kind, status)))
    hot, cool = ask().models
    assert (hot.repo_id, cool.repo_id) == ("b/hot-AWQ", "a/cool-7B")
    assert (hot.trending_score, hot.downloads, hot.parameters) == (800.5, 7, 120)
    assert (hot.license, hot.gated, hot.pipeline_tag) == ("mit", True, "text-generation")
    assert (hot.base_relation, hot.base_models) == ("quantized", ("b/hot",))
    assert hot.created == date(2026, 11, 2)
    assert (cool.downloads, cool.likes, cool.parameters) == (50, 4, None)
    assert ask().read_on == DAY
    assert calls == [("api", 200)], "the second answer is the first one's"
    (request,) = hub.requests
    assert request.query.startswith(f"sort=trendingScore&limit={LISTED_MODELS}&")
    assert "authorization" not in {name.lower() for name in request.headers}


@pytest.mark.parametrize(
    ("fault", "error", "reason"),
    [
        (Fault("status", match="/api/models", status=429), HubRateLimited, None),
        (Fault("status", match="/api/models", status=503), HubUnreachable, "server_error"),
        (
            Fault("garbage", match="/api/models", body=b"<html>"),
            HubUnreachable,
            "unexpected_answer",
        ),
        (Fault("garbage", match="/api/models", body=b"{}"), HubUnreachable, "unexpected_answer"),
        (
            Fault("redirect_to", match="/api/models", location="http://127.0.0.9:1/api/models"),
            HubUnreachable,
            "redirect",
        ),
    ],
)
def test_a_failure_is_not_repeated(
    hub: HubEmulator, fault: Fault, error: type[ModelUnreadable], reason: str | None
) -> None:
    """One request, also where the Hub asks to wait: an order is not worth a second."""
    hub.faults.add(fault)
    with pytest.raises(error) as raised:
        trending(hub)()
    assert raised.value.fields.get("reason") == reason
    assert len(hub.requests) == 1


def test_a_spent_allowance_is_a_rate_limit(hub: HubEmulator) -> None:
    hub.options.rate_limits["api"] = (0, 0)
    hub.options.enforce_rate_limits = True
    with pytest.raises(HubRateLimited) as raised:
        trending(hub)()
    assert raised.value.fields["retry_after_seconds"] > 0
    assert len(hub.requests) == 1


def test_a_failure_is_forgotten(hub: HubEmulator) -> None:
    hub.add(FakeRepo("a/model"))
    hub.faults.add(Fault("status", match="/api/models", status=429, times=1))
    ask = trending(hub)
    with pytest.raises(HubRateLimited):
        ask()
    assert [model.repo_id for model in ask().models] == ["a/model"]


def test_offline() -> None:
    with pytest.raises(HubUnreachable, match="offline"):
        build_trending(Settings(offline=True))()


HOSTILE: list[Any] = [
    *(None, 7, "a/b", [], {}, {"id": 7}, {"id": "../../etc"}, {"id": "a/b/c"}, {"id": "<b>/x"}),
    {"id": "x" * 5000},
    {
        "id": "a/odd",
        "downloads": "many",
        "likes": -3,
        "trendingScore": 1e999,
        "createdAt": "yesterday",
        "pipeline_tag": ["x"],
        "tags": {"license:mit": 1},
        "safetensors": {"parameters": {"F16": -1}},
        "gated": None,
    },
    {"id": "A/ODD", "downloads": 5},
    {"id": "a/late", "createdAt": "2999-01-01T00:00:00.000Z", "downloads": True, "likes": 2**80},
]


def test_hostile_entries_are_left_out_or_emptied() -> None:
    odd, late = parse_trending(HOSTILE, DAY).models
    assert odd.repo_id == "a/odd", "a second entry of the same name does not replace the first"
    figures = (odd.created, odd.downloads, odd.likes, odd.trending_score, odd.parameters)
    assert figures == (None,) * 5
    assert (odd.license, odd.pipeline_tag, odd.gated) == (None, None, False)
    assert (late.created, late.downloads, late.likes) == (None, None, None)


def test_a_longer_listing_is_cut() -> None:
    entries = [{"id": f"a/m{number}"} for number in range(LISTED_MODELS + 50)]
    assert len(parse_trending(entries, DAY).models) == LISTED_MODELS


_NAMES = ("createdAt", "downloads", "likes", "trendingScore", "tags", "gated", "safetensors")


@given(st.dictionaries(st.sampled_from(_NAMES), any_json()))
def test_any_values_are_read(values: dict[str, Any]) -> None:
    (model,) = parse_trending([{"id": "a/b", **values}], DAY).models
    assert model.created is None or model.created <= DAY
    for count in (model.downloads, model.likes, model.trending_score, model.parameters):
        assert count is None or 0 <= count < 2**60


def test_the_table_is_written_anew(
    hub: HubEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that the Hub has is read, one request each; another keeps its row."""
    (tmp_path / "model_use.csv").write_text((GENERATED_DIR / "model_use.csv").read_text("utf-8"))
    folder = tmp_path / "models"
    folder.mkdir()
    names = {"Qwen/Qwen3-8B": "a.json", "openai/gpt-oss-20b": "b.json"}
    (folder / "index.json").write_text(json.dumps({"models": names, "aliases": {}}))
    hub.add(FakeRepo("Qwen/Qwen3-8B", downloads=12, likes=3))
    settings = Settings(endpoint=hub.endpoint, snapshots_folder=folder)
    monkeypatch.setattr(
        refresh_model_use.Settings, "from_environment", classmethod(lambda cls, env: settings)
    )
    code = refresh_model_use.main(["--date", "2026-11-20", "--output", str(tmp_path)])
    uses, before = embedded_use(tmp_path), embedded_use()
    assert code == 1
    assert uses.keys() == {name.casefold() for name in names}
    read = uses["qwen/qwen3-8b"]
    assert (read.downloads, read.likes, read.as_of) == (12, 3, DAY)
    assert read.created == date(2025, 1, 1)
    assert uses["openai/gpt-oss-20b"] == before["openai/gpt-oss-20b"]


BASE = "org/base"


def quantized(name: str, downloads: int, *files: str, **attributes: Any) -> FakeRepo:
    """Return a quantization of the base, with files of 1,000 bytes."""
    card = {"base_model": BASE, "base_model_relation": "quantized"}
    stored = {path: sparse_file(1000) for path in files}
    return FakeRepo(name, stored, downloads=downloads, card_data=card, **attributes)


def test_most_downloaded_first(hub: HubEmulator) -> None:
    hub.add(quantized("a/base-AWQ", 50, "model.safetensors", likes=3))
    hub.add(quantized("b/base-GGUF", 900, "m.Q4_K_M.gguf", "m.Q8_0.gguf", tags=["gguf"]))
    hub.add(quantized("c/base-FP8-dynamic", 70, "model.safetensors", "pytorch_model.bin"))
    hub.add(FakeRepo("d/fine-tune", card_data={"base_model": BASE}, downloads=10**6))
    lister = build_lister(settings_of(hub, timeout_seconds=60.0))
    assert lister(BASE, False) == (
        QuantizedRepo("b/base-GGUF", "gguf", 900, 0),
        QuantizedRepo("c/base-FP8-dynamic", "fp8", 70, 0),
        QuantizedRepo("a/base-AWQ", "awq", 50, 3),
    )
    assert len(hub.requests) == 1
    assert [repo.weight_bytes for repo in lister(BASE, True)] == [2000, 1000, 1000]
    assert len(hub.requests) == 1 + 1 + 3
    assert lister("org/unloved", False) == ()


@pytest.mark.parametrize("fails", [True, False], ids=["no answer", "several pages"])
def test_a_list_that_is_not_whole_has_no_size(hub: HubEmulator, fails: bool) -> None:
    hub.add(quantized("a/base-AWQ", 50, "a.safetensors", "b.safetensors"))
    if fails:
        hub.faults.add(Fault("status", match="/tree/", status=404))
    hub.options.page_size = 1
    lister = build_lister(settings_of(hub, timeout_seconds=60.0))
    assert [repo.weight_bytes for repo in lister(BASE, True)] == [None]


def test_limit(hub: HubEmulator) -> None:
    for number in range(5):
        hub.add(quantized(f"a/base-{number}-AWQ", number))
    lister = build_lister(
        settings_of(hub, timeout_seconds=60.0),
        limit=2,
    )
    assert [repo.downloads for repo in lister(BASE, False)] == [4, 3]


def test_offline_nothing_is_listed() -> None:
    lister = build_lister(Settings(offline=True))
    with pytest.raises(HubUnreachable, match="offline"):
        lister(BASE, False)


@pytest.mark.parametrize(
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
    assert form_of(entry) == form


@given(any_json(st.sampled_from(["id", "tags", "downloads", "likes"])))
def test_hostile_listings(answer: Any) -> None:
    try:
        repos = parse_quantized(answer, BASE)
    except HubUnreachable:
        assert not isinstance(answer, list)
        return
    assert all(repo.downloads >= 0 and repo.likes >= 0 for repo in repos)
