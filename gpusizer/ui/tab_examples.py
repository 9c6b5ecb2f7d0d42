"""Examples with which the empty tabs open: addresses that answer at one click."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MODEL_OF_COMPARISONS = "Qwen/Qwen3-32B"


@dataclass(frozen=True, slots=True)
class TabExample:
    """One example of a tab.

    Attributes:
        tab: the tab that answers it.
        name: what the link says; names of models and GPUs, the same in every language.
        fields: query parameters of the tab's address.
    """

    tab: str
    name: str
    fields: Mapping[str, str]

    @property
    def query(self) -> dict[str, str]:
        """The parameters of its address."""
        return {"tab": self.tab, **self.fields}


def comparisons(model: str = "") -> tuple[TabExample, ...]:
    """Return comparisons for a model: of desktop cards, of servers' cards, of one-box machines."""
    compared_model = model or _MODEL_OF_COMPARISONS
    return tuple(
        TabExample("compare", name, {"model": compared_model, "gpus": gpus})
        for name, gpus in (
            ("RTX 3090 · RTX 4090 · RTX 5090", "rtx-3090-24gb,rtx-4090-24gb,rtx-5090-32gb"),
            ("A100 · H100 · MI300X", "a100-sxm-80gb,h100-sxm-80gb,mi300x-192gb"),
            ("M3 Max · DGX Spark · Strix Halo", "M3 Max 128GB,DGX Spark,Strix Halo 128GB"),
        )
    )


TRAININGS = (
    TabExample(
        "train",
        "QLoRA · Llama-3.1-8B-Instruct · RTX 4090",
        {"model": "meta-llama/Llama-3.1-8B-Instruct", "method": "qlora", "gpu": "rtx-4090-24gb"},
    ),
    TabExample("train", "LoRA · Qwen3-32B", {"model": "Qwen/Qwen3-32B", "method": "lora"}),
    TabExample(
        "train",
        "Full · Qwen3-8B · 8 × H100",
        {"model": "Qwen/Qwen3-8B", "method": "full", "gpu": "8x h100-sxm-80gb"},
    ),
)
MACHINES = (
    TabExample("reverse", "RTX 4090", {"gpu": "4090"}),
    TabExample("reverse", "3090 + 3060 + 64 GB RAM", {"gpu": "3090 + 3060 + 64gb ram"}),
    TabExample("reverse", "M3 Max 128GB", {"gpu": "M3 Max 128GB"}),
)
