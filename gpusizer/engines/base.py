"""What every engine answers about its memory, beyond the weights themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from gpusizer.amounts import Amount
from gpusizer.profile import ModelProfile
from gpusizer.workload import Workload

SplitBy = Literal["tensor", "layer", "none"]


@dataclass(frozen=True, slots=True)
class Split:
    """How a model is spread over GPUs."""

    tensor: int = 1
    pipeline: int = 1

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class Overhead:
    """What one GPU holds besides weights, cache and activations.

    Attributes:
        inside: counted against the engine's memory budget.
        outside: taken on top of it, such as the CUDA context under vLLM.
    """

    inside: Amount
    outside: Amount


class Engine(Protocol):
    """One inference engine. Everything is per GPU and in bytes.

    Attributes:
        slug: API name.
        name: as its authors write it.
        version: the version its constants describe.
        split_by: what it divides among GPUs by default.
        stacks: software stacks it runs on, as the catalogue names them.
        kv_cell_multiple: tokens the cache of a sequence is rounded up to.
        device_classes: memory sizes, in bytes, from which its defaults change; the first is 0.
    """

    @property
    def slug(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def split_by(self) -> SplitBy: ...
    @property
    def stacks(self) -> frozenset[str]: ...
    @property
    def kv_cell_multiple(self) -> int: ...
    @property
    def device_classes(self) -> tuple[int, ...]: ...

    def utilization(self, workload: Workload) -> float:
        """Share of the card's memory the engine budgets with; 1 when it takes what it needs."""
        ...

    def activations(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Amount:
        """Peak of temporary tensors on the fullest GPU."""
        ...

    def overhead(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Overhead:
        """Runtime, communicator and graph memory on each GPU."""
        ...
