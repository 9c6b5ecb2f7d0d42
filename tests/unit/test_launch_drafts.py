"""Launch commands with a second model that guesses tokens."""

from __future__ import annotations

import pytest

from gpusizer.answers.launch import launch_command
from gpusizer.answers.launch.base import LaunchDraft
from tests.asking import size
from tests.drafts import EAGLE3, eagle3, fetching
from tests.launch_plans import GGUF, codes, plan, text

SIBLING = LaunchDraft("org/small", "draft_model", "safetensors")
HEAD = LaunchDraft("org/head-eagle3", "eagle3", "safetensors")
BLOCK = LaunchDraft("org/head-DFlash", "dflash", "safetensors")
LOAD = {"draft_tokens": 3, "draft_model": "org/small"}


def test_vllm() -> None:
    assert text(plan("vllm", LOAD, draft=SIBLING)).endswith(
        "  --speculative-config"
        ' \'{"method": "draft_model", "model": "org/small", "num_speculative_tokens": 3}\''
    )
    assert '"method": "eagle3", "model": "org/head-eagle3"' in text(plan("vllm", LOAD, draft=HEAD))


def test_sglang() -> None:
    assert text(plan("sglang", LOAD, draft=HEAD)).endswith(
        "  --speculative-algorithm EAGLE3 \\\n"
        "  --speculative-draft-model-path org/head-eagle3 \\\n"
        "  --speculative-num-steps 3 \\\n"
        "  --speculative-eagle-topk 1 \\\n"
        "  --speculative-num-draft-tokens 4"
    )
    assert "--speculative-algorithm STANDALONE" in text(plan("sglang", LOAD, draft=SIBLING))
    block = text(plan("sglang", {**LOAD, "draft_tokens": 15}, draft=BLOCK))
    assert "--speculative-algorithm DFLASH" in block and "num-steps" not in block
    assert block.endswith("  --speculative-num-draft-tokens 16")


def test_llama_cpp() -> None:
    draft = LaunchDraft("org/small-GGUF", "draft_model", "gguf", "Q8_0")
    asked = plan("llama.cpp", LOAD, draft=draft, **GGUF)
    assert (
        "  --spec-draft-hf org/small-GGUF:Q8_0 \\\n"
        "  --spec-draft-ngl all \\\n"
        "  --spec-type draft-simple \\\n"
        "  --spec-draft-n-max 3" in text(asked)
    )
    assert codes(asked) == []
    unconverted = plan("llama.cpp", LOAD, draft=HEAD, **GGUF)
    assert codes(unconverted) == ["launch_needs_gguf"]
    small = LaunchDraft("org/small", "draft_model", "safetensors")
    converted = text(plan("llama.cpp", LOAD, draft=small, **GGUF))
    assert converted.startswith(
        "python llama.cpp/convert_hf_to_gguf.py --remote org/small --outtype f16"
        " --outfile small-F16.gguf\nllama-server -hf org/m-GGUF:Q4_K_M"
    )
    assert "  --model-draft small-F16.gguf \\\n" in converted


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_command_names_the_repository_that_was_sized(engine: str) -> None:
    request = {"model": "Qwen/Qwen3-8B", "quant": "native", "gpu": "h100 sxm"}
    sized = size(fetching(eagle3()), {**request, "engine": engine, "draft_model": EAGLE3})
    command = launch_command(sized.profile, sized.ranking[0].fit, sized.workload)
    assert command is not None
    assert EAGLE3 in command.text
    elsewhere = size(fetching(eagle3()), {**request, "engine": engine})
    plain = launch_command(elsewhere.profile, elsewhere.ranking[0].fit, elsewhere.workload)
    assert plain is not None and "speculative" not in plain.text
