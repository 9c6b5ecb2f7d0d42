"""The published training runs: every row is complete, has a source, and can be predicted."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from bench.measurements import TRAINING, load, load_profile
from gpusizer.answers.training_request import PLAN_FIELDS
from gpusizer.training.plan import BASES, CHECKPOINTING, OFFLOADS, PRECISIONS, SHARDINGS
from gpusizer.training.stacks import stacks
from scripts.measurement_rows.common import ModelMap
from scripts.measurement_rows.training import convert

ROWS = load([TRAINING])
GIB = 2**30
SECRET = "the collector's own words"
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
RUN: dict[str, Any] = {
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "method": "lora+emb",
    "lora_rank": 8,
    "lora_targets": "q_proj,v_proj",
    "trainable_params": None,
    "optimizer": "adamw 8bit",
    "precision": "bf16 compute, fp32 params",
    "base_quant": None,
    "gradient_checkpointing": True,
    "flash_attention": True,
    "compile": None,
    "seq_len": 512,
    "micro_batch": 2,
    "num_gpus": 4,
    "parallelism": "FSDP 2, CP 2",
    "cpu_offload": None,
    "gpu": "A100 80GB",
    "measured_peak_gib": 12.5,
    "reported": "12.5 GiB",
    "metric": "nvidia-smi",
    "kind": "measured",
    "tokens_per_s": 100,
    "framework": "HF Trainer",
    "version": "2025",
    "confidence": "high",
    "source_url": "https://github.com/me/logs",
    "verbatim": SECRET,
    "notes": f"{SECRET}; grad accumulation 8; truncated to max_length",
}


@pytest.fixture
def models(tmp_path: Any) -> ModelMap:
    path = tmp_path / "map.csv"
    path.write_text("log_model_id,corpus_id,basis\n", "utf-8")
    return ModelMap(path)


def test_every_row_has_the_required_fields() -> None:
    assert len(ROWS) > 250
    assert [name for name, n in Counter(row["id"] for row in ROWS).items() if n > 1] == []
    for row in ROWS:
        assert set(row) <= ABOUT | set(PLAN_FIELDS), row["id"]
        assert row["source_url"].startswith("https://"), row["id"]
        assert row["kind"] == "training"
        for name, choices in CHOICES.items():
            assert row.get(name, choices[0]) in choices, (row["id"], name)


def test_measured_peaks_are_whole_bytes_in_range() -> None:
    for row in ROWS:
        if row["outcome"] != "ran":
            assert "measured" not in row
            continue
        if "peak_bytes" not in row.get(
            "measured", {}
        ):  # lengths are bounds, so that it is left out
            continue
        peak = row["measured"]["peak_bytes"]
        assert type(peak) is int and GIB < peak < 100 * GIB, row["id"]


def test_no_field_is_null_or_a_long_text() -> None:
    for row in ROWS:
        assert None not in row.values(), row["id"]
        assert all(len(v) < 400 for v in row.values() if isinstance(v, str)), row["id"]
        assert "verbatim" not in row and "notes" not in row


def test_every_profile_loads() -> None:
    for repo_id in {row["profile"] for row in ROWS}:
        assert load_profile(repo_id).parameters > 0


def test_the_converter_carries_facts_and_no_text(models: ModelMap) -> None:
    row = convert(RUN, models)
    assert row is not None
    assert SECRET not in json.dumps(row)
    assert row["measured"] == {"peak_bytes": round(12.5 * GIB)}
    facts = {
        "method": "lora",
        "train_embeddings": True,
        "optimizer": "adamw_8bit",
        "precision": "mixed",
        "sharding": "fsdp",
        "context_parallel": 2,
        "gpu_count": 4,
        "gradient_accumulation": 8,
        "packed": False,
        "metric": "device",
        "gpu_class_gb": 80,
        "lora_targets": ["q_proj", "v_proj"],
        "stack": "transformers",
        "gradient_checkpointing": "full",
        "outcome": "ran",
    }
    assert {name: row[name] for name in facts} == facts
    assert "base" not in row and "compiled" not in row
