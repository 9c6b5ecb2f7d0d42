"""What the protocol asks of a device and its framework. All amounts are bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Config = Mapping[str, Any]
Method = Literal["full", "lora"]


class DeviceFull(Exception):
    """The device ran out of memory."""


class NotBuildable(Exception):
    """The framework has no model for this configuration."""


@dataclass(frozen=True, slots=True)
class Device:
    """What is measured on.

    Attributes:
        name: as its driver says it; "cpu" without one.
        memory_bytes: all of its memory, None on a CPU.
        framework_version: of the library that builds the models.
        software: further versions that matter, such as PyTorch's.
    """

    name: str
    memory_bytes: int | None
    framework_version: str
    software: str


@dataclass(frozen=True, slots=True)
class Training:
    """A training step.

    Attributes:
        method: every weight, or low-rank adapters on each linear layer of the blocks.
        precision: "bf16" for weights in BF16, "mixed" for FP32 weights under autocast.
        lora_rank: rank of the adapters.
    """

    method: Method
    precision: Literal["bf16", "mixed"] = "bf16"
    sequence_length: int = 512
    micro_batch: int = 1
    gradient_checkpointing: bool = False
    lora_rank: int = 16


class Backend(Protocol):
    """One device; at most one model is loaded at a time. Any call may raise DeviceFull."""

    @property
    def device(self) -> Device: ...

    def live_bytes(self) -> int:
        """Tensors alive now."""
        ...

    def mark(self) -> None:
        """Forget the peaks seen so far."""
        ...

    def peak_bytes(self) -> int:
        """Most tensors alive at once since the last mark."""
        ...

    def reserved_peak_bytes(self) -> int | None:
        """Most that the allocator held since the last mark, None without such an allocator."""
        ...

    def context_bytes(self) -> int | None:
        """In use on the device beyond the allocator's; None where the device does not say."""
        ...

    def load(self, config: Config, dtype: str) -> None:
        """Build a model with random weights. Raises NotBuildable."""
        ...

    def prefill(self, tokens: int) -> None:
        """Read a prompt of one sequence and keep its cache, nothing else."""
        ...

    def drop_cache(self) -> None: ...

    def prepare(self, training: Training) -> None:
        """Freeze and add adapters as the method has it, and make an AdamW optimizer."""
        ...

    def forward(self, training: Training) -> None:
        """One micro-batch, up to its loss; keeps what the backward pass needs."""
        ...

    def backward(self) -> None:
        """From the loss to the gradients."""
        ...

    def optimizer_step(self) -> None: ...

    def clear_gradients(self) -> None: ...

    def unload(self) -> None:
        """Free everything."""
        ...
