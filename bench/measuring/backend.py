"""Backend: the interface of a device and its framework. All amounts are bytes."""

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
    """The device that is measured.

    Attributes:
        name: name by its driver; "cpu" without one.
        memory_bytes: all of its memory, None on a CPU.
        framework_version: version of the library that builds the models.
        software: further relevant versions, such as PyTorch's.
    """

    name: str
    memory_bytes: int | None
    framework_version: str
    software: str


@dataclass(frozen=True, slots=True)
class Training:
    """A training step.

    Attributes:
        method: "full" for every weight, "lora" for adapters on each linear layer of the blocks.
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
        """Return the bytes of allocated tensors."""
        ...

    def mark(self) -> None:
        """Reset the peaks."""
        ...

    def peak_bytes(self) -> int:
        """Return the peak bytes of allocated tensors since the last mark."""
        ...

    def reserved_peak_bytes(self) -> int | None:
        """Return the peak bytes reserved by the allocator since the last mark, None without one."""
        ...

    def context_bytes(self) -> int | None:
        """Return bytes in use outside of the allocator, None if the device does not report them."""
        ...

    def load(self, config: Config, dtype: str) -> None:
        """Build a model with random weights. Raises NotBuildable."""
        ...

    def prefill(self, tokens: int) -> None:
        """Read a prompt of one sequence; only its cache stays allocated."""
        ...

    def drop_cache(self) -> None: ...

    def prepare(self, training: Training) -> None:
        """Freeze weights and add adapters for the method, and create an AdamW optimizer."""
        ...

    def forward(self, training: Training) -> None:
        """Run one micro-batch up to its loss; inputs of the backward pass stay allocated."""
        ...

    def backward(self) -> None:
        """Compute the gradients of the loss."""
        ...

    def optimizer_step(self) -> None: ...

    def clear_gradients(self) -> None: ...

    def unload(self) -> None:
        """Free everything."""
        ...
