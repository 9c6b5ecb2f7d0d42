"""The line that starts a model: a published file first, with a placeholder where none is known."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.launch import launch_command
from gpusizer.launch.start import PUBLISHER, Start, published_gguf, start_of
from gpusizer.usecases.requests.request import SizeRequest
from tests.sizers import embedded_sizer

FLUX = "black-forest-labs/FLUX.1-dev"


def start(model: str, **fields: Any) -> Start:
    sizer = embedded_sizer()
    report = sizer.size(
        SizeRequest.from_fields({"model": model, "top": 1, "card": False, **fields})
    )
    place = report.rig or report.ranking[0]
    return start_of(report.profile, place.fit.config, report.workload)


@pytest.mark.parametrize(
    ("model", "fields", "line"),
    [
        ("Qwen/Qwen3-8B", {"gpu": "3060"}, "llama-server -hf Qwen/Qwen3-8B-GGUF:Q8_0 -c 8192"),
        (
            "Qwen/Qwen3-30B-A3B",
            {"rig": "3060 + 64 GB RAM"},
            "llama-server -hf Qwen/Qwen3-30B-A3B-GGUF:Q4_K_M -c 8192 -ngl 49 --n-cpu-moe",
        ),
        (
            "openai/gpt-oss-20b",
            {"gpu": "5070 ti 16gb", "quant": "mxfp4_moe"},
            "llama-server -hf ggml-org/gpt-oss-20b-GGUF -c 8192",
        ),
        ("Qwen/Qwen3-8B", {"gpu": "h100 sxm"}, "vllm serve Qwen/Qwen3-8B"),
    ],
)
def test_a_line_names_what_is_published(model: str, fields: dict[str, Any], line: str) -> None:
    found = start(model, **fields)
    assert found.line.text.startswith(line) and not found.is_listed
    assert "convert" not in found.line.text


def test_ollama_runs_the_published_file() -> None:
    text = start("Qwen/Qwen3-8B", gpu="3060", engine="ollama").line.text
    assert text.splitlines()[-1] == "ollama run hf.co/Qwen/Qwen3-8B-GGUF:Q8_0"


def test_an_unknown_publisher_is_a_placeholder_with_the_hubs_list() -> None:
    found = start("BAAI/bge-large-en-v1.5", gpu="4060")
    assert f"-hf {PUBLISHER}/bge-large-en-v1.5-GGUF:" in found.line.text and found.is_listed
    assert found.listing.startswith("https://huggingface.co/models?other=base_model:quantized:BAAI")
    assert found.made is not None and "llama-quantize" in found.made.text
    made = start("Qwen/Qwen3-32B", gpu="a100 pcie 80gb", quant="awq-int4-g128")
    assert made.line.text.startswith(f"vllm serve {PUBLISHER}/Qwen3-32B-AWQ") and made.is_listed
    assert made.made is not None and "llmcompressor" in made.made.text


def test_a_repository_is_named_for_what_it_has() -> None:
    assert published_gguf("nobody/nothing", "Q8_0") is None
    official, other = (
        published_gguf("Qwen/Qwen3-8B", "Q8_0"),
        published_gguf("Qwen/Qwen3-8B", "IQ4_XS"),
    )
    assert official is not None and official.repository == "Qwen/Qwen3-8B-GGUF"
    assert other is not None and other.repository == "unsloth/Qwen3-8B-GGUF"


@pytest.mark.parametrize(
    ("model", "file"),
    [
        (
            "TechxGenus/DeepSeek-Coder-V2-Lite-Instruct-AWQ",
            f"{PUBLISHER}/DeepSeek-Coder-V2-Lite-Instruct-GGUF",
        ),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", "bartowski/Qwen2.5-72B-Instruct-GGUF"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "bartowski/Llama-3.3-70B-Instruct-GGUF"),
        ("Qwen/Qwen3-8B-FP8", "Qwen/Qwen3-8B-GGUF"),
    ],
)
def test_files_are_made_of_the_model_and_not_of_its_narrow_copy(model: str, file: str) -> None:
    found = start(model, gpu="2x 3090", engine="llama.cpp")
    assert f"-hf {file}:" in found.line.text
    assert "search=" in found.listing and "AWQ" not in found.listing


@pytest.mark.parametrize(
    ("asked", "has", "lacks"),
    [
        # all of its 31 GiB on a card of 24 would end in an error
        (
            {"model": FLUX, "gpu": "4090", "quant": "bf16", "cpu_offload": "model"},
            "pipe.enable_model_cpu_offload()",
            "pipe.to(",
        ),
        ({"model": FLUX, "gpu": "H100"}, 'pipe.to("cuda")', "offload"),
        (
            {"model": "openai/whisper-large-v3", "gpu": "T4", "engine": "transformers"},
            '"automatic-speech-recognition"',
            "AutoModelForCausalLM",
        ),
        (
            {"model": "google-bert/bert-base-uncased", "gpu": "T4", "engine": "transformers"},
            "AutoModelForMaskedLM",
            "generate(",
        ),
    ],
)
def test_a_snippet_does_what_the_answer_counts(asked: dict[str, Any], has: str, lacks: str) -> None:
    text = start(**asked).line.text
    assert has in text and lacks not in text


def test_components_that_take_turns_unasked_do_so_in_the_snippet() -> None:
    # nothing in 4 bits or more of FLUX stays on 8 GB at once
    assert "cpu_offload()" in start(FLUX, rig="3070 8GB + 64 GB RAM").line.text


def test_llama_server_answers_in_vectors_where_the_model_makes_them() -> None:
    sizer = embedded_sizer()
    for model, embeds in (("BAAI/bge-large-en-v1.5", True), ("Qwen/Qwen3-8B", False)):
        request = {"model": model, "gpu": "4060", "engine": "llama.cpp", "card": False}
        report = sizer.size(SizeRequest.from_fields(request))
        asked = report.profile, report.ranking[0].fit.config, report.workload
        line = start_of(*asked, for_task=True).line.text
        assert (" --embeddings" in line) is embeds
        assert ("--embeddings" in launch_command(*asked).text) is embeds


@pytest.mark.parametrize(
    ("model", "fields", "batches"),
    [
        ("nomic-ai/nomic-embed-text-v1.5", {}, " -b 8192 -ub 8192"),
        ("nomic-ai/nomic-embed-text-v1.5", {"ubatch_size": 1024}, " -ub 1024"),
        ("BAAI/bge-large-en-v1.5", {}, ""),  # its 512 tokens are the usual batch
        ("Qwen/Qwen3-Embedding-8B", {}, ""),  # keeps its last token alone
    ],
)
def test_encoders_compute_a_whole_input(model: str, fields: dict[str, Any], batches: str) -> None:
    """llama-server refuses a longer one: "increase the physical batch size"."""
    line = start(model, gpu="4090", engine="llama.cpp", **fields).line.text
    assert line.partition(" -ngl all")[2].removesuffix(" --embeddings") == batches


def test_weights_that_nobody_here_makes_are_looked_for_on_the_hub() -> None:
    """AWQ of Llama 3.2 Vision had no command at all."""
    model = "meta-llama/Llama-3.2-11B-Vision-Instruct"
    found = start(model, quant="awq-int4-g64", engine="transformers")
    assert f'"{PUBLISHER}/Llama-3.2-11B-Vision-Instruct-AWQ"' in found.line.text
    assert found.is_listed and found.listing.startswith("https://huggingface.co/models?other=")
    assert found.made is None
