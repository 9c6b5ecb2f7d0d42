"""Questions as typed in the shell, and what the first three lines must hold.

They are of what users of other tools ask (free memory, one Mac, experts in RAM, users of a server,
prices, a minimum speed), in the words that they use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Kind


@dataclass(frozen=True)
class Typed:
    """A command line."""

    words: Sequence[str]
    kind: Kind  # of the question
    holds: Sequence[str]  # regular expressions that the first three lines hold
    lacks: Sequence[str] = ()  # what none of them says


LLAMA, QWEN, MOE = "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B"
GEMMA, R1, OSS = "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-R1", "openai/gpt-oss-120b"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
RATE = ("--requests-per-second", "1", "--ttft-ms", "2000")

QUESTIONS: Mapping[str, Typed] = {
    "a model, nothing else": Typed(
        ("size", "Qwen/Qwen3-8B"),
        "need",
        (
            "^For Qwen3-8B we suggest ",
            "tok/s for one user",
            "stay free",
            r"costs about \$",
            "Q4_K_M",
        ),
    ),
    "by Ollama's name": Typed(("size", "qwen3:32b"), "need", ("^For Qwen3-32B we suggest ",)),
    "as it is spoken": Typed(("size", "gpt oss 20b"), "need", ("^For gpt-oss-20b we suggest ",)),
    "with a long context": Typed(
        ("size", "llama 3.1 8b", "--context", "32768"),
        "need",
        ("^For Llama-3.1-8B we suggest ", "one user and a context of 32,768 tokens"),
    ),
    "pictures": Typed(
        ("size", "black-forest-labs/FLUX.1-dev"),
        "need",
        (
            "^For FLUX.1-dev we suggest ",
            r"A picture of 1,024 × 1,024 takes about \d+",
            "It takes .* GiB in",
        ),
        ("tok/s", "context"),
    ),
    "how long a picture takes": Typed(
        ("size", "black-forest-labs/FLUX.1-dev", "--gpu", "4090"),
        "fit",
        ("^Yes, FLUX.1-dev fits on ", r"A picture of 1,024 × 1,024 takes about \d+"),
        ("tok/s", "context"),
    ),
    "the largest": Typed(("size", R1), "need", ("^For DeepSeek-R1 we suggest ", "stay free")),
    "with a budget": Typed(
        ("size", LLAMA_70B, "--max-usd", "2000"), "need", (r"costs about \$(1,)?\d{3} ",)
    ),
    "fast": Typed(("size", GEMMA, "--min-tok-s", "40"), "need", (r"about [4-9]\d",)),
    "experts": Typed(("size", MOE), "need", ("^For Qwen3-30B-A3B we suggest ",)),
    "does it fit my card": Typed(
        ("size", "Qwen/Qwen3-8B", "--gpu", "3060"),
        "fit",
        ("^Yes, Qwen3-8B fits on GeForce RTX 3060 12GB in ", "of 12.0 GiB stay free"),
    ),
    "experts in system memory": Typed(
        ("size", MOE, "--gpu", "3060 + 64 GB RAM"),
        "fit",
        ("^Yes: Qwen3-30B-A3B runs on GeForce RTX 3060 12GB .* GiB of it in RAM",),
    ),
    "too large for a Mac": Typed(
        ("size", R1, "--gpu", "m3 max 128gb"),
        "fit",
        ("^No, DeepSeek-R1 does not fit on Apple M3 Max 128GB: .* GiB too large",),
        ("system memory",),
    ),
    "a Mac that holds it": Typed(
        ("size", OSS, "--gpu", "m3 max 128gb"), "fit", ("^Yes, gpt-oss-120b fits on Apple M3 Max",)
    ),
    "two cards": Typed(
        ("size", QWEN, "--gpu", "2x3090"),
        "fit",
        (r"^Yes, Qwen3-32B fits on 2 × GeForce RTX 3090 24GB", "stay free on each GPU"),
    ),
    "a card in use": Typed(
        ("size", QWEN, "--gpu", "4090 (20 GB used)"),
        "fit",
        ("^(No|Yes: ).* GeForce RTX 4090 24GB",),
    ),
    "which of mine": Typed(
        ("size", LLAMA_70B, "--gpu", "4090,2x3090,m3 max 128gb"),
        "fit",
        (r"^Llama-3.3-70B-Instruct fits on \d of these 3: .*Apple M3 Max 128GB",),
    ),
    "a format that the card lacks": Typed(
        (
            "size",
            "RedHatAI/Llama-3.3-70B-Instruct-NVFP4",
            "--gpu",
            "4x v100 32gb",
            "--quant",
            "native",
        ),
        "fit",
        ("^No engine runs Llama-3.3-70B-Instruct-NVFP4 on 4 × Tesla V100",),
        ("too large",),
    ),
    "cards of two kinds": Typed(
        ("size", OSS, "--rig", "3090 + 3060 + 64gb ram"),
        "fit",
        ("^Yes: gpt-oss-120b runs on GeForce RTX 3090 24GB [+] GeForce RTX 3060 12GB",),
    ),
    "how many users": Typed(
        ("size", "Qwen/Qwen3-8B", "--gpu", "4090", "--engine", "vllm", "--quant", "fp8"),
        "fit",
        (r"The KV cache has .* tokens \([0-9.]+ × 8,192\)",),
    ),
    "a load": Typed(
        ("size", QWEN, "--requests-per-second", "5", "--ttft-ms", "500"),
        "load",
        (
            "^To answer 5 requests per second with Qwen3-32B ",
            r"The first token comes after 0\.\d+ s",
            "within",
        ),
        ("Arc", "for one user"),
    ),
    "fifty users": Typed(
        ("size", QWEN, "--concurrency", "50"),
        "load",
        (
            "serves Qwen3-32B to 50 users at once, 8,192 tokens each",
            "Each sees about",
            r"costs about \$",
        ),
        ("for one user",),
    ),
    "users on my server": Typed(
        ("size", "Qwen/Qwen3-8B", "--gpu", "h100", "--concurrency", "100"),
        "load",
        (
            r"^(\d × )?H100 .* serves Qwen3-8B to 100 users",
            "million tokens costs .* while 100 users",
        ),
    ),
    "too many users": Typed(
        ("size", QWEN, "--gpu", "1x4090", "--concurrency", "200", "--engine", "vllm"),
        "load",
        ("^(No|Yes: )", "200 users at once"),
    ),
    "a rate on my card": Typed(
        ("size", "gpt-oss:20b", *RATE, "--gpu", "l40s"),
        "load",
        ("^To answer 1 request per second with gpt-oss-20b ", "L40S"),
    ),
    "which of these": Typed(
        ("compare", "4090", "2x3090", "M3 Max 128GB", "--model", GEMMA),
        "compare",
        (r"^In [^,]+, gemma-3-27b-it runs on each of these\.", "The fastest for one user:"),
    ),
    "the longest context": Typed(
        ("compare", "4090", "3060", "M3 Max 128GB", "--model", QWEN),
        "compare",
        ("The fastest for one user: GeForce RTX 4090 24GB",),
    ),
    "which of these under a load": Typed(
        (
            *("compare", "h100-sxm", "a100-sxm4-80gb", "--model", QWEN, "--concurrency", "64"),
            *("--prompt-tokens", "500", "--answer-tokens", "200"),
        ),
        "compare",
        (r"^In [^,]+, Qwen3-32B runs on each of these\.", "The fastest for 64 users: H100"),
    ),
    "one of these under a load": Typed(
        ("compare", "h100-sxm", "--model", QWEN, "--concurrency", "64"),
        "load",
        ("^H100 SXM5 80GB serves Qwen3-32B to 64 users, 19 at a time", "the others wait"),
    ),
    "cards alone": Typed(
        ("compare", "4090", "a6000"),
        "compare",
        ("^RTX A6000 48GB has the most memory", "RTX 4090 24GB reads it fastest", "costs least"),
    ),
    "what can I run": Typed(
        ("models-for", "3060"),
        "models",
        (r"^GeForce RTX 3060 12GB runs \d+ of the \d+ models", "The first are", "tok/s for one"),
    ),
    "what runs with RAM": Typed(
        ("models-for", "3060 + 64gb ram"),
        "models",
        (
            r"^GeForce RTX 3060 12GB \+ 64 GB RAM runs \d+ of",
            "with experts in system memory, at about",
        ),
    ),
    "fine-tune on a free card": Typed(
        ("train", LLAMA, "--method", "qlora", "--gpu", "t4"),
        "train",
        ("QLoRA fine-tuning of Llama-3.1-8B .*Tesla T4 16GB", "about .* hours"),
    ),
    "what to fine-tune on": Typed(
        ("train", LLAMA),
        "train",
        ("^For LoRA fine-tuning, Llama-3.1-8B takes .* on each GPU", r"\$"),
    ),
    "too much to train": Typed(
        ("train", QWEN, "--method", "full", "--gpu", "1x4090"),
        "train",
        ("^No, full fine-tuning of Qwen3-32B does not fit on GeForce RTX 4090 24GB",),
    ),
}
