"""hf-mem beside our predictions: its output is stored in a file and parsed."""

from __future__ import annotations

import json
from subprocess import CompletedProcess

import pytest

from bench import rivals
from bench.errors import Comparison, RivalSummary, frame_of, summarize_rival
from bench.hf_mem import answer_of, served, short
from bench.measurements import load_snapshot
from bench.rivals import (
    Answer,
    Question,
    Rival,
    hf_mem_llama_cache,
    hf_mem_serving_cache,
    hf_mem_weights,
    load_answers,
    questions,
    rival_number,
)

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
WHOLE = Question(LLAMA)
CACHED = Question(LLAMA, 8192, 1, "auto")
NAMED = Question(LLAMA, 8192, 1, "bfloat16")
REFUSAL = """hf_mem/cli.py:81: UserWarning: `--experimental` is set
  warnings.warn(
Traceback (most recent call last):
  File "hf_mem/run.py", line 3, in main
RuntimeError: Provided `--kv-cache-dtype=auto` with `quantization_config={'bits': 4, 'a': {}}` and
a `quant_method` i.e., `awq`, which is not supported
As KV cache estimation is still experimental, open an issue.
"""


def ended_process(code: int, printed: object = "", errors: str = "") -> CompletedProcess[str]:
    return CompletedProcess([], code, json.dumps(printed), errors)


def test_every_entry_is_bytes_or_says_why_not() -> None:
    for question, answer in load_answers().items():
        assert (answer.bytes_of(question) is None) == bool(answer.error), question
        assert "/tmp" not in answer.error and "\n" not in answer.error


def test_weights_of_plain_checkpoints_are_those_of_the_snapshot() -> None:
    """8,030,261,248 parameters in two bytes; keys and values, 32 layers, 8 heads of 128."""
    answers = load_answers()
    assert answers[WHOLE].weights_bytes == 2 * 8_030_261_248
    assert answers[CACHED].kv_bytes == 8192 * 2 * 32 * 8 * 128 * 2


def test_the_output_of_hf_mem_is_parsed() -> None:
    printed = {"model_id": LLAMA, "memory": 100, "kv_cache": 40, "total_memory": 140}
    assert answer_of(CACHED, ended_process(0, printed), "1") == Answer(100, 40, "", "1")
    without_cache = {**printed, "kv_cache": None}
    assert answer_of(WHOLE, ended_process(0, without_cache), "1") == Answer(100, None, "", "1")
    warned = "x.py:1: UserWarning: first\nx.py:2: UserWarning: no `hidden_size`\n  warnings.warn("
    silent = answer_of(CACHED, ended_process(0, without_cache, warned), "1")
    assert silent == Answer(100, None, "UserWarning: no `hidden_size`", "1")
    refused = answer_of(CACHED, ended_process(1, "", REFUSAL), "1")
    assert (refused.weights_bytes, refused.kv_bytes) == (None, None)
    assert refused.error == (
        "RuntimeError: Provided `--kv-cache-dtype=auto` with `quantization_config={…}` and"
        " a `quant_method` i.e., `awq`, which is not supported As KV cache estimation is still"
        " experimental, open an issue."
    )
    assert len(short("a" * 900)) == 240
    with pytest.raises(RuntimeError, match="Llama"):
        answer_of(WHOLE, ended_process(1, "", "Traceback\nhttpx2.HTTPStatusError: 404"), "1")


def test_numbers_are_divided_as_a_user_would() -> None:
    answers = {
        WHOLE: Answer(100, None, "", "1"),
        CACHED: Answer(None, None, "refused", "1"),
        NAMED: Answer(100, 4096, "", "1"),
    }
    assert rival_number(WHOLE, 4, answers) == Rival(WHOLE, True, 25.0, 25.0)
    assert rival_number(CACHED, 2 * 8192, answers) == Rival(CACHED, True, None, 0.25)
    assert rival_number(Question("a/b"), 1, answers) == Rival(Question("a/b"), False, None, None)


def test_rows_and_the_questions_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {WHOLE: Answer(100, None, "", "1"), NAMED: Answer(100, 4096, "", "1")}
    monkeypatch.setattr(rivals, "load_answers", lambda: answers)
    row = {"profile": LLAMA, "quant": "native"}
    stored = hf_mem_weights(row, 2)
    assert stored is not None and stored.value == 50.0
    assert hf_mem_weights({**row, "quant": "fp8"}, 2) is None
    cache = hf_mem_serving_cache(row, 8192, 8192)
    assert (cache.question, cache.asked, cache.value, cache.named) == (CACHED, False, None, 0.5)
    assert (
        hf_mem_serving_cache({**row, "kv_dtype": "fp8"}, 8192, 1).question.kv_cache_dtype == "fp8"
    )
    assert questions([cache, stored, None]) == [WHOLE, CACHED, NAMED]
    run = {"profile": LLAMA, "context": 8192, "kv_k": "f16", "kv_v": "f16"}
    question = hf_mem_llama_cache(run)
    assert question is not None and question.value == 4096.0
    shared = hf_mem_llama_cache({**run, "context": 8194, "sequences": 4})
    assert shared is not None and shared.question == Question(LLAMA, 2049, 4, "bfloat16")
    assert hf_mem_llama_cache({**run, "kv_v": "q8_0"}) is None
    assert hf_mem_llama_cache({"profile": LLAMA, "kv_k": "f16"}) is None


def test_its_errors_by_hand() -> None:
    def comparison_of(measured: float, rival: Rival | None) -> Comparison:
        return Comparison(
            "vllm", "weights", "", "a", "a", "me", "https://x.org", measured, 1, None, rival=rival
        )

    rows = [
        comparison_of(100, Rival(WHOLE, True, 150.0, 110.0)),
        comparison_of(100, Rival(CACHED, True, None, 70.0)),
        comparison_of(100, Rival(CACHED, False, None, None)),
        comparison_of(100, None),
    ]
    summary = summarize_rival(frame_of(rows))
    assert summary is not None
    assert summary == RivalSummary(2, 1, 0.5, 0.5, 2, pytest.approx(0.2))
    assert not summary.named_is_alike
    assert summarize_rival(frame_of(rows[2:])) is None
    assert summarize_rival(frame_of(rows[1:2])) == RivalSummary(
        1, 0, None, None, 1, pytest.approx(0.3)
    )


@pytest.mark.parametrize("model", [LLAMA, "facebook/opt-125m"])
def test_models_are_served_with_their_own_tensors_and_files(model: str) -> None:
    """Pickles keep their names, so that hf-mem finds no safetensors where there are none."""
    snapshot = load_snapshot(model)
    repo = served(snapshot)
    stored = sum(group.elements for group in snapshot.components[0].tensors)
    pickled = snapshot.format == "pickle"
    assert sum(repo.counted_parameters().values()) == (0 if pickled else stored)
    weight_paths = {path for path in repo.files if path.endswith((".safetensors", ".bin"))}
    assert len(weight_paths) == len(snapshot.components[0].files)
    assert json.loads(repo.files["config.json"].head_bytes()) == snapshot.components[0].config
