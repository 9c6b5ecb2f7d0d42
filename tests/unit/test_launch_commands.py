"""Launch commands of servers and of programs on one's own computer, word for word."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.memory.engines import Split
from tests.asking import size
from tests.launch_plans import GGUF, PLAN, codes, command_of, flat, plan, text
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
    assert flat(full) == (
        "vllm serve org/model --revision v1.0 --max-model-len 32768 --max-num-seqs 64 "
        "--max-num-batched-tokens 4096 --gpu-memory-utilization 0.92 --tensor-parallel-size 4 "
        "--pipeline-parallel-size 2 --quantization fp8 --kv-cache-dtype fp8 --enable-lora "
        "--max-loras 2 --max-lora-rank 64 --enforce-eager --enable-prefix-caching "
        '--language-model-only --speculative-config \'{"method": "mtp", '
        '"num_speculative_tokens": 2}\''
    )


def test_vllm_is_held_to_the_sequences_that_it_starts_with() -> None:
    assert "  --max-num-seqs 939 \\\n" in text(replace(plan("vllm"), most_sequences=939))
    asked = replace(plan("vllm", {"max_num_seqs": 64}), most_sequences=939)
    assert "  --max-num-seqs 64 \\\n" in text(asked)
    beyond = replace(plan("vllm", {"max_num_seqs": 2048}), most_sequences=939)
    assert "  --max-num-seqs 939 \\\n" in text(beyond)
    fields = {"model": "Qwen/Qwen3.5-27B", "engine": "vllm", "quant": "native"}
    report = size(embedded_sizer(), {**fields, "gpu": "rtx-pro-6000"})
    held = re.search(r"--max-num-seqs (\d{3}) ", command_of(report).text)
    assert held
    said = [n.fields for n in report.ranking[0].reasons if n.code == "sequences_at_start"]
    assert [(fields["sure"], fields["asked"]) for fields in said] == [(int(held[1]), 1024)]


def test_vllm_is_told_not_to_keep_prefixes() -> None:
    assert text(plan("vllm", {"prefix_caching": False})).endswith("--no-enable-prefix-caching")
    assert "prefix-caching" not in text(plan("vllm"))


def test_vllm_schedules_as_many_as_were_planned_for() -> None:
    assert "--max-num-seqs 300" in text(plan("vllm", {"concurrency": 300}))
    assert "--max-num-seqs" not in text(plan("vllm", {"concurrency": 100}))


def test_vllm_deals_experts_out() -> None:
    launch_plan = plan("vllm", {"concurrency": 600}, split=Split(4, 1, 2, 8))
    # of each data-parallel rank: half of the users
    assert flat(launch_plan) == (
        "vllm serve org/model --max-model-len 8192 --max-num-seqs 300 --gpu-memory-utilization "
        "0.92 --tensor-parallel-size 4 --data-parallel-size 2 --enable-expert-parallel"
    )
    assert text(plan("vllm", split=Split(8, 1, 1, 8))).endswith(
        "  --tensor-parallel-size 8 \\\n  --enable-expert-parallel"
    )
    assert "--max-num-seqs" not in text(plan("vllm", {"concurrency": 512}, split=launch_plan.split))
    assert "--max-num-seqs 257" in text(plan("vllm", {"concurrency": 513}, split=launch_plan.split))


def test_sglang_deals_experts_out() -> None:
    limits = {"concurrency": 131, "max_num_batched_tokens": 4096}
    launch_plan = plan("sglang", limits, split=Split(4, 1, 2, 8), utilization=0.88)
    # two data-parallel ranks of 66 each
    assert flat(launch_plan) == (
        "python -m sglang.launch_server --model-path org/model --context-length 8192 "
        "--max-running-requests 132 --chunked-prefill-size 8192 --mem-fraction-static 0.88 "
        "--tp-size 8 --dp-size 2 --enable-dp-attention --ep-size 8"
    )
    alone = text(plan("sglang", split=Split(8, 1, 1, 8)))
    assert alone.endswith("  --tp-size 8 \\\n  --ep-size 8")


def test_sglang_divides_its_chunk_among_data_ranks() -> None:
    """The estimate has 8,192 tokens a step on each of two ranks of large cards: 16,384 in all."""
    fields = {"model": "deepseek-ai/DeepSeek-R1", "quant": "native", "engine": "sglang"}

    def of(gpu: str, **more: Any) -> str:
        report = size(embedded_sizer(), {**fields, "gpu": gpu, **more})
        return command_of(report).text

    assert "  --chunked-prefill-size 16384 \\\n" in of("h200 sxm", expert_parallel=16)
    # 32 ranks, eight of them in each data-parallel one, on cards of 48 GB: 4 x 2,048
    assert "  --chunked-prefill-size 8192 \\\n" in of("l40s", expert_parallel=32)
    limited = of("h200 sxm", expert_parallel=16, max_num_batched_tokens=4096)
    assert "  --chunked-prefill-size 8192 \\\n" in limited
    assert "--chunked-prefill-size" not in of("h200 sxm", tensor_parallel=8)


def test_sglang_runs_the_draft_layers_of_a_checkpoint() -> None:
    """As SGLang's documents start DeepSeek's: three steps, one chain, four tokens to verify."""
    assert flat(plan("sglang", {"draft_tokens": 3}, utilization=0.88)).endswith(
        "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4"
    )


def test_sglang() -> None:
    launch_plan = plan(
        "sglang",
        {"kv_dtype": "fp8", "concurrency": 100, "enforce_eager": True},
        split=Split(2),
        utilization=0.88,
    )
    assert flat(launch_plan) == (
        "python -m sglang.launch_server --model-path org/model --context-length 8192 "
        "--max-running-requests 100 --mem-fraction-static 0.88 --tp-size 2 --kv-cache-dtype "
        "fp8_e4m3 --disable-cuda-graph"
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
    assert flat(launch_plan) == (
        "docker run --gpus all --shm-size 1g -p 8080:80 -e HF_TOKEN -v hf-cache:/data "
        "ghcr.io/huggingface/text-generation-inference:3.3.5 --model-id org/model "
        "--max-total-tokens 8192 --max-input-tokens 8191 --max-batch-total-tokens 32768 "
        "--cuda-memory-fraction 1 --num-shard 2 --quantize bitsandbytes-nf4"
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


def test_llama_cpp() -> None:
    launch_plan = plan(
        "llama.cpp",
        {
            "concurrency": 4,
            "kv_dtype": "q8_0/f16",
            "ubatch_size": 256,
            "cpu_moe": True,
            "gpu_layers": 20,
            "text_only": True,
            "draft_tokens": 2,
        },
        split=Split(pipeline=2),
        **GGUF,
    )
    # of four slots together
    assert flat(launch_plan) == (
        "llama-server -hf org/m-GGUF:Q4_K_M --ctx-size 32768 --parallel 4 --gpu-layers 20 "
        "--cpu-moe --no-mmproj --split-mode layer --flash-attn on --spec-type draft-mtp "
        "--spec-draft-n-max 2 --cache-type-k q8_0 --cache-type-v f16 --ubatch-size 256"
    )
    assert codes(launch_plan) == []


def test_llama_cpp_without_a_gguf_file() -> None:
    launch_plan = plan("llama.cpp", stored=False, quant="q4_k_m", quant_name="GGUF Q4_K_M")
    assert text(launch_plan).split(" \\\n")[0].splitlines() == [
        "git clone --depth 1 https://github.com/ggml-org/llama.cpp",
        "pip install -r llama.cpp/requirements/requirements-convert_hf_to_gguf.txt",
        "python llama.cpp/convert_hf_to_gguf.py --remote org/model --outtype bf16"
        " --outfile model-BF16.gguf",
        "llama-quantize model-BF16.gguf model-Q4_K_M.gguf Q4_K_M",
        "llama-server -m model-Q4_K_M.gguf",
    ]
    assert codes(launch_plan) == ["launch_makes_gguf"]


def test_llama_cpp_makes_the_files_that_were_sized() -> None:
    made = {"stored": False, "quant": "bf16", "quant_name": "BF16 / FP16"}
    assert "llama-quantize" not in text(plan("llama.cpp", **made))
    assert "llama-server -m model-BF16.gguf" in text(plan("llama.cpp", **made))
    wide = {"stored": False, "quant": "q4_k_l", "quant_name": "GGUF Q4_K_L"}
    assert (
        "llama-quantize --token-embedding-type q8_0 --output-tensor-type q8_0 model-BF16.gguf"
        " model-Q4_K_L.gguf Q4_K_M\n" in text(plan("llama.cpp", **wide))
    )
    sees = text(plan("llama.cpp", task="image-text-to-text", **wide))
    assert "--mmproj --outfile model-mmproj.gguf\n" in sees
    assert "  --mmproj model-mmproj.gguf \\\n" in sees
    blind = plan("llama.cpp", {"text_only": True}, task="image-text-to-text", **wide)
    assert "mmproj.gguf" not in text(blind)


@pytest.mark.parametrize(
    "changes",
    [
        {"quant": "iq2_xs", "quant_name": "GGUF IQ2_XS"},  # refused without an importance matrix
        {"quant": "q4_k_m@unsloth", "quant_name": "GGUF Q4_K_M by unsloth"},
        {"quant": "q4_k_m", "quant_name": "GGUF Q4_K_M", "quantized": True},
    ],
)
@pytest.mark.parametrize("engine", ["llama.cpp", "ollama"])
def test_a_file_that_cannot_be_made_is_said_to_be_missing(
    engine: str, changes: dict[str, Any]
) -> None:
    assert codes(plan(engine, stored=False, **changes)) == ["launch_needs_gguf"]


def test_ollama_makes_a_file_too() -> None:
    made = plan("ollama", stored=False, quant="q4_k_m", quant_name="GGUF Q4_K_M")
    assert text(made).splitlines()[-3:] == [
        "printf '%s\\n' 'FROM ./model-Q4_K_M.gguf' > Modelfile",
        "ollama create model -f Modelfile",
        "ollama run model",
    ]


def test_ollama() -> None:
    launch_plan = plan("ollama", {"kv_dtype": "q8_0", "concurrency": 2}, **GGUF)
    assert text(launch_plan) == (
        "OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_NUM_PARALLEL=2 OLLAMA_FLASH_ATTENTION=1"
        " OLLAMA_KV_CACHE_TYPE=q8_0 ollama serve &\n"
        "ollama run hf.co/org/m-GGUF:Q4_K_M"
    )
    partial = plan("ollama", {"gpu_layers": 12}, **GGUF)
    assert text(partial).splitlines()[1:] == [
        "printf '%s\\n' 'FROM hf.co/org/m-GGUF:Q4_K_M' 'PARAMETER num_gpu 12' > Modelfile",
        "ollama create m-gguf -f Modelfile",
        "ollama run m-gguf",
    ]


def test_mlx() -> None:
    launch_plan = plan(
        "mlx", {"concurrency": 4}, stored=False, quant="mlx-4bit", quant_name="MLX 4-bit"
    )
    assert text(launch_plan) == (
        "mlx_lm.convert \\\n"
        "  --hf-path org/model \\\n"
        "  --mlx-path model-mlx-4bit \\\n"
        "  --quantize \\\n"
        "  --q-bits 4 \\\n"
        "  --q-group-size 64\n"
        "mlx_lm.server \\\n"
        "  --model model-mlx-4bit \\\n"
        "  --decode-concurrency 4"
    )
    assert text(plan("mlx")) == "mlx_lm.server \\\n  --model org/model"
    assert codes(plan("mlx")) == ["launch_no_flag"]


def test_transformers() -> None:
    launch_plan = plan("transformers", stored=False, quant="bnb-nf4-dq", quant_name="NF4")
    assert text(launch_plan) == (
        "import torch\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig\n"
        "\n"
        'model_id = "org/model"\n'
        "tokenizer = AutoTokenizer.from_pretrained(model_id)\n"
        "model = AutoModelForCausalLM.from_pretrained(\n"
        "    model_id,\n"
        "    dtype=torch.bfloat16,\n"
        '    device_map="auto",\n'
        '    attn_implementation="sdpa",\n'
        "    quantization_config=BitsAndBytesConfig(load_in_4bit=True,"
        ' bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,'
        " bnb_4bit_compute_dtype=torch.bfloat16),\n"
        ")\n"
        'inputs = tokenizer(["Hello"], return_tensors="pt").to(model.device)\n'
        "outputs = model.generate(**inputs, max_length=8192)\n"
        "print(tokenizer.batch_decode(outputs, skip_special_tokens=True))"
    )


def test_diffusers() -> None:
    assert text(plan("diffusers", stack="Metal", revision="v2")) == (
        "import torch\n"
        "from diffusers import DiffusionPipeline\n"
        "\n"
        "pipe = DiffusionPipeline.from_pretrained(\n"
        '    "org/model",\n'
        '    revision="v2",\n'
        "    torch_dtype=torch.bfloat16,\n"
        ")\n"
        'pipe.to("mps")\n'
        'pipe("a lighthouse at dusk").images[0].save("image.png")'
    )


def test_diffusers_in_fp8() -> None:
    """TorchAO makes it while it loads, of the components that were sized so: not of the VAE."""
    parts = ("text_encoder", "transformer")
    assert text(plan("diffusers", stored=False, quant="fp8", narrowed=parts)) == (
        "import diffusers\n"
        "import torch\n"
        "import transformers\n"
        "from diffusers import DiffusionPipeline\n"
        "from diffusers.quantizers import PipelineQuantizationConfig\n"
        "from torchao.quantization import Float8WeightOnlyConfig\n"
        "\n"
        "pipe = DiffusionPipeline.from_pretrained(\n"
        '    "org/model",\n'
        "    torch_dtype=torch.bfloat16,\n"
        "    quantization_config=PipelineQuantizationConfig(\n"
        "        quant_mapping={\n"
        '            "text_encoder": transformers.TorchAoConfig(Float8WeightOnlyConfig()),\n'
        '            "transformer": diffusers.TorchAoConfig(Float8WeightOnlyConfig()),\n'
        "        },\n"
        "    ),\n"
        ")\n"
        'pipe.to("cuda")\n'
        'pipe("a lighthouse at dusk").images[0].save("image.png")'
    )


def test_flux_in_fp8_narrows_both_encoders_and_the_transformer() -> None:
    fields = {"model": "black-forest-labs/FLUX.1-dev", "quant": "fp8", "gpu": "4090"}
    command = command_of(size(embedded_sizer(), fields))
    compile(command.text, "flux", "exec")
    assert command.notes == ()
    named = ("text_encoder", "text_encoder_2", "transformer", "vae")
    assert [f'"{name}": ' in command.text for name in named] == [True, True, True, False]
