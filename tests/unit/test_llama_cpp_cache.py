"""llama.cpp: the cache of keys and values, of latents, windows, states and drafts."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.memory.engines import ENGINES
from gpusizer.memory.engines.llama_layers import cached
from gpusizer.memory.engines.llama_versions import BUILDS
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from tests.asking import size
from tests.builders import llama
from tests.families import deepseek_r1, gpt_oss_20b, qwen3_next
from tests.llama_cpp_models import estimate
from tests.sizers import embedded_sizer


def test_windows_keep_room_for_one_batch_and_are_padded() -> None:
    """gpt-oss-20b: 12 full layers of 131,072 cells, 12 of pad256(128 + 512) = 768."""
    result = estimate(build_profile(gpt_oss_20b()), quant="mxfp4_moe", context=131_072)
    assert result.per_gpu.kv_cache.likely == (12 * 131_072 + 12 * 768) * 2 * 512 * 2


def test_a_window_that_llama_cpp_ignores_becomes_full_attention() -> None:
    windowed = llama(model_type="phi3", config={"sliding_window": 2047})
    arch = build_profile(windowed).architecture
    assert arch is not None
    assert {run.layer.facts()["window"] for run in arch.layer_plan} == {2047}
    assert all(run.layer.lasts for run in cached(arch, 512, BUILDS[-1]).layer_plan)


@pytest.mark.parametrize(
    "build, per_token",
    [
        ("b4905", 61 * 128 * (192 + 128) * 2),  # every head; 9760 MiB logged for 2048 tokens
        ("b5331", 61 * (576 + 512) * 2),  # latent and values; 2074 MiB for 16,384 tokens
        ("5331 (33eff402)", 61 * (576 + 512) * 2),
        ("b7917", 61 * 576 * 2),
        (None, 61 * 576 * 2),
        ("master", 61 * 576 * 2),
    ],
)
def test_a_latent_is_cached_as_the_build_did(build: str | None, per_token: int) -> None:
    """R1: 61 layers, 128 heads with keys of 128 + 64 and values of 128, a latent of 512 + 64."""
    r1 = build_profile(deepseek_r1())
    result = estimate(r1, context=2048, engine_version=build)
    assert result.per_gpu.kv_cache.likely == 2048 * per_token
    ollama = estimate(r1, engine="ollama", context=2048, engine_version=build)
    assert ollama.per_gpu.kv_cache.likely == 2048 * 61 * 576 * 2


@pytest.mark.parametrize(
    "made, build, engine, per_token",
    [
        ("2024-06", None, "ollama", 27 * 16 * (192 + 128) * 2),  # 8640 MiB of 32,768 tokens
        ("2025-03-31", "b7917", "llama.cpp", 27 * 16 * (192 + 128) * 2),
        ("2025-04", None, "ollama", 27 * 576 * 2),
        ("2025-04", "b4905", "llama.cpp", 27 * 16 * (192 + 128) * 2),  # the build does not know it
        (None, None, "ollama", 27 * 576 * 2),
    ],
)
def test_a_file_of_before_the_latent_was_cached_keeps_every_head(
    made: str | None, build: str | None, engine: str, per_token: int
) -> None:
    """V2-Lite: 27 layers, 16 heads (https://github.com/ollama/ollama/pull/17201)."""
    fields = {"gguf_date": made, "engine_version": build, "context": 32_768}
    fields |= {"model": "deepseek-ai/DeepSeek-V2-Lite", "engine": engine, "quant": "q4_0"}
    report = size(embedded_sizer(), {k: v for k, v in fields.items() if v is not None})
    (row,) = report.estimates
    assert row.estimate.per_gpu.kv_cache.likely == 32_768 * per_token
    told = [note for note in report.notes if note.code == "older_file_caches_heads"]
    assert [note.fields for note in told] == [{"month": "2025-04", "times": 8.89}] * (made is None)


@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "moonshotai/Kimi-K2-Instruct"])
def test_no_file_of_a_younger_model_is_older_than_its_cache(model: str) -> None:
    report = size(embedded_sizer(), {"model": model, "engine": "llama.cpp", "top": 1})
    assert "older_file_caches_heads" not in {note.code for note in report.notes}


@pytest.mark.parametrize(("build", "cells"), [("b5400", 131_072), ("b5430", 768)])
def test_older_builds_cache_windows_at_full_length(build: str, cells: int) -> None:
    result = estimate(
        build_profile(gpt_oss_20b()), quant="mxfp4_moe", context=131_072, engine_version=build
    )
    assert result.per_gpu.kv_cache.likely == (12 * 131_072 + 12 * cells) * 2 * 512 * 2


def test_keys_and_values_have_types_of_their_own() -> None:
    cache_bytes = estimate(kv_dtype="q8_0/f16", context=4096).per_gpu.kv_cache.likely
    assert cache_bytes == 32 * 4096 * (1024 * 34 // 32 + 1024 * 2)


def test_recurrent_states_are_kept_per_sequence() -> None:
    hybrid = build_profile(qwen3_next())
    one_user, four_users = (
        estimate(hybrid, context=256, concurrency=n).per_gpu.kv_cache for n in (1, 4)
    )
    assert four_users.likely == 4 * one_user.likely


def test_drafts_are_a_second_context() -> None:
    """States to return to: 62.81 MiB are 502.50 with seven drafts (llama.cpp pull request 26499),
    149.62 are 1,047.38 with six (GenerelSchwerz/llama.cpp pull request 37); one layer of cache; and
    a buffer of its own."""
    hybrid = build_profile(qwen3_next())
    arch = hybrid.architecture
    assert arch is not None
    states = sum(run.count * run.layer.state.size * 4 for run in arch.layer_plan if run.layer.state)
    without, drafting = (estimate(hybrid, context=256, draft_tokens=n).per_gpu for n in (0, 3))
    layer = 256 * 2 * 2 * 256 * 2  # 256 cells of two heads of 256, keys and values
    assert drafting.kv_cache.likely == without.kv_cache.likely + 3 * states + layer
    assert drafting.activations.likely > without.activations.likely
    dense, two = (estimate(context=4096, draft_tokens=n).per_gpu for n in (0, 2))
    assert two.kv_cache.likely == dense.kv_cache.likely * 33 // 32
    assert two.activations.likely == 2 * dense.activations.likely
    assert estimate(gpu_layers=0, draft_tokens=2).per_gpu.kv_cache.likely == 0
    eight, both = (
        estimate(hybrid, context=256, draft_tokens=n, kv_dtype="q8_0").per_gpu for n in (0, 3)
    )
    assert (
        both.kv_cache.likely == eight.kv_cache.likely + 3 * states + layer
    )  # 16 bits all the same


def test_slots_that_the_server_opens_unasked_have_states_of_their_own() -> None:
    hybrid = build_profile(qwen3_next())
    arch = hybrid.architecture
    assert arch is not None
    states = sum(run.count * run.layer.state.size * 4 for run in arch.layer_plan if run.layer.state)

    def told(engine: str = "llama.cpp", **asked: Any) -> list[int]:
        notes = ENGINES[engine].notes(hybrid, Workload(**asked))
        return [int(note.fields["more_bytes"]) for note in notes if note.code == "server_slots"]

    assert told() == told(engine_version="2025-11") == [3 * states]
    assert told(concurrency=2, draft_tokens=2) == [2 * 3 * states]
    assert told(concurrency=4) == told(engine_version="b6800") == told("ollama") == []
    assert ENGINES["llama.cpp"].notes(build_profile(llama()), Workload()) == ()
