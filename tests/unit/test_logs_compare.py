"""Logs against predictions: the benchmark's numbers, the row to contribute, and its issue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from bench import llama_cpp as bench_llama_cpp
from bench import start_up_logs
from bench.errors import Comparison
from gpusizer.core.errors import HubUnreachable, InvalidRequest, UnknownGpu
from gpusizer.core.messages import Note
from gpusizer.logs.contribution import row_of
from gpusizer.logs.log_checks import LogCheck, check
from gpusizer.logs.log_comparison import LogComparison, Predicted, Prediction, compare_log
from gpusizer.logs.parse import parse_log
from gpusizer.logs.run_request import LogRequest, gguf_slug, request_of
from tests import engine_logs
from tests.documents import written
from tests.log_facts import TABLE
from tests.sizers import embedded_sizer

GIB, MIB = 2**30, 2**20


def checked(log: str, model: str = "", gpu: str = "") -> LogCheck:
    return check(embedded_sizer(), log, model, gpu=gpu)


def compared(log_check: LogCheck) -> LogComparison:
    assert log_check.comparison is not None
    return log_check.comparison


def test_a_run_of_vllm_as_a_request() -> None:
    request = request_of(parse_log(engine_logs.VLLM_V1), "Qwen/Qwen3-8B", "H100")
    assert request.fields == {
        "model": "Qwen/Qwen3-8B",
        "engine": "vllm",
        "engine_version": "0.11.0 V1",
        "context": 8192,
        "kv_dtype": "auto",
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "memory_utilization": 0.85,
        "max_num_seqs": 64,
        "enforce_eager": False,
    }
    # 68 GiB are 85 % of the card.
    assert (request.memory_bytes, request.gpus) == (80 * GIB, 1)


def test_a_run_of_llama_cpp_as_a_request() -> None:
    request = request_of(parse_log(engine_logs.LLAMA_CPP), "Qwen/Qwen3-8B")
    assert request.fields == {
        "model": "Qwen/Qwen3-8B",
        "engine": "llama.cpp",
        "engine_version": "b6123",
        "context": 4096,
        "concurrency": 2,
        "kv_dtype": "f16/f16",
        "batch_size": 2048,
        "ubatch_size": 512,
        "flash_attention": True,
        "backend": "cuda",
        "text_only": True,
    }
    assert (request.quant, request.gpus) == ("q4_k_m", 1)


def test_a_run_without_a_gpu_is_told_from_one_without_layers_there() -> None:
    """Qwen3-8B without a GPU: 151,936 logits and one hidden state for 512 tokens, 304.75 MiB."""
    bare = engine_logs.LLAMA_CPP.replace("offloaded 37/37", "offloaded 0/37")
    bare = bare.replace("CUDA0 model", "CPU model").replace("CUDA0 KV", "CPU KV")
    beside = request_of(parse_log(bare), "Qwen/Qwen3-8B")
    assert (beside.fields["gpu_layers"], "backend" in beside.fields) == (0, False)
    alone = bare.replace("CUDA0 compute", "CPU compute")
    fields = request_of(parse_log(alone), "Qwen/Qwen3-8B").fields
    assert (fields["gpu_layers"], fields["backend"]) == (0, "cpu")
    compute = compared(checked(alone, "Qwen/Qwen3-8B")).prediction.amount("compute")
    assert compute is not None
    assert compute.likely == (151_936 + 4096) * 512 * 4 == 304.75 * MIB


def test_part_of_the_layers_on_a_gpu() -> None:
    request = request_of(parse_log(engine_logs.LLAMA_CPP_OLD), "org/m-GGUF")
    assert request.fields["gpu_layers"] == 20
    assert request.fields["model"] == "org/m-GGUF:Q8_0"  # the file's, as none was named


def test_measured_and_predicted_side_by_side() -> None:
    """By hand: 73 per cent of the predicted pool, 1 GiB of 2 and so on."""
    amounts = (
        Predicted("weights", 15.25 * GIB, 15 * GIB, 16 * GIB),
        Predicted("kv_pool", 25.5 * GIB, 0, 30 * GIB),
        Predicted("kv_per_token", 147_456, 147_456, 147_456),
        Predicted("kv_per_sequence", 1, 1, 1),
        Predicted("graphs", GIB, GIB, GIB),
    )
    prediction = Prediction("Qwen/Qwen3-8B", "bf16", True, "", True, amounts)
    requests: list[LogRequest] = []

    def predict(request: LogRequest) -> Prediction:
        requests.append(request)
        return prediction

    comparison = compare_log(parse_log(engine_logs.VLLM_V1), predict, "Qwen/Qwen3-8B")
    assert [(row.name, row.error, row.lines) for row in comparison.rows] == [
        ("weights", 0.0, (4,)),
        ("graphs", 1.0, (10,)),  # 1 GiB predicted, 0.5 measured
        ("kv_pool", -0.5, (7,)),  # 25.5 of 51
        ("kv_per_token", pytest.approx(147_456 * 371_376 / (51 * GIB) - 1), (7, 8)),
    ]
    assert requests == [request_of(parse_log(engine_logs.VLLM_V1), "Qwen/Qwen3-8B")]


def test_printed_tokens_of_hybrids_are_explained() -> None:
    """34,952 tokens and 2.13 requests of 16,384, which are 34,898. A release that counted blocks of
    four groups would have printed a quarter."""
    hybrid = Prediction("Qwen/Qwen3.5-4B", "bf16", True, "", False, (), notes=(Note("log_cut"),))
    even = replace(hybrid, even=True)

    def told(log: str, prediction: Prediction) -> tuple[Note, ...]:
        comparison = compare_log(parse_log(log), lambda _: prediction, "Qwen/Qwen3.5-4B")
        return comparison.prediction.notes[1:]

    by_blocks = engine_logs.VLLM_RECENT.replace("34,952 tokens", "8,738 tokens")
    fits = {"fits": 34_898, "context": 16_384}
    assert told(engine_logs.VLLM_RECENT, hybrid) == (
        Note("log_tokens_of_requests", printed=34_952, **fits),
    )
    assert told(by_blocks, hybrid) == (Note("log_tokens_of_blocks", printed=8738, **fits),)
    assert told(by_blocks, even) == told(engine_logs.SGLANG, hybrid) == ()


Q4_0 = engine_logs.LLAMA_CPP.replace("Q4_K - Medium", "Q4_0")
BY_UNSLOTH = "$ llama-server -hf unsloth/Qwen3-8B-GGUF:Q4_0 -c 8192\n" + Q4_0


def test_a_file_is_predicted_as_its_publisher_makes_it() -> None:
    """Q4_1 in ffn_down (4096 x 12288) of the first 4 of 36 layers: 2 bytes more per 32 weights."""
    weights = []
    for log in (Q4_0, BY_UNSLOTH, BY_UNSLOTH.replace("unsloth/", "nobody/")):
        amount = compared(checked(log, "Qwen/Qwen3-8B")).prediction.amount("weights")
        assert amount is not None
        weights.append(amount.likely)
    plain, widened, unknown = weights
    assert widened - plain == 4 * 4096 * 12288 // 32 * 2
    assert unknown == plain


def test_the_row_says_where_its_file_is_from() -> None:
    log_check = checked(BY_UNSLOTH, "Qwen/Qwen3-8B")
    assert log_check.issue is not None
    assert log_check.issue.row["gguf_repo"] == "unsloth/Qwen3-8B-GGUF"
    assert (log_check.issue.row["repo"], log_check.issue.row["profile_basis"]) == (
        "Qwen/Qwen3-8B",
        "id",
    )
    cached = engine_logs.LLAMA_CPP.replace(
        "/home/ann/models/", "/home/ann/hub/models--unsloth--Qwen3-8B-GGUF/snapshots/1a/"
    )
    request = request_of(parse_log(cached), "Qwen/Qwen3-8B")
    assert (request.gguf_repo, request.publisher) == ("unsloth/Qwen3-8B-GGUF", "unsloth")


BENCHES: list[tuple[str, str, str, Callable[[Any], Iterator[Comparison]]]] = [
    (engine_logs.VLLM_V1, "", "H100 80GB", start_up_logs.compare),
    (engine_logs.VLLM_V0, "Qwen/Qwen2.5-7B-Instruct", "RTX 4090", start_up_logs.compare),
    (engine_logs.SGLANG, "", "H100 80GB", start_up_logs.compare),
    (engine_logs.LLAMA_CPP, "Qwen/Qwen3-8B", "", bench_llama_cpp.compare),
    (engine_logs.LLAMA_CPP_OLD, "Qwen/Qwen2.5-7B-Instruct", "", bench_llama_cpp.compare),
    (engine_logs.OLLAMA, "Qwen/Qwen3-8B", "", bench_llama_cpp.compare),
    (BY_UNSLOTH, "Qwen/Qwen3-8B", "", bench_llama_cpp.compare),
]


@pytest.mark.parametrize("log, model, gpu, bench", BENCHES)
def test_the_benchmark_predicts_the_row_equally(
    log: str, model: str, gpu: str, bench: Callable[[Any], Iterator[Comparison]]
) -> None:
    """A contributed row, read back, gives the errors that its issue promised; but for the pool, of
    which a log knows the card's total memory and a request only its name."""
    done = checked(log, model, gpu)
    assert done.issue is not None
    row = json.loads(json.dumps(done.issue.row))
    scored = {one.component: (one.measured, one.predicted) for one in bench(row)}
    shown = {row.name: (row.measured, row.predicted) for row in compared(done).rows}
    common = scored.keys() & shown.keys() - {"kv_pool", "max_concurrency"}
    if row.get("offload") == "partial":
        common -= {"kv_cache"}  # a log is compared whole, an answer shows the part on GPUs
    assert common >= {"vllm": {"weights"}, "sglang": {"weights", "graphs"}}.get(
        done.log.engine, {"compute"}
    )
    for name in common:
        assert shown[name] == pytest.approx(scored[name], rel=1e-4), name


def test_a_row_has_the_format_of_the_published_ones() -> None:
    log_check = checked(engine_logs.LLAMA_CPP, "Qwen/Qwen3-8B")
    row = row_of(log_check.log, compared(log_check))
    assert row.pop("id") == row.pop("dup_group")
    assert row == {
        "kind": "llama_cpp",
        "source_group": "users",
        "source_url": "unpublished",
        "measure_kind": "buffers",
        "program": "llama.cpp",
        "front_end": "llama.cpp",
        "build": "b6123",
        "repo": "Qwen/Qwen3-8B",
        "profile": "Qwen/Qwen3-8B",
        "profile_basis": "id",
        "gguf_file": "Qwen3-8B-Q4_K_M.gguf",
        "quant": "Q4_K_M",
        "bits_per_weight": 4.91,
        "file_bytes": round(4.68 * GIB),
        "context": 8192,
        "batch": 2048,
        "ubatch": 512,
        "sequences": 2,
        "kv_k": "f16",
        "kv_v": "f16",
        "flash_attention": True,
        "backends": ["CUDA"],
        "gpus": ["NVIDIA GeForce RTX 4090"],
        "gpu_count": 1,
        "offload": "all",
        "gpu_layers": 37,
        "layers_offered": 37,
        "measured": {
            "weights_bytes": 4789.25 * MIB,
            "kv_bytes": 1152 * MIB,
            "weights_by_device": {"CUDA0": 4455.5 * MIB, "CPU_Mapped": 333.75 * MIB},
            "kv_by_device": {"CUDA0": 1152 * MIB},
            "compute_by_device": {"CUDA0": 304.75 * MIB, "CUDA_Host": 24 * MIB},
            "output_by_device": {"CUDA_Host": 1.25 * MIB},
        },
    }


def test_the_model_that_a_file_was_made_from() -> None:
    fact = (
        "llama_model_loader: - kv   7:      general.base_model.0.repo_url str         = "
        "https://huggingface.co/Qwen/Qwen3-8B\n"
    )
    log_check = checked(engine_logs.LLAMA_CPP + fact)
    assert log_check.issue is not None
    assert (log_check.model, log_check.issue.row["profile_basis"]) == ("Qwen/Qwen3-8B", "inferred")


def test_a_table_alone_is_compared_too() -> None:
    log_check = checked(TABLE, "Qwen/Qwen3-8B")
    assert log_check.issue is not None and log_check.issue.row["measure_kind"] == "breakdown"
    assert [row.name for row in compared(log_check).rows] == ["kv_cache", "compute"]


def test_the_issue_is_ready_to_paste() -> None:
    log_check = checked(engine_logs.VLLM_V1, gpu="H100 80GB")
    assert log_check.issue is not None
    assert log_check.issue.title == "Measurement: vllm 0.11.0, Qwen/Qwen3-8B, H100 80GB"
    assert json.loads(log_check.issue.body) == log_check.issue.row
    weights = next(row for row in compared(log_check).rows if row.name == "weights")
    assert f"{weights.measured / GIB:.3f} {weights.predicted / GIB:.3f}" == "15.250 15.268"
    for private in ("10.1.2.3", "sk-abcdefghijklmnop", "api_key"):
        assert private not in json.dumps(written(check(embedded_sizer(), engine_logs.VLLM_V1)))


def test_home_folders_are_redacted() -> None:
    for log in (engine_logs.LLAMA_CPP, engine_logs.LLAMA_CPP_OLD, engine_logs.VLLM_V0):
        answer = json.dumps(written(check(embedded_sizer(), log, "Qwen/Qwen3-8B")))
        assert not re.search(r"\b[Aa]nn\b|/home|Users|/srv", answer)


def test_an_issue_does_not_name_a_local_folder() -> None:
    log_check = checked(engine_logs.VLLM_V0.replace("/srv/m/llama", "/srv/m/our-project"), "gpt2")
    assert log_check.issue is not None and "our-project" not in log_check.issue.body


def test_a_local_path_needs_a_model() -> None:
    log_check = checked(engine_logs.VLLM_V0)
    assert (log_check.comparison, log_check.issue) == (None, None)
    assert [note.code for note in log_check.notes] == ["log_model_unknown"]


def test_a_model_that_only_the_log_names_and_nobody_can_read() -> None:
    log = engine_logs.VLLM_V1.replace("Qwen/Qwen3-8B", "secret/project")
    log_check = checked(log)
    assert log_check.comparison is None
    assert [note.code for note in log_check.notes] == ["log_model_not_read"]
    with pytest.raises(HubUnreachable):
        checked(log, "secret/project")


def test_a_length_that_a_request_refuses_is_compared() -> None:
    """By hand: GPT-2 is made for 1,024 tokens and ran with 4,096. A token takes 12 layers x 2 x 768
    bytes in FP8, half of it on each of two cards."""
    predicted = compared(checked(engine_logs.VLLM_V0, "gpt2")).prediction
    for name, value in (("kv_per_token", 9216), ("kv_per_sequence", 4096 * 9216)):
        amount = predicted.amount(name)
        assert amount is not None and amount.likely == value


def test_a_checkpoint_that_sglang_casts_is_compared() -> None:
    """Gemma 2 2B is stored in FP32; two cards hold half of its 2,614,341,888 weights in 16 bits
    each, and what they do not divide."""
    predicted = compared(checked(engine_logs.SGLANG, "google/gemma-2-2b")).prediction
    weights = predicted.amount("weights")
    assert weights is not None and weights.likely == pytest.approx(2_614_341_888, rel=0.01)


def test_a_part_of_a_card_is_a_card_of_its_memory() -> None:
    """The log has 24 GiB: an engine chooses its defaults by that, not by the 80 GB of the card."""
    unnamed, part, whole = (
        compared(checked(engine_logs.VLLM_V0, "Qwen/Qwen3-8B", gpu)).prediction
        for gpu in ("", "H100 80GB", "RTX 4090")
    )
    assert part.amounts == unnamed.amounts == whole.amounts
    assert (unnamed.gpu, part.gpu, whole.gpu) == ("", "h100-sxm-80gb", "rtx-4090-24gb")


def test_an_unknown_card_leaves_a_note() -> None:
    notes = [note.code for note in checked(engine_logs.SGLANG).notes]
    assert notes == ["log_gpu_unknown"]
    names = [row.name for row in compared(checked(engine_logs.SGLANG)).rows]
    assert "kv_pool" not in names and "kv_per_token" in names
    with pytest.raises(UnknownGpu):
        checked(engine_logs.SGLANG, gpu="no such card")


def test_a_card_may_be_named_with_its_number() -> None:
    alone = compared(checked(engine_logs.SGLANG, gpu="H100"))
    stated = alone.request.gpus
    counted = checked(engine_logs.SGLANG, gpu=f"{stated}xH100")
    assert compared(counted).rows == alone.rows
    assert compared(counted).request == alone.request
    other = checked(engine_logs.SGLANG, gpu=f"{stated + 1}x H100")
    assert compared(other).rows == alone.rows
    assert other.notes == (*counted.notes, Note("log_gpu_count", count=stated))


def test_weights_of_an_unknown_type_are_not_compared() -> None:
    log = engine_logs.LLAMA_CPP.replace("Q4_K - Medium", "IQ9_XXL")
    log_check = checked(log, "Qwen/Qwen3-8B")
    assert [note.code for note in log_check.notes] == ["log_quant_unknown"]
    assert [row.name for row in compared(log_check).rows] == ["kv_cache", "compute"]


def test_an_impossible_setting_is_a_typed_error() -> None:
    log = engine_logs.SGLANG.replace("mem_fraction_static=0.86", "mem_fraction_static=86.0")
    with pytest.raises(InvalidRequest) as caught:
        checked(log)
    assert caught.value.fields["field"] == "memory_utilization"
    with pytest.raises(InvalidRequest):
        check(embedded_sizer(), 7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "file_type, slug",
    [
        ("Q4_K - Medium", "q4_k_m"),
        ("Q3_K - Large", "q3_k_l"),
        ("Q2_K - Medium", "q2_k"),
        ("Q5_K - Small", "q5_k_s"),
        ("Q6_K", "q6_k"),
        ("IQ4_XS - 4.25 bpw", "iq4_xs"),
        ("IQ3_S mix - 3.66 bpw", "iq3_m"),
        ("MXFP4 MoE", "mxfp4_moe"),
        ("BF16", "gguf-f16"),
        ("all F32", "gguf-f32"),
        ("(guessed) Q8_0", "q8_0"),
        ("Q4_K_M", "q4_k_m"),
    ],
)
def test_file_types(file_type: str, slug: str) -> None:
    assert gguf_slug(file_type) == slug
