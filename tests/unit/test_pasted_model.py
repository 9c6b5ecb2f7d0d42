"""The model that people mean by what they paste: commands, programs, addresses and sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import GpusizerError, InvalidModelId
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from gpusizer.hub.pasted_model import MAX_CHARS, pasted_model
from gpusizer.text import LANGUAGES, say_error
from gpusizer.usecases.loose_names import by_loose_names
from gpusizer.usecases.near_models import near_models
from gpusizer.usecases.requests.request import SizeRequest
from tests.asking import size
from tests.sizers import embedded_sizer

parse = by_loose_names(parse_model_ref)
QWEN = ModelRef("Qwen/Qwen3-8B")
DOCKER = """docker run --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface \\
    -p 8000:8000 --ipc=host vllm/vllm-openai:latest \\
    --model Qwen/Qwen3-8B --max-model-len 8192"""
COMPOSE = """services:
  llm:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: -hf unsloth/Qwen3-8B-GGUF:Q4_K_M --port 8080"""
SNIPPET = """from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", dtype="auto", device_map="auto")"""

NAMED = {
    "ollama run qwen3:8b": QWEN,
    "ollama pull qwen3": QWEN,
    "docker exec -it ollama ollama run qwen3:8b": QWEN,
    "https://ollama.com/library/qwen3:8b": QWEN,
    "ollama.com/library/llama3.1": ModelRef("meta-llama/Llama-3.1-8B-Instruct"),
    "ollama run llama3.1:8b-instruct-q4_K_M": ModelRef(
        "meta-llama/Llama-3.1-8B-Instruct", tag="q4_K_M"
    ),
    "ollama run hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M": ModelRef(
        "unsloth/Qwen3-8B-GGUF", tag="Q4_K_M"
    ),
    "vllm serve Qwen/Qwen3-8B --max-model-len 8192": QWEN,
    "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2": QWEN,
    "llama-server -hf unsloth/Qwen3-8B-GGUF:Q4_K_M -ngl 99": ModelRef(
        "unsloth/Qwen3-8B-GGUF", tag="Q4_K_M"
    ),
    "llama-cli --hf-repo unsloth/Qwen3-8B-GGUF --hf-file sub/Qwen3-8B-Q4_K_M.gguf": ModelRef(
        "unsloth/Qwen3-8B-GGUF", file="sub/Qwen3-8B-Q4_K_M.gguf"
    ),
    DOCKER: QWEN,
    COMPOSE: ModelRef("unsloth/Qwen3-8B-GGUF", tag="Q4_K_M"),
    "docker run -e MODEL_ID=Qwen/Qwen3-8B ghcr.io/huggingface/text-generation-inference:3": QWEN,
    SNIPPET: QWEN,
    'llm = LLM(model="Qwen/Qwen3-8B")': QWEN,
    '{"model": "Qwen/Qwen3-8B", "messages": []}': QWEN,
    "hf download Qwen/Qwen3-8B --local-dir here": QWEN,
    "git clone https://huggingface.co/Qwen/Qwen3-8B": QWEN,
    "see https://huggingface.co/Qwen/Qwen3-8B?library=vllm for more": QWEN,
    "I want Qwen/Qwen3-8B and/or others on my 3060 at 30 tok/s": QWEN,
    "(Qwen/Qwen3-8B)": QWEN,
    "Qwen/Qwen3-8B.": QWEN,
    "llama 3.1 8b q4": ModelRef("meta-llama/Llama-3.1-8B", tag="q4"),
    "qwen3 8b Q4_K_M": ModelRef("Qwen/Qwen3-8B", tag="Q4_K_M"),
    "Qwen3-8B 4-bit": ModelRef("Qwen/Qwen3-8B", tag="q4"),
    "Qwen3-8B FP8": ModelRef("Qwen/Qwen3-8B-FP8"),
}


@pytest.mark.parametrize("text", NAMED)
def test_the_first_model_in_a_text_is_meant(text: str) -> None:
    assert parse(text) == NAMED[text]


@pytest.mark.parametrize(
    ("text", "reason", "suggested"),
    [
        ("Qwen", "organisation", "Qwen/Qwen3-8B"),
        ("huggingface.co/openai", "organisation", "openai/gpt-oss-20b"),
        ("https://huggingface.co/google/", "organisation", "google/gemma-3-4b-it"),
        ("ollama run qwen3:9b", "ollama_unknown", "Qwen/Qwen3-8B"),
        ("ollama run someone/qwen3:8b", "ollama_user", "Qwen/Qwen3-8B"),
        ("look at https://huggingface.co/spaces/org/name", "space", None),
        ("load_dataset from https://huggingface.co/datasets/squad", "dataset", None),
        ("llama 3 8b q4", "characters", "meta-llama/Meta-Llama-3-8B:q4"),
        ("nothing of the sort", "characters", None),
    ],
)
def test_what_names_no_model_is_refused_with_the_next_step(
    text: str, reason: str, suggested: str | None
) -> None:
    with pytest.raises(InvalidModelId) as refused:
        parse(text)
    fields = refused.value.fields
    assert fields["reason"] == reason
    suggestions = fields.get("suggestions", [])
    assert isinstance(suggestions, list)
    assert suggested is None or suggested in suggestions
    for language in LANGUAGES:
        assert "{" not in say_error(refused.value, language)


@pytest.mark.parametrize("text", ["./Qwen/Qwen3-8B", "~/models/a b", "C:\\models\\Qwen3-8B", "a/b"])
def test_names_and_paths_are_left_as_they_are(text: str) -> None:
    assert pasted_model(text) is None


@pytest.mark.parametrize(
    ("text", "unlikely"), [("llama3", "huggyllama/llama-30b"), ("llama 3", "huggyllama/llama-30b")]
)
def test_a_number_that_goes_on_is_another(text: str, unlikely: str) -> None:
    near = near_models(text)
    assert near and unlikely not in near
    assert all("llama-3" in repo_id.lower() for repo_id in near)


def test_a_long_paste_is_asked_about_by_its_model() -> None:
    request = SizeRequest.from_fields({"model": "# setup\n" * 500 + SNIPPET})
    assert request.model == "Qwen/Qwen3-8B"
    with pytest.raises(GpusizerError) as refused:
        SizeRequest.from_fields({"model": "word " * 100})
    assert refused.value.fields["reason"] == "too_long"


def test_the_answer_says_how_a_paste_was_read_and_keeps_its_quantization() -> None:
    report = size(embedded_sizer(), {"model": "llama 3.1 8b q4", "gpu": "3060"})
    assert report.profile.repo_id == "meta-llama/Llama-3.1-8B"
    assert {row.estimate.quant.slug for row in report.estimates} == {"q4_k_m"}
    command = size(embedded_sizer(), {"model": "vllm serve Qwen/Qwen3-8B --port 1"})
    [note] = [note for note in command.notes if note.code == "model_read_as"]
    assert note.fields["repo_id"] == "Qwen/Qwen3-8B"


_PIECES = st.sampled_from(
    [*NAMED, "-hf", "--model", "=", "ollama", "run", "/", ":", "\\", "\n", '"']
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=30)), max_size=40).map(" ".join))
def test_any_text_names_a_model_or_is_refused(text: str) -> None:
    try:
        parse(text)
    except InvalidModelId as error:
        assert len(str(error.fields["value"])) <= 130


@pytest.mark.parametrize(
    "text", ["a/" * MAX_CHARS, "--model " * MAX_CHARS, "q4 " * MAX_CHARS, "a-" * MAX_CHARS]
)
def test_long_hostile_texts_are_read_in_bounds(text: str) -> None:
    with pytest.raises(InvalidModelId):
        parse(text)
