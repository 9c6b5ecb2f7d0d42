"""Examples with which the empty tabs open: names of links, and the addresses that these lead to.

Names are those of models and GPUs, the same in every language.
"""

from __future__ import annotations

from collections.abc import Mapping

Examples = Mapping[str, Mapping[str, str]]
"""By what a link says: the parameters of an address that is answered at one click."""

_COMPARED_MODEL = "Qwen/Qwen3-32B"
"""The model of comparisons where the tab has none."""
_COMPARED = {
    "RTX 3090 · RTX 4090 · RTX 5090": "rtx-3090-24gb,rtx-4090-24gb,rtx-5090-32gb",
    "A100 · H100 · MI300X": "a100-sxm-80gb,h100-sxm-80gb,mi300x-192gb",
    "M3 Max · DGX Spark · Strix Halo": "M3 Max 128GB,DGX Spark,Strix Halo 128GB",
}
TRAININGS: Examples = {
    "QLoRA · Llama-3.1-8B-Instruct · RTX 4090": {
        "tab": "train",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "method": "qlora",
        "gpu": "rtx-4090-24gb",
    },
    "LoRA · Qwen3-32B": {"tab": "train", "model": "Qwen/Qwen3-32B", "method": "lora"},
    "Full · Qwen3-8B · 8 × H100": {
        "tab": "train",
        "model": "Qwen/Qwen3-8B",
        "method": "full",
        "gpu": "8x h100-sxm-80gb",
    },
}
MACHINES: Examples = {
    "RTX 4090": {"tab": "reverse", "gpu": "4090"},
    "3090 + 3060 + 64 GB RAM": {"tab": "reverse", "gpu": "3090 + 3060 + 64gb ram"},
    "M3 Max 128GB": {"tab": "reverse", "gpu": "M3 Max 128GB"},
}
DESKS: Examples = {
    "Qwen3-30B-A3B · bge · Whisper · 2 × 3090": {
        "tab": "desk",
        "models": "Qwen/Qwen3-30B-A3B users=2 context=32768\n"
        "BAAI/bge-large-en-v1.5\nopenai/whisper-large-v3 resident=no",
        "gpu": "2x 3090 + 64 GB RAM",
    },
    "Qwen3-8B · FLUX.1-dev · 4090": {
        "tab": "desk",
        "models": "Qwen/Qwen3-8B context=16384\nblack-forest-labs/FLUX.1-dev",
        "gpu": "4090",
    },
    "3 × vLLM · A100": {
        "tab": "desk",
        "models": "Qwen/Qwen3-8B users=8 engine=vllm\nQwen/Qwen3-0.6B engine=vllm\n"
        "openai/whisper-large-v3 engine=vllm",
        "gpu": "A100 80GB",
    },
}

QUESTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "get": ("Qwen3-8B", {"model": "Qwen/Qwen3-8B"}),
    "fit": (
        "Qwen3-30B-A3B · 3060 + 64 GB RAM",
        {"model": "Qwen/Qwen3-30B-A3B", "gpu": "3060 + 64 GB RAM"},
    ),
    "models": ("RTX 3060", {"tab": "reverse", "gpu": "3060"}),
    "load": (
        "Qwen3-32B · 2/s",
        {
            "model": "Qwen/Qwen3-32B",
            "requests_per_second": "2",
            "prompt_tokens": "1000",
            "answer_tokens": "300",
        },
    ),
}
"""By the name of a card on the start page: an example, and the parameters of its address."""


def comparisons(model: str = "") -> Examples:
    """Return comparisons for a model: of desktop cards, of servers' cards, of one-box machines."""
    about = {"tab": "compare", "model": model or _COMPARED_MODEL}
    return {name: {**about, "gpus": gpus} for name, gpus in _COMPARED.items()}
