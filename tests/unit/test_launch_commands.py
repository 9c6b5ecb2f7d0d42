"""Launch commands word for word: `tests/data/commands` has a file for each engine.

`python -m tests.unit.test_launch_commands` writes the files again, to be read before they are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusizer.launch import LAUNCHERS, LaunchPlan
from gpusizer.launch.base import LaunchDraft
from gpusizer.memory.engines import Split
from tests.asking import size
from tests.launch_plans import GGUF, PLAN, codes, command_of, plan, text
from tests.sizers import embedded_sizer

FOLDER = Path(__file__).parents[1] / "data" / "commands"
SIBLING = LaunchDraft("org/small", "draft_model", "safetensors")
HEAD = LaunchDraft("org/head-eagle3", "eagle3", "safetensors")
BLOCK = LaunchDraft("org/head-DFlash", "dflash", "safetensors")
GUESSED = {"draft_tokens": 3, "draft_model": "org/small"}
Q4_K_M = {"stored": False, "quant": "q4_k_m", "quant_name": "GGUF Q4_K_M"}
Q4_K_L = {"stored": False, "quant": "q4_k_l", "quant_name": "GGUF Q4_K_L"}
IQ2_XS = {"stored": False, "quant": "iq2_xs", "quant_name": "GGUF IQ2_XS"}
UNSLOTH = {"stored": False, "quant": "q4_k_m@unsloth", "quant_name": "GGUF Q4_K_M by unsloth"}
BF16 = {"stored": False, "quant": "bf16", "quant_name": "BF16 / FP16"}

VLLM_OPTIONS: dict[str, Any] = {
    "context": 32768,
    "max_num_seqs": 64,
    "max_num_batched_tokens": 4096,
    "kv_dtype": "fp8",
    "max_loras": 2,
    "max_lora_rank": 64,
    "enforce_eager": True,
    "prefix_caching": True,
    "text_only": True,
    "draft_tokens": 2,
}
LLAMA_CPP_OPTIONS: dict[str, Any] = {
    "concurrency": 4,
    "kv_dtype": "q8_0/f16",
    "ubatch_size": 256,
    "cpu_moe": True,
    "gpu_layers": 20,
    "text_only": True,
    "draft_tokens": 2,
}

CASES: Mapping[str, Mapping[str, LaunchPlan]] = {
    "vllm": {
        "plain": PLAN,
        "every option": replace(
            plan("vllm", VLLM_OPTIONS, revision="v1.0", split=Split(4, 2)),
            stored=False,
            quant="fp8",
            quant_name="FP8 (W8A8)",
        ),
        "held to the sequences that it starts with": replace(PLAN, most_sequences=939),
        "fewer sequences asked for": replace(
            plan("vllm", {"max_num_seqs": 64}), most_sequences=939
        ),
        "more sequences asked for": replace(
            plan("vllm", {"max_num_seqs": 2048}), most_sequences=939
        ),
        "no prefixes kept": plan("vllm", {"prefix_caching": False}),
        "prefixes in system memory": plan(
            "vllm", {"kv_offload_gb": 100.0}, split=Split(4, 1, 2, 8)
        ),
        "users below its own limit": plan("vllm", {"concurrency": 100}),
        "users beyond its own limit": plan("vllm", {"concurrency": 300}),
        "experts dealt out": plan("vllm", split=Split(8, 1, 1, 8)),
        "users of two data ranks": plan("vllm", {"concurrency": 600}, split=Split(4, 1, 2, 8)),
        "users within the limit of each rank": plan(
            "vllm", {"concurrency": 512}, split=Split(4, 1, 2, 8)
        ),
        "a user beyond the limit of each rank": plan(
            "vllm", {"concurrency": 513}, split=Split(4, 1, 2, 8)
        ),
        "32 bits": plan("vllm", quant="fp32", quant_name="FP32"),
        "a quantized checkpoint": plan(
            "vllm", quantized=True, quant="awq-int4-g128", quant_name="AWQ"
        ),
        "a smaller sibling guesses": plan("vllm", GUESSED, draft=SIBLING),
        "a head guesses": plan("vllm", GUESSED, draft=HEAD),
    },
    "sglang": {
        "two GPUs": plan(
            "sglang",
            {"kv_dtype": "fp8", "concurrency": 100, "enforce_eager": True},
            split=Split(2),
            utilization=0.88,
        ),
        "experts dealt out": plan("sglang", split=Split(8, 1, 1, 8)),
        "users of two data ranks": plan(
            "sglang",
            {"concurrency": 131, "max_num_batched_tokens": 4096},
            split=Split(4, 1, 2, 8),
            utilization=0.88,
        ),
        "prefixes in system memory": plan("sglang", {"kv_offload_gb": 100.0}, split=Split(2)),
        # As SGLang's documents start DeepSeek's: three steps, one chain, four tokens to verify.
        "draft layers of the checkpoint": plan("sglang", {"draft_tokens": 3}, utilization=0.88),
        "a smaller sibling guesses": plan("sglang", GUESSED, draft=SIBLING),
        "a head guesses": plan("sglang", GUESSED, draft=HEAD),
        "a block is guessed": plan("sglang", {**GUESSED, "draft_tokens": 15}, draft=BLOCK),
    },
    "tgi": {
        "two GPUs and NF4": plan(
            "tgi",
            {"concurrency": 4},
            split=Split(2),
            utilization=1.0,
            stored=False,
            quant="bnb-nf4",
            quant_name="bitsandbytes NF4",
        ),
    },
    "tensorrt-llm": {
        "options in a file": plan(
            "tensorrt-llm",
            {"kv_dtype": "fp8", "enforce_eager": True, "concurrency": 8},
            utilization=0.9,
        ),
    },
    "llama.cpp": {
        "every option": plan("llama.cpp", LLAMA_CPP_OPTIONS, split=Split(pipeline=2), **GGUF),
        "a file is made": plan("llama.cpp", **Q4_K_M),
        "a file of 16 bits is made": plan("llama.cpp", **BF16),
        "a wider embedding and head": plan("llama.cpp", **Q4_K_L),
        "with a projector": plan("llama.cpp", task="image-text-to-text", **Q4_K_L),
        "without its projector": plan(
            "llama.cpp", {"text_only": True}, task="image-text-to-text", **Q4_K_L
        ),
        # llama-quantize refuses it without an importance matrix.
        "a file that cannot be made": plan("llama.cpp", **IQ2_XS),
        "a file of a publisher": plan("llama.cpp", **UNSLOTH),
        "a smaller sibling guesses": plan(
            "llama.cpp",
            GUESSED,
            draft=LaunchDraft("org/small-GGUF", "draft_model", "gguf", "Q8_0"),
            **GGUF,
        ),
        "a sibling is converted": plan("llama.cpp", GUESSED, draft=SIBLING, **GGUF),
        "a head that nobody converted": plan("llama.cpp", GUESSED, draft=HEAD, **GGUF),
    },
    "ollama": {
        "several users": plan("ollama", {"kv_dtype": "q8_0", "concurrency": 2}, **GGUF),
        "part of the layers": plan("ollama", {"gpu_layers": 12}, **GGUF),
        "a file is made": plan("ollama", **Q4_K_M),
        "a file that cannot be made": plan("ollama", **IQ2_XS),
    },
    "mlx": {
        "plain": plan("mlx"),
        "weights are converted": plan(
            "mlx", {"concurrency": 4}, stored=False, quant="mlx-4bit", quant_name="MLX 4-bit"
        ),
    },
    "transformers": {
        "NF4": plan("transformers", stored=False, quant="bnb-nf4-dq", quant_name="NF4"),
    },
    "diffusers": {
        "on a Mac": plan("diffusers", stack="Metal", revision="v2"),
        # TorchAO narrows the components that were sized so, and not the VAE.
        "FP8": plan(
            "diffusers", stored=False, quant="fp8", narrowed=("text_encoder", "transformer")
        ),
    },
}


def golden(engine: str) -> str:
    """Return an engine's commands below the names of their cases, with codes of their notes."""
    parts = (
        f"=== {name}\n{text(case)}\n"
        + (f"--- notes: {', '.join(codes(case))}\n" if codes(case) else "")
        for name, case in CASES[engine].items()
    )
    return "\n".join(parts)


@pytest.mark.parametrize("engine", LAUNCHERS)
def test_commands_are_those_of_the_file(engine: str) -> None:
    assert golden(engine) == (FOLDER / f"{engine}.txt").read_text("utf-8")


def test_vllm_starts_with_the_sequences_that_are_told() -> None:
    fields = {"model": "Qwen/Qwen3.5-27B", "engine": "vllm", "quant": "native"}
    report = size(embedded_sizer(), {**fields, "gpu": "rtx-pro-6000"})
    held = re.search(r"--max-num-seqs (\d{3}) ", command_of(report).text)
    assert held
    said = [n.fields for n in report.ranking[0].reasons if n.code == "sequences_at_start"]
    assert [(fields["sure"], fields["asked"]) for fields in said] == [(int(held[1]), 1024)]


def test_sglang_divides_its_chunk_among_data_ranks() -> None:
    """The estimate has 8,192 tokens a step on each of two ranks of large cards: 16,384 in all."""
    fields = {"model": "deepseek-ai/DeepSeek-R1", "quant": "native", "engine": "sglang"}

    def of(gpu: str, **more: Any) -> str:
        return command_of(size(embedded_sizer(), {**fields, "gpu": gpu, **more})).text

    assert "  --chunked-prefill-size 16384 \\\n" in of("h200 sxm", expert_parallel=16)
    # 32 ranks, eight of them in each data-parallel one, on cards of 48 GB: 4 x 2,048
    assert "  --chunked-prefill-size 8192 \\\n" in of("l40s", expert_parallel=32)
    limited = of("h200 sxm", expert_parallel=16, max_num_batched_tokens=4096)
    assert "  --chunked-prefill-size 8192 \\\n" in limited
    assert "--chunked-prefill-size" not in of("h200 sxm", tensor_parallel=8)


def test_flux_in_fp8_narrows_both_encoders_and_the_transformer() -> None:
    fields = {"model": "black-forest-labs/FLUX.1-dev", "quant": "fp8", "gpu": "4090"}
    command = command_of(size(embedded_sizer(), fields))
    compile(command.text, "flux", "exec")
    assert command.notes == ()
    named = ("text_encoder", "text_encoder_2", "transformer", "vae")
    assert [f'"{name}": ' in command.text for name in named] == [True, True, True, False]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for engine in LAUNCHERS:
        (FOLDER / f"{engine}.txt").write_text(golden(engine), "utf-8")
