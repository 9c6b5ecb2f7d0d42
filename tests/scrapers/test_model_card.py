"""Statements of model cards about hardware: one small card for each rule of docs/model_cards.md."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.hub.card_statements import ModelCard, ModelCardStatement
from scrapers.readme.model_card import card_text, read_card


def said(markdown: str, repo_id: str = "org/name-7B") -> list[dict[str, Any]]:
    """Return the statements of a card as JSON, without the places of their texts."""
    statements = read_card(markdown.encode(), repo_id, "").statements
    unread = ("line", "last_line", "quote", "is_requirement", "bound")
    return [
        {name: value for name, value in item.to_json().items() if name not in unread}
        for item in statements
    ]


NEEDS = {
    "total memory": ("You need about 40 GB of VRAM.", {"kind": "min_vram", "vram_gb": 40.0}),
    "a range": (
        "At least 12-16GB of GPU memory is required.",
        {"kind": "min_vram", "vram_gb": 12.0, "vram_gb_high": 16.0},
    ),
    "cards with memory": (
        "Inference requires 2 GPUs with 48GB of memory.",
        {"kind": "min_vram", "vram_gb": 96.0, "vram_gb_per_gpu": 48.0, "count": 2},
    ),
    "named cards": (
        "FP8 inference needs 8xH200.",
        {"kind": "gpus", "gpu": "H200", "count": 8, "quant": "fp8"},
    ),
    "count behind": (
        "We recommend H100 x 16 for deployment.",
        {"kind": "gpus", "gpu": "H100", "count": 16},
    ),
    "alternatives": (
        "It runs on a single 80GB GPU (such as A100 or H100).",
        {
            "kind": "gpus",
            "vram_gb_per_gpu": 80.0,
            "gpu": "A100",
            "gpus": ["A100", "H100"],
            "count": 1,
        },
    ),
    "unified memory": (
        "You can run it on a Mac with 64GB RAM.",
        {"kind": "min_vram", "unified_memory_gb": 64.0},
    ),
    "label": ("- **VRAM:** 24 GB", {"kind": "min_vram", "vram_gb": 24.0}),
    "heading": (
        "## Hardware requirements\n\n- GPU: RTX 4090",
        {"kind": "gpus", "gpu": "RTX 4090"},
    ),
    "Chinese": (
        "至少需要 4 张 A100 80G 显卡进行推理。",
        {"kind": "gpus", "gpu": "A100", "count": 4, "vram_gb_per_gpu": 80.0},
    ),
    "Chinese memory": ("int4 量化后仅需 12GB 显存，以及 64GB 内存。", {"vram_gb": 12.0}),
    "row of a label": (
        "## Hardware requirements\n\n| Component | Value |\n|--|--|\n| GPU | A100 (80GB) |",
        {"kind": "gpus", "gpu": "A100", "vram_gb_per_gpu": 80.0},
    ),
    "comment in code": (
        "```sh\n# needs at least 48GB VRAM\n```",
        {"kind": "min_vram", "vram_gb": 48.0},
    ),
    "bits and method": (
        "The 3.5bpw EXL2 fits in 24GB VRAM with 16k context.",
        {"vram_gb": 24.0, "quant": "exl2", "bits": 3.5, "context": 16384},
    ),
    "Portuguese": (
        "O modelo requer pelo menos 9,5 GB de VRAM em int8.",
        {"kind": "min_vram", "vram_gb": 9.5, "quant": "int8"},
    ),
    "inherited context": (
        "For 1 million-token sequences:\n\n- **Big-7B**: at least 120GB VRAM",
        {"kind": "min_vram", "vram_gb": 120.0, "context": 1_000_000, "model": "Big-7B"},
    ),
    "column of memory": (
        "| Precision | GPU memory |\n|--|--|\n| INT4 | 6 GB |",
        {"kind": "min_vram", "quant": "int4", "vram_gb": 6.0},
    ),
    "HTML table": (
        "<table><tr><th>Type</th><th>VRAM</th></tr><tr><td>FP8</td><td>30 GB</td></tr></table>",
        {"kind": "min_vram", "quant": "fp8", "vram_gb": 30.0},
    ),
    "row by its label": (
        "<table><tr><td>Single GPU memory</td><td>INT8: from 5.5GB</td></tr></table>",
        {"quant": "int8", "vram_gb": 5.5},
    ),
}


@pytest.mark.parametrize("name", NEEDS)
def test_needs(name: str) -> None:
    markdown, expected = NEEDS[name]
    (read,) = said(markdown)
    assert {key: read.get(key) for key in expected} == expected
    (statement,) = read_card(markdown.encode(), "a/b", "").statements
    assert statement.is_requirement


def test_each_claim_keeps_its_condition() -> None:
    read = said("The 70B model needs 140GB of VRAM in FP16, 70GB in INT8 and 35GB in INT4.")
    assert [(item["vram_gb"], item["quant"], item["model"]) for item in read] == [
        (140.0, "fp16", "70B"),
        (70.0, "int8", "70B"),
        (35.0, "int4", "70B"),
    ]


SEVERAL = {
    "GPUs by quantization": (
        "## Requirements\n\n| GPU | BF16 | FP8 |\n|--|--|--|\n| H100 80GB | 8 | 4 |",
        [("H100", 8, "bf16"), ("H100", 4, "fp8")],
    ),
    "quantizations by GPU": (
        "Minimum GPUs:\n\n| Precision | H100 | A100 |\n|--|--|--|\n| FP8 | 8 | 16 |",
        [("H100", 8, "fp8"), ("A100", 16, "fp8")],
    ),
    "one or the other": (
        "FP8 inference requires 8 H200 or 16 H100 GPUs.",
        [("H200", 8, "fp8"), ("H100", 16, "fp8")],
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_claims(name: str) -> None:
    markdown, expected = SEVERAL[name]
    read = [(item["gpu"], item["count"], item["quant"]) for item in said(markdown)]
    assert read == expected


NO_NEEDS = {
    "training": "The model was trained on 8 x A100-80GB for 3 weeks.",
    "fine-tuning needs": "LoRA fine-tuning requires at least 8 GPUs with 80GB.",
    "neighbours": "- GPUs: 16 H100-80G\n- Training time: 42 days",
    "heading two levels up": "## Training\n\n### Hardware Requirements\n\nWe need 8 A100 GPUs.",
    "training column": "| Precision | Fine-tuning GPU memory |\n|--|--|\n| BF16 | 60 GB |",
    "training table": "### Fine-tuning\n\n| Model | GPU Type |\n|--|--|\n| A | H100 x 4 |",
    "measurement": "It generates 300 tokens/s on H20.",
    "time on a card": "It takes 10 hours on an A100.",
    "table of speeds": "| Model | Tokens/s | GPU Memory |\n|--|--|--|\n| 7B | 40 | 17GB |",
    "by batch": "| | bs=1 | bs=4 |\n|--|--|--|\n| int8 | 15.5GB | 17.2GB |",
    "disk": "Disk space: 170GB for the weights is required.",
    "host memory": "Server memory must exceed 1T.",
    "adapter": "* A LoRA of the model\n* Requires only 1GB of VRAM",
    "saved": "This reduces memory by 4GB.",
    "own machine": "I run it on my 3090, you need patience.",
    "speeds by GPU": "| Model | A100 | H100 |\n|--|--|--|\n| 7B | 30 | 60 |",
    "supported": "Supported hardware: NVIDIA A100, H100.",
    "Chinese training": "模型训练使用了 64 张 A800。",
    "Portuguese training": "O treinamento foi feito em 8 GPUs A100.",
    "sizes and lengths": "A 7B model of 2024-06 with 128 experts and a vocabulary of 128k.",
}


@pytest.mark.parametrize("name", NO_NEEDS)
def test_no_needs(name: str) -> None:
    assert said(NO_NEEDS[name]) == []


COMMANDS = {
    "vLLM": (
        "vllm serve a/b-FP8 -tp 4 --max-model-len 32768 --gpu-memory-utilization=0.85",
        {
            "engine": "vllm",
            "model": "a/b-FP8",
            "quant": "fp8",
            "tensor_parallel": 4,
            "context": 32768,
            "memory_utilization": 0.85,
            "count": 4,
        },
    ),
    "continued, with an environment": (
        "VLLM_USE_V1=0 \\\npython -m vllm.entrypoints.openai.api_server --model a/b \\\n"
        "  --speculative-config '{\"num_speculative_tokens\": 3}' --enforce_eager",
        {"engine": "vllm", "model": "a/b", "draft_tokens": 3, "enforce_eager": True},
    ),
    "image": (
        "docker run --shm-size 32g vllm/vllm-openai:v0.9 --model a/b --tensor-parallel-size 2",
        {"engine": "vllm", "model": "a/b", "tensor_parallel": 2},
    ),
    "SGLang": (
        "python3 -m sglang.launch_server --model-path a/b --tp 8 --dp 4 --enable-dp-attention"
        " --mem-fraction-static 0.8",
        {"engine": "sglang", "count": 8, "data_parallel": 4, "memory_utilization": 0.8},
    ),
    "llama.cpp": (
        "./llama-cli -m x/Model.Q4_K_M.gguf -ngl 99 -fa -c 0 -n -1",
        {
            "engine": "llama.cpp",
            "file": "Model.Q4_K_M.gguf",
            "quant": "q4_k_m",
            "gpu_layers": 99,
            "flash_attention": True,
        },
    ),
    "TGI": (
        "text-generation-launcher --model-id a/b --num-shard 2 --max-total-tokens 8192",
        {"engine": "tgi", "model": "a/b", "tensor_parallel": 2, "context": 8192},
    ),
    "TensorRT-LLM": (
        "trtllm-serve a/b --tp_size 2 --max_batch_size 32",
        {"engine": "tensorrt-llm", "model": "a/b", "tensor_parallel": 2, "max_num_seqs": 32},
    ),
    "LMDeploy": (
        "lmdeploy serve api_server a/b --tp 2 --session-len 65536",
        {"engine": "lmdeploy", "model": "a/b", "tensor_parallel": 2, "context": 65536},
    ),
    "Ollama": (
        "ollama run hf.co/a/b-GGUF:Q8_0",
        {"engine": "ollama", "model": "a/b-GGUF", "quant": "q8_0"},
    ),
    "YaRN in an argument": (
        'vllm serve a/b --rope-scaling \'{"factor":4.0,"original_max_position_embeddings":32768}\'',
        {"engine": "vllm", "yarn_factor": 4.0, "native_context": 32768},
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str) -> None:
    source, expected = COMMANDS[name]
    markdown = source if source.startswith("```") else f"```bash\n{source}\n```"
    (read,) = said(markdown)
    assert read["kind"] == "command"
    assert {key: read.get(key) for key in expected} == expected
    assert "context" in expected or "context" not in read


CONTEXTS = {
    "length": ("- Context length: 4K tokens", {"context": 4096}),
    "extended": (
        "Context: 32,768 natively and 131,072 tokens with YaRN.",
        {"context": 131072, "native_context": 32768},
    ),
    "rope": (
        '```\n{"rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768}}\n```',
        {"context": 131072, "native_context": 32768, "yarn_factor": 4.0},
    ),
    "column": (
        "| Model | Context Length |\n|--|--|\n| Big | 128K |",
        {"context": 131072, "model": "Big"},
    ),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts(name: str) -> None:
    markdown, expected = CONTEXTS[name]
    assert said(markdown) == [{"kind": "context", **expected}]


@pytest.mark.parametrize(
    "markdown",
    [
        "It has a 131k vocabulary.",
        "If you run out of memory, reduce the context length to 32,768.",
        "We evaluate with a context of 8192 tokens.",
    ],
)
def test_no_contexts(markdown: str) -> None:
    assert said(markdown) == []


def test_tables_of_files() -> None:
    table = (
        "| Name | Quant method | Bits | Size | Max RAM required |\n|--|--|--|--|--|\n"
        "| [m.Q3_K_M.gguf](https://huggingface.co/a/b/blob/main/m.Q3_K_M.gguf) | Q3_K_M | 3 "
        "| 1.48 GB | 3.98 GB |\n"
    )
    assert said(table) == [
        {
            "kind": "sibling_table",
            "quant": "q3_k_m",
            "bits": 3.0,
            "file": "m.Q3_K_M.gguf",
            "size_gb": 1.48,
            "ram_gb": 3.98,
        }
    ]
    by_unit = "| Link | Type | Size/GB |\n|--|--|--|\n| [GGUF](x/m.Q2_K.gguf) | Q2_K | 3.3 |"
    assert said(by_unit) == [
        {"kind": "sibling_table", "quant": "q2_k", "file": "m.Q2_K.gguf", "size_gb": 3.3}
    ]
    branches = (
        "| Branch | Bits | GS | Seq Len | Size |\n|-|-|-|-|-|\n| main | 4 | 128 | 4K | 18GB |"
    )
    assert said(branches, "org/name-GPTQ") == [
        {
            "kind": "sibling_table",
            "quant": "gptq",
            "bits": 4.0,
            "branch": "main",
            "group_size": 128,
            "size_gb": 18.0,
        }
    ]


def test_lines_are_those_of_the_file() -> None:
    card = b"---\nlicense: mit\n---\n# A\n\nIt needs 24GB of VRAM.\n\n```\nvllm serve a/b\n```\n"
    places = [(item.line, item.quote) for item in read_card(card, "a/b", "").statements]
    assert places == [(6, "It needs 24GB of VRAM."), (9, "vllm serve a/b")]
    assert card_text("no metadata") == ("no metadata", 1)


def test_round_trip_through_json() -> None:
    cards = [*NEEDS.values(), *CONTEXTS.values(), *COMMANDS.values()]
    for markdown, _ in cards:
        card = read_card(markdown.encode(), "a/b", "https://huggingface.co/a/b")
        assert ModelCard.from_json(card.to_json()) == card


def test_a_quote_is_printable_and_short() -> None:
    card = ("It needs 24GB of \u202eVRAM\x1b[2J, " + "really " * 100).encode()
    (statement,) = read_card(card, "a/b", "").statements
    assert isinstance(statement, ModelCardStatement)
    assert len(statement.quote) <= 200 and statement.quote.isprintable()
