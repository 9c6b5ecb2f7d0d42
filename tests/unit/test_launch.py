"""Commands for chosen plans: exact text, quoting, and only options that were computed."""

from __future__ import annotations

import ast
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.answers.launch import LAUNCHERS, LaunchPlan, launch_command, launch_ranked
from gpusizer.core.errors import InvalidModelId
from gpusizer.core.messages import Note
from gpusizer.fit.fit import Verdict
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.workload import Workload
from gpusizer.text import LANGUAGES, say_note
from tests.sizers import embedded_sizer

PLAN = LaunchPlan(
    repo_id="org/model",
    revision=None,
    format="safetensors",
    task="text-generation",
    stored=True,
    quantized=False,
    quant="bf16",
    quant_name="BF16 / FP16",
    engine="vllm",
    stack="CUDA",
    split=Split(),
    utilization=0.92,
    workload=Workload(context=8192),
)


def plan(engine: str, workload: dict[str, Any] | None = None, **changes: Any) -> LaunchPlan:
    load = replace(PLAN.workload, **(workload or {}))
    return replace(PLAN, engine=engine, workload=load, **changes)


def text(launch_plan: LaunchPlan) -> str:
    return LAUNCHERS[launch_plan.engine](launch_plan).text


def codes(launch_plan: LaunchPlan) -> list[str]:
    return [note.code for note in LAUNCHERS[launch_plan.engine](launch_plan).notes]


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
        report = embedded_sizer().size({**fields, "gpu": gpu, **more})
        command = launch_ranked(report.profile, report.ranking[0], report.workload)
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


GGUF = {"format": "gguf", "quant": "q4_k_m", "quant_name": "GGUF Q4_K_M", "repo_id": "org/m-GGUF"}


def test_llama_cpp() -> None:
    launch_plan = plan(
        "llama.cpp",
        {
            "concurrency": 4,
            "kv_dtype": "q8_0/f16",
            "ubatch_size": 256,
            "cpu_moe": True,
            "gpu_layers": 20,
        },
        split=Split(pipeline=2),
        **GGUF,
    )
    assert text(launch_plan) == (
        "llama-server -hf org/m-GGUF:Q4_K_M \\\n"
        "  --ctx-size 32768 \\\n"  # of four slots together
        "  --parallel 4 \\\n"
        "  --gpu-layers 20 \\\n"
        "  --cpu-moe \\\n"
        "  --split-mode layer \\\n"
        "  --flash-attn on \\\n"
        "  --cache-type-k q8_0 \\\n"
        "  --cache-type-v f16 \\\n"
        "  --ubatch-size 256"
    )
    assert codes(launch_plan) == []


def test_llama_cpp_without_a_gguf_file() -> None:
    launch_plan = plan("llama.cpp", stored=False, quant="q4_k_m", quant_name="GGUF Q4_K_M")
    assert text(launch_plan).startswith("llama-server -hf OWNER/NAME-GGUF:Q4_K_M \\\n")
    assert codes(launch_plan) == ["launch_needs_gguf"]


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


@pytest.mark.parametrize("engine", sorted(LAUNCHERS))
def test_a_revision_is_loaded_or_said_not_to_be(engine: str) -> None:
    for changes in (GGUF, {}, {"stored": False, "quant": "mlx-4bit", "quant_name": "MLX 4-bit"}):
        launch_plan = plan(engine, **{**changes, "revision": "v2"})
        notes = [n for n in LAUNCHERS[engine](launch_plan).notes if n.code == "launch_no_revision"]
        deaf = engine in ("llama.cpp", "ollama", "mlx")
        assert notes == ([Note("launch_no_revision", engine=engine, revision="v2")] if deaf else [])
        assert ("v2" in text(launch_plan)) is not deaf
        assert "launch_no_revision" not in codes(replace(launch_plan, revision=None))


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


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "transformers"])
def test_a_quantization_that_engines_cannot_make_needs_another_repository(engine: str) -> None:
    launch_plan = plan(engine, stored=False, quant="awq-int4-g128", quant_name="AWQ INT4 g128")
    assert codes(launch_plan) == ["launch_needs_repository"]
    original = plan(engine, stored=False, quantized=True, quant="fp8", quant_name="FP8")
    assert codes(original) == ["launch_needs_repository"]


def test_a_quantized_checkpoint_needs_no_option() -> None:
    launch_plan = plan("vllm", quantized=True, quant="awq-int4-g128", quant_name="AWQ")
    assert "--quantization" not in text(launch_plan) and codes(launch_plan) == []


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "ollama", "mlx"])
def test_a_cache_type_that_the_engine_lacks_leaves_a_note(engine: str) -> None:
    assert "launch_cache_type" in codes(plan(engine, {"kv_dtype": "q5_1"}))


def test_a_checkpoint_in_32_bits_stays_in_32_bits() -> None:
    launch_plan = plan("vllm", quant="fp32", quant_name="FP32")
    assert "--dtype float32" in text(launch_plan)


@given(
    st.sampled_from(sorted(LAUNCHERS)),
    st.text(max_size=40),
    st.booleans(),
    st.sampled_from(["auto", "fp8", "q8_0", "f16", "q8_0/f16"]),
)
@settings(max_examples=150, deadline=None)
def test_untrusted_names_are_quoted_as_one_word(
    engine: str, name: str, gguf: bool, kv_dtype: str
) -> None:
    """A shell or Python parses any name or revision in a command back to the same text."""
    repo = f"org/x{name}"
    launch_plan = plan(
        engine,
        {"kv_dtype": kv_dtype},
        repo_id=repo,
        revision=f"r{name}",
        format="gguf" if gguf else "safetensors",
    )
    command = LAUNCHERS[engine](launch_plan)
    if command.language == "python":
        tree = ast.walk(ast.parse(command.text))
        strings = [node.value for node in tree if isinstance(node, ast.Constant)]
        assert repo in strings and f"r{name}" in strings
    elif engine not in ("llama.cpp", "ollama"):
        assert repo in shlex.split(command.text, comments=False)
    elif gguf:
        assert any(repo in word for word in shlex.split(command.text, comments=False))


def test_a_place_of_a_ranking_gets_its_command() -> None:
    report = embedded_sizer().size(
        {
            "model": "Qwen/Qwen3-8B",
            "gpu": "4090",
            "quant": "bf16",
            "engine": "vllm",
            "context": 16384,
            "kv_dtype": "fp8",
        }
    )
    command = launch_ranked(report.profile, report.ranking[0], report.workload)
    assert command is not None
    assert command.text == (
        "vllm serve Qwen/Qwen3-8B \\\n"
        "  --max-model-len 16384 \\\n"
        f"  --gpu-memory-utilization {report.ranking[0].fit.estimate.utilization:g} \\\n"
        "  --kv-cache-dtype fp8"
    )


def test_part_of_the_model_in_system_memory() -> None:
    report = embedded_sizer().size(
        {"model": "Qwen/Qwen3-14B", "gpu": "rtx-3060-12gb", "quant": "q8_0", "gpu_count": 1}
    )
    ranked = report.ranking[0]
    assert ranked.fit.verdict is Verdict.OFFLOAD
    layers = next(n.fields["layers"] for n in ranked.reasons if n.code == "layers_that_fit")
    command = launch_ranked(report.profile, ranked, report.workload)
    assert command is not None and f"  --gpu-layers {layers} \\\n" in command.text
    whole = launch_command(report.profile, ranked.fit, report.workload)
    assert whole is not None and "  --gpu-layers all \\\n" in whole.text


def test_an_impossible_name_gets_no_command() -> None:
    report = embedded_sizer().size({"model": "gpt2", "gpu": "4090"})
    profile = replace(report.profile, repo_id="x; rm -rf ~")
    with pytest.raises(InvalidModelId):
        launch_command(profile, report.ranking[0].fit, report.workload)


def test_every_engine_but_exllama_has_a_command() -> None:
    assert set(ENGINES) - set(LAUNCHERS) == {"exllama"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_notes_have_sentences(language: Any) -> None:
    launch_plan = plan(
        "llama.cpp", {"kv_dtype": "fp8"}, stored=False, quant_name="GGUF Q4_K_M", revision="v2"
    )
    notes = LAUNCHERS["llama.cpp"](launch_plan).notes
    assert len(notes) == 3 and all(say_note(note, language) for note in notes)
    assert "v2" in say_note(notes[1], language)
    first, headless = LAUNCHERS["vllm"](plan("vllm", split=Split(8, 2), nodes=2)).notes
    for word in ("2", "--node-rank", "0, 1", "HEAD_NODE"):
        assert word in say_note(first, language)
    assert "--headless" in say_note(headless, language)
    ollama_note = LAUNCHERS["ollama"](plan("ollama", nodes=2, **GGUF)).notes[0]
    assert "2" in say_note(ollama_note, language) and "ollama" in say_note(ollama_note, language)
