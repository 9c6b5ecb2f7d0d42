"""The published measurements: every row is complete, has a source, and can be predicted offline."""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any

import pytest

from bench.measurements import (
    SERVING_LOAD,
    SNAPSHOT_FOLDERS,
    TABLES,
    TRAINING,
    Row,
    known_ids,
    load,
    load_profile,
)
from gpusizer.core.paths import DATA_DIR
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.kv_cache import element_bytes
from gpusizer.memory.quants import find_quant
from gpusizer.training.plan import BASES, CHECKPOINTING, OFFLOADS, PRECISIONS, SHARDINGS
from gpusizer.training.stacks import stacks
from gpusizer.usecases.requests.training_request import PLAN_FIELDS

GIB = 2**30
LARGEST_BYTES = 2_000 * GIB  # more than DeepSeek-R1 in 16 bits
KINDS = {
    "serving.jsonl": "serving",
    "llama_cpp.jsonl": "llama_cpp",
    "gguf_sizes.jsonl": "gguf_size",
    "pipelines.jsonl": "pipeline",
}
TEXTS = {"id", "dup_group", "source_group", "source_url", "repo", "profile", "profile_basis"}
PROFILE_BASES = {"id", "inferred", "same_shapes", "file_name"}
FLAGS = {
    "lora",
    "draft_model",
    "shared_with_trainer",
    "patched",
    "text_only",
    "pooling",
    "cpu_offload",
    "data_parallel_attention",
    "mixed_ranks",
    "shared_gpu",
    "token_count_only",
}
MAY_BE_NEGATIVE = {"kv_pool_bytes", "graphs_bytes"}  # no room left; a difference of free memory
LONGEST_TEXT = 400  # characters; an address may be long, but prose is not allowed

ROWS, RUNS = load(), load([TRAINING])
ALL = [*ROWS, *RUNS]


def rows_of(kind: str) -> list[Row]:
    return [row for row in ROWS if row["kind"] == kind]


def test_each_table_holds_its_kind_and_ids_are_unique() -> None:
    for path in TABLES:
        assert {row["kind"] for row in load([path])} == {KINDS[path.name]}
    assert [row_id for row_id, n in Counter(row["id"] for row in ALL).items() if n > 1] == []


def test_every_row_names_a_source_that_can_be_opened() -> None:
    assert [
        row["id"] for row in ALL if not row["source_url"].startswith(("https://", "http://"))
    ] == []


def test_every_row_has_the_required_fields() -> None:
    for row in ROWS:
        assert all(isinstance(row[name], str) and row[name] for name in TEXTS), row["id"]
        assert row["profile_basis"] in PROFILE_BASES, row["id"]
        assert row.get("confidence", "high") in {"high", "medium", "low"}, row["id"]


def test_every_profile_loads() -> None:
    for repo_id in {row["profile"] for row in ALL}:
        assert load_profile(repo_id).parameters > 0
    with pytest.raises(KeyError):
        load_profile("nobody/nothing")


def test_models_are_in_one_folder_only_and_stay_small() -> None:
    assert [name for name, n in Counter(known_ids()).items() if n > 1] == []
    assert sum(path.stat().st_size for path in SNAPSHOT_FOLDERS[1].iterdir()) < 1_500_000


def amounts(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """List every number of a row with its field."""
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in amounts(item, _field(name, key))]
    if isinstance(value, list):
        return [pair for item in value for pair in amounts(item, name)]
    return [(name, value)]


def _field(outer: str, key: str) -> str:
    return "device_bytes" if outer.endswith("_by_device") else key


def test_bytes_are_integers_in_range() -> None:
    for row in ROWS:
        for name, value in amounts(row):
            if name == "bytes" or name.endswith("_bytes"):
                assert type(value) is int, (row["id"], name)
                low = -10 * GIB if name in MAY_BE_NEGATIVE else 0
                assert low <= value < LARGEST_BYTES, (row["id"], name)


def test_no_field_is_null_or_a_long_text() -> None:
    for row in ALL:
        for name, value in amounts(row):
            assert value is not None, (row["id"], name)
            if isinstance(value, str):
                assert len(value) < LONGEST_TEXT and "\n" not in value, (row["id"], name)


@pytest.mark.parametrize("row", rows_of("serving"))
def test_serving_settings_are_ones_we_understand(row: Row) -> None:
    assert row["engine"] in ENGINES
    assert row["quant"] == "native" or find_quant(row["quant"])
    assert row["tensor_parallel"] * row["pipeline_parallel"] == row["gpu_count"]
    assert 0 < row.get("utilization", 0.5) <= 1
    assert 0 < row.get("gpu_memory_bytes", GIB) < 400 * GIB
    assert row["outcome"] in {"ran", "out_of_memory", "failed"}
    assert set(row.get("flags", ())) <= FLAGS
    assert row["measured"]


def test_facts_that_were_added_are_in_their_rows() -> None:
    names = {"gpu_memory_utilization": "utilization", "kv_cache_dtype": "kv_dtype"}
    rows = {row["id"]: {**row, **row["measured"]} for row in rows_of("serving")}
    with (DATA_DIR / "measurements" / "serving_facts.csv").open(encoding="utf-8") as file:
        facts = list(csv.DictReader(file))
    for fact in facts:
        field = names.get(fact["field"], fact["field"])
        assert str(rows[fact["id"]][field]).lower() == fact["value"].lower()
        assert 0 < len(fact["where"]) < 80


def test_facts_of_loads_are_in_their_rows() -> None:
    rows = {row["id"]: {**row, **row["measured"]} for row in load([SERVING_LOAD])}
    with (DATA_DIR / "measurements" / "serving_load_facts.csv").open(encoding="utf-8") as file:
        facts = list(csv.DictReader(file))
    for fact in facts:
        stated = rows[fact["id"]][fact["field"]]
        assert fact["value"] in (stated if fact["field"] == "flags" else [str(stated)])
        assert 0 < len(fact["where"]) < 80
    assert len(facts) == 202


def test_every_run_under_load_has_a_client() -> None:
    with (DATA_DIR / "measurements" / "serving_clients.csv").open(encoding="utf-8") as file:
        clients = list(csv.DictReader(file))
    known = {(client["source_group"], client["arrival"]) for client in clients}
    assert {(row["source_group"], row["arrival"]) for row in load([SERVING_LOAD])} == known
    assert len(known) == len(clients)
    for client in clients:
        assert client["start"] in {"", "at_once", "at_a_rate", "random"}
        assert client["warm"] in {"", "no", "one_prompt", "yes"}
        assert client["prompts_repeat"] in {"", "no", "in_run", "between_runs", "preamble"}
        assert client["source"].startswith("https://")


def test_the_parts_of_a_vllm_budget_add_up() -> None:
    """weights + activations + non-PyTorch + pool = utilization x total, to the printed digits."""
    parts = ("weights_bytes", "activations_bytes", "non_torch_bytes", "kv_pool_bytes")
    checked = 0
    for row in rows_of("serving"):
        measured = row["measured"]
        if not all(part in measured for part in parts) or not row.get("utilization"):
            continue
        if not row.get("gpu_memory_bytes") or "mixed_ranks" in row.get("flags", ()):
            continue
        budget = row["utilization"] * row["gpu_memory_bytes"]
        missing = budget - sum(measured[part] for part in parts)
        assert abs(missing) < 0.15 * GIB, row["id"]
        checked += 1
    assert checked >= 60


@pytest.mark.parametrize("row", rows_of("llama_cpp"))
def test_llama_cpp_rows_are_ones_we_understand(row: Row) -> None:
    assert row["measure_kind"] in {"buffers", "process", "breakdown", "engine_log", "weights"}
    assert row["program"] in {"llama.cpp", "ik_llama.cpp", "ollama"}
    assert row.get("offload", "all") in {"all", "partial", "none", "overrides"}
    assert element_bytes(row.get("kv_k", "f16")) and element_bytes(row.get("kv_v", "f16"))
    assert (row["measure_kind"] == "process") <= ("total_used_bytes" in row["measured"])
    assert row["gpu_count"] >= 0


@pytest.mark.parametrize("row", rows_of("pipeline"))
def test_pipeline_rows_are_ones_we_understand(row: Row) -> None:
    assert row["scope"] in {"pipeline", "denoiser", "decoder"}
    assert row["weight_dtype"] in {"F32", "F16", "BF16"}
    assert row.get("cpu_offload", "model") in {"model", "sequential"}
    names = {component.name for component in load_profile(row["profile"]).components}
    assert set(row.get("without", ())) < names
    assert set(row["measured"]) == {"peak_bytes"}


def test_a_gguf_size_is_near_its_label() -> None:
    """Sizes lie within 1 to 17 bits per weight, the range that tensors of other types explain."""
    for row in rows_of("gguf_size"):
        assert row["counts"] in {"file", "tensors", "uniform_tensors"}
        assert 1 < row["bytes"] * 8 / load_profile(row["profile"]).parameters < 17, row["id"]
        assert row["rounding_bytes"] <= 0.01 * row["bytes"], row["id"]


ABOUT = {
    "kind",
    "id",
    "dup_group",
    "source_group",
    "source_url",
    "confidence",
    "repo",
    "profile",
    "profile_basis",
    "outcome",
    "stack",
    "trainable_parameters",
    "gpu",
    "gpu_class_gb",
    "gpu_count",
    "metric",
    "tokens_per_second",
    "framework",
    "framework_version",
    "measured",
}
CHOICES = {
    "precision": PRECISIONS,
    "base": BASES,
    "gradient_checkpointing": CHECKPOINTING,
    "sharding": SHARDINGS,
    "offload": OFFLOADS,
    "stack": tuple(stacks()),
    "metric": ("allocated", "reserved", "device"),
    "confidence": ("high", "medium", "low"),
    "outcome": ("ran", "out_of_memory", "largest"),
}


def test_every_run_has_the_fields_of_a_plan() -> None:
    assert len(RUNS) > 250
    for row in RUNS:
        assert set(row) <= ABOUT | set(PLAN_FIELDS), row["id"]
        assert row["source_url"].startswith("https://"), row["id"]
        assert row["kind"] == "training"
        for name, choices in CHOICES.items():
            assert row.get(name, choices[0]) in choices, (row["id"], name)


def test_measured_peaks_are_whole_bytes_in_range() -> None:
    for row in RUNS:
        if row["outcome"] != "ran":
            assert "measured" not in row
            continue
        if "peak_bytes" not in row.get(
            "measured", {}
        ):  # lengths are bounds, so that it is left out
            continue
        peak = row["measured"]["peak_bytes"]
        assert type(peak) is int and GIB < peak < 100 * GIB, row["id"]
