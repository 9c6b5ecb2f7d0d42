"""Launch commands of serving engines: vLLM, SGLang, TGI, TensorRT-LLM."""

from __future__ import annotations

from typing import Any

from gpusizer.answers.launch import launch_command
from gpusizer.memory.engines import Split
from tests.asking import size
from tests.launch_plans import PLAN, plan, text
from tests.sizers import embedded_sizer


def test_vllm() -> None:
    assert text(PLAN) == (
        "vllm serve org/model \\\n  --max-model-len 8192 \\\n  --gpu-memory-utilization 0.92"
    )
    full = plan(
        "vllm",
        {
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
        },
        revision="v1.0",
        split=Split(4, 2),
        stored=False,
        quant="fp8",
        quant_name="FP8 (W8A8)",
    )
    assert text(full) == (
        "vllm serve org/model \\\n"
        "  --revision v1.0 \\\n"
        "  --max-model-len 32768 \\\n"
        "  --max-num-seqs 64 \\\n"
        "  --max-num-batched-tokens 4096 \\\n"
        "  --gpu-memory-utilization 0.92 \\\n"
        "  --tensor-parallel-size 4 \\\n"
        "  --pipeline-parallel-size 2 \\\n"
        "  --quantization fp8 \\\n"
        "  --kv-cache-dtype fp8 \\\n"
        "  --enable-lora \\\n"
        "  --max-loras 2 \\\n"
        "  --max-lora-rank 64 \\\n"
        "  --enforce-eager \\\n"
        "  --enable-prefix-caching \\\n"
        "  --language-model-only \\\n"
        '  --speculative-config \'{"method": "mtp", "num_speculative_tokens": 2}\''
    )


def test_vllm_schedules_as_many_as_were_planned_for() -> None:
    assert "--max-num-seqs 300" in text(plan("vllm", {"concurrency": 300}))
    assert "--max-num-seqs" not in text(plan("vllm", {"concurrency": 100}))


def test_vllm_deals_experts_out() -> None:
    launch_plan = plan("vllm", {"concurrency": 600}, split=Split(4, 1, 2, 8))
    assert text(launch_plan) == (
        "vllm serve org/model \\\n"
        "  --max-model-len 8192 \\\n"
        "  --max-num-seqs 300 \\\n"  # of each data-parallel rank: half of the users
        "  --gpu-memory-utilization 0.92 \\\n"
        "  --tensor-parallel-size 4 \\\n"
        "  --data-parallel-size 2 \\\n"
        "  --enable-expert-parallel"
    )
    assert text(plan("vllm", split=Split(8, 1, 1, 8))).endswith(
        "  --tensor-parallel-size 8 \\\n  --enable-expert-parallel"
    )
    assert "--max-num-seqs" not in text(plan("vllm", {"concurrency": 512}, split=launch_plan.split))
    assert "--max-num-seqs 257" in text(plan("vllm", {"concurrency": 513}, split=launch_plan.split))


def test_sglang_deals_experts_out() -> None:
    limits = {"concurrency": 131, "max_num_batched_tokens": 4096}
    launch_plan = plan("sglang", limits, split=Split(4, 1, 2, 8), utilization=0.88)
    assert text(launch_plan) == (
        "python -m sglang.launch_server \\\n"
        "  --model-path org/model \\\n"
        "  --context-length 8192 \\\n"
        "  --max-running-requests 132 \\\n"  # two data-parallel ranks of 66 each
        "  --chunked-prefill-size 8192 \\\n"
        "  --mem-fraction-static 0.88 \\\n"
        "  --tp-size 8 \\\n"
        "  --dp-size 2 \\\n"
        "  --enable-dp-attention \\\n"
        "  --ep-size 8"
    )
    alone = text(plan("sglang", split=Split(8, 1, 1, 8)))
    assert alone.endswith("  --tp-size 8 \\\n  --ep-size 8")


def test_sglang_divides_its_chunk_among_data_ranks() -> None:
    """The estimate has 8,192 tokens a step on each of two ranks of large cards: 16,384 in all."""
    fields = {"model": "deepseek-ai/DeepSeek-R1", "quant": "native", "engine": "sglang"}

    def of(gpu: str, **more: Any) -> str:
        report = size(embedded_sizer(), {**fields, "gpu": gpu, **more})
        command = launch_command(report.profile, report.ranking[0].fit, report.workload)
        assert command is not None
        return command.text

    assert "  --chunked-prefill-size 16384 \\\n" in of("h200 sxm", expert_parallel=16)
    # 32 ranks, eight of them in each data-parallel one, on cards of 48 GB: 4 x 2,048
    assert "  --chunked-prefill-size 8192 \\\n" in of("l40s", expert_parallel=32)
    limited = of("h200 sxm", expert_parallel=16, max_num_batched_tokens=4096)
    assert "  --chunked-prefill-size 8192 \\\n" in limited
    assert "--chunked-prefill-size" not in of("h200 sxm", tensor_parallel=8)


def test_sglang() -> None:
    launch_plan = plan(
        "sglang",
        {"kv_dtype": "fp8", "concurrency": 100, "enforce_eager": True},
        split=Split(2),
        utilization=0.88,
    )
    assert text(launch_plan) == (
        "python -m sglang.launch_server \\\n"
        "  --model-path org/model \\\n"
        "  --context-length 8192 \\\n"
        "  --max-running-requests 100 \\\n"
        "  --mem-fraction-static 0.88 \\\n"
        "  --tp-size 2 \\\n"
        "  --kv-cache-dtype fp8_e4m3 \\\n"
        "  --disable-cuda-graph"
    )


def test_tgi() -> None:
    launch_plan = plan(
        "tgi",
        {"concurrency": 4},
        split=Split(2),
        utilization=1.0,
        stored=False,
        quant="bnb-nf4",
        quant_name="bitsandbytes NF4",
    )
    assert text(launch_plan) == (
        "docker run --gpus all --shm-size 1g -p 8080:80 -e HF_TOKEN -v hf-cache:/data"
        " ghcr.io/huggingface/text-generation-inference:3.3.5 \\\n"
        "  --model-id org/model \\\n"
        "  --max-total-tokens 8192 \\\n"
        "  --max-input-tokens 8191 \\\n"
        "  --max-batch-total-tokens 32768 \\\n"
        "  --cuda-memory-fraction 1 \\\n"
        "  --num-shard 2 \\\n"
        "  --quantize bitsandbytes-nf4"
    )


def test_tensorrt_llm() -> None:
    launch_plan = plan(
        "tensorrt-llm",
        {"kv_dtype": "fp8", "enforce_eager": True, "concurrency": 8},
        utilization=0.9,
    )
    assert text(launch_plan) == (
        "printf '%s\\n' 'kv_cache_config: {dtype: fp8}' 'cuda_graph_config: null'"
        " > trtllm-options.yaml\n"
        "trtllm-serve org/model \\\n"
        "  --backend pytorch \\\n"
        "  --max_seq_len 8192 \\\n"
        "  --max_batch_size 8 \\\n"
        "  --kv_cache_free_gpu_memory_fraction 0.9 \\\n"
        "  --extra_llm_api_options trtllm-options.yaml"
    )
