"""The measuring script: its protocol on a device that counts what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.evaluation import evaluate
from bench.measure_gpu import build_parser, chosen, rows
from bench.measuring.backend import Config, Device, DeviceFull, NotBuildable, Training
from bench.measuring.choice import Choice, choose, every_choice, that_fit
from bench.measuring.protocol import (
    Prefill,
    growth_per_token,
    measure_inference,
    measure_training,
)
from bench.measuring.rows import Source
from gpusizer.core.units import GIB

ROOT = Path(__file__).resolve().parents[1]
SMALL = "HuggingFaceTB/SmolLM2-135M"
SOURCE = Source("https://example.org/rows", "me", "2026-01-02")


class CountingBackend:
    """A device whose tensors have known sizes in bytes: 1000 of weights, 10 per cached token.

    Reading a prompt takes 7 per token for a moment, the allocator reserves 5 % more than its peak,
    and the runtime 400. Allocations beyond `capacity` are refused.
    """

    def __init__(self, capacity: int = 10**9) -> None:
        self.capacity = capacity
        self.live = self.peak = 0
        self.sizes: dict[str, int] = {}
        self.calls: list[str] = []

    device = Device("Test GPU", 80 * GIB, "5.0", "torch 0")

    def _take(self, name: str, amount: int, *, briefly: int = 0) -> None:
        self.calls.append(name)
        if self.live + amount + briefly > self.capacity:
            raise DeviceFull
        self.peak = max(self.peak, self.live + amount + briefly)
        self.live += amount
        self.sizes[name] = self.sizes.get(name, 0) + amount

    def _give(self, name: str) -> None:
        self.live -= self.sizes.pop(name, 0)

    def live_bytes(self) -> int:
        return self.live

    def mark(self) -> None:
        self.peak = self.live

    def peak_bytes(self) -> int:
        return self.peak

    def reserved_peak_bytes(self) -> int | None:
        return self.peak * 105 // 100

    def context_bytes(self) -> int | None:
        return 400

    def load(self, config: Config, dtype: str) -> None:
        if config.get("model_type") == "unheard_of":
            raise NotBuildable("unheard_of")
        self._take("weights", 1000 if dtype == "bf16" else 2000)

    def prefill(self, tokens: int) -> None:
        self._take("cache", 10 * tokens, briefly=7 * tokens)

    def drop_cache(self) -> None:
        self._give("cache")

    def prepare(self, training: Training) -> None:
        self.trained = 1000 if training.method == "full" else 0
        if training.method == "lora":
            self._take("adapters", 40)
            self.trained = 40

    def forward(self, training: Training) -> None:
        tensors_per_layer = 2 if training.gradient_checkpointing else 6
        self._take(
            "saved", tensors_per_layer * training.sequence_length, briefly=training.sequence_length
        )

    def backward(self) -> None:
        self._take("gradients", self.trained, briefly=11)
        self._give("saved")

    def optimizer_step(self) -> None:
        if "states" not in self.sizes:
            self._take("states", 2 * self.trained)

    def clear_gradients(self) -> None:
        self._give("gradients")

    def unload(self) -> None:
        self.live, self.sizes = 0, {}


def test_the_parts_of_a_prompt_by_hand() -> None:
    readings = list(measure_inference(CountingBackend(), {}, "bf16", [300, 100]))
    # peak at 300 tokens: 1000 + 3000 cached + 2100; the allocator holds 305 more
    assert readings == [
        Prefill(100, 1000, 1000, 700, 135, 400),
        Prefill(300, 1000, 3000, 2100, 305, 400),
    ]
    assert growth_per_token(readings) == 10
    assert growth_per_token(readings[:1]) is None


def test_a_full_device_ends_the_series_and_keeps_what_was_read() -> None:
    readings = list(measure_inference(CountingBackend(3000), {}, "bf16", [100, 200, 300]))
    assert [(reading.tokens, reading.full) for reading in readings] == [(100, False), (200, True)]
    assert growth_per_token(readings) is None
    with pytest.raises(DeviceFull):
        list(measure_inference(CountingBackend(999), {}, "bf16", [100]))


def test_the_parts_of_a_training_step_by_hand() -> None:
    full = measure_training(CountingBackend(), {}, Training("full", sequence_length=50))
    # settled: 1000 weights + 2000 states; forward keeps 300 and touches 50 more
    assert (full.weights, full.gradients, full.optimizer) == (1000, 1000, 2000)
    assert (full.saved, full.activations) == (300, 350)
    assert full.peak == 1000 + 2000 + 300 + 1000 + 11
    assert full.backward == 311
    lora = measure_training(
        CountingBackend(), {}, Training("lora", sequence_length=50, gradient_checkpointing=True)
    )
    assert (lora.adapters, lora.gradients, lora.optimizer, lora.saved) == (40, 40, 80, 100)
    mixed = measure_training(CountingBackend(), {}, Training("full", "mixed"))
    assert mixed.weights == 2000
    assert measure_training(CountingBackend(1500), {}, Training("full")).full


def made_rows(*arguments: str) -> list[dict[str, Any]]:
    parsed = build_parser().parse_args(arguments)
    choices = [
        Choice(SMALL, {"model_type": "llama"}, 1),
        Choice("a/b", {"model_type": "unheard_of"}, 1),
    ]
    return list(rows(CountingBackend(), choices, parsed, SOURCE))


def test_rows_are_ones_the_benchmark_reads(capsys: pytest.CaptureFixture[str]) -> None:
    rows = made_rows("--context", "100", "300", "--train", "full", "lora")
    assert [row["kind"] for row in rows] == ["serving"] * 2 + ["training"] * 4
    assert len({row["id"] for row in rows}) == 6
    assert "a/b: left out, NotBuildable" in capsys.readouterr().err
    first_row = rows[0]
    assert first_row["measured"] == {
        "weights_bytes": 1000,
        "kv_bytes": 1000,
        "activations_bytes": 700,
        "allocator_bytes": 135,
        "non_torch_bytes": 400,
        "kv_bytes_per_token": 10.0,
    }
    assert (first_row["engine"], first_row["gpu"], first_row["max_model_len"]) == (
        "transformers",
        "Test GPU",
        100,
    )
    assert [row.get("lora_rank") for row in rows[2:]] == [None, None, 16, 16]
    assert [row["gradient_checkpointing"] for row in rows[2:]] == [False, True] * 2
    accuracy = evaluate(rows)
    assert accuracy.coverage == {"serving": (2, 2), "training": (4, 0)}
    assert set(accuracy.comparisons["component"]) >= {"weights", "kv_per_token"}


def test_models_are_chosen_by_the_room_they_leave() -> None:
    small = choose(SMALL)
    assert small is not None
    assert small.weight_bytes == 2 * 134_515_008
    assert choose("no/such-model") is None
    assert choose("black-forest-labs/FLUX.1-dev") is None  # a pipeline
    assert choose("Qwen/Qwen-7B-Chat-Int4") is None  # quantized
    listed = that_fit(every_choice(), 8 * GIB)
    assert all(model.weight_bytes <= 0.6 * 8 * GIB for model in listed)
    sizes = [model.weight_bytes for model in listed]
    assert sizes == sorted(sizes)
    assert small.repo_id in {model.repo_id for model in listed}
    with pytest.raises(SystemExit, match="not embedded"):
        chosen(build_parser().parse_args(["--model", "no/such-model"]), None)
