"""Commands for chosen plans: exact, quoted, with what was computed and nothing else."""

from __future__ import annotations

import ast
import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.engines import ENGINES, Split
from gpusizer.errors import InvalidModelId
from gpusizer.fit import Verdict
from gpusizer.launch import LAUNCHERS, LaunchCommand, LaunchPlan, launch_command, launch_ranked
from gpusizer.notes import Note
from gpusizer.text import LANGUAGES, say_note
from gpusizer.workload import Workload
from tests.sizers import embedded_sizer

PLAN = LaunchPlan(
    repo_id="org/model", revision=None, format="safetensors", task="text-generation",
    stored=True, quantized=False, quant="bf16", quant_name="BF16 / FP16", engine="vllm",
    stack="CUDA", split=Split(), utilization=0.92, workload=Workload(context=8192),
)  # fmt: skip


def plan(engine: str, workload: dict[str, Any] | None = None, **changes: Any) -> LaunchPlan:
    load = replace(PLAN.workload, **(workload or {}))
    return replace(PLAN, engine=engine, workload=load, **changes)


def text(made: LaunchPlan) -> str:
    return LAUNCHERS[made.engine](made).text


def codes(made: LaunchPlan) -> list[str]:
    return [note.code for note in LAUNCHERS[made.engine](made).notes]


def test_vllm() -> None:
    assert text(PLAN) == (
        "vllm serve org/model \\\n  --max-model-len 8192 \\\n  --gpu-memory-utilization 0.92"
    )
    full = plan(
        "vllm",
        {
            "context": 32768, "max_num_seqs": 64, "max_num_batched_tokens": 4096,
            "kv_dtype": "fp8", "enforce_eager": True, "text_only": True, "draft_tokens": 2,
        },
        revision="v1.0", split=Split(4, 2), stored=False, quant="fp8", quant_name="FP8 (W8A8)",
    )  # fmt: skip
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
        "  --enforce-eager \\\n"
        "  --language-model-only \\\n"
        '  --speculative-config \'{"method": "mtp", "num_speculative_tokens": 2}\''
    )


def test_vllm_schedules_as_many_as_were_planned_for() -> None:
    assert "--max-num-seqs 300" in text(plan("vllm", {"concurrency": 300}))
    assert "--max-num-seqs" not in text(plan("vllm", {"concurrency": 100}))


def test_vllm_deals_experts_out() -> None:
    made = plan("vllm", {"concurrency": 600}, split=Split(4, 1, 2, 8))
    assert text(made) == (
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
    assert "--max-num-seqs" not in text(plan("vllm", {"concurrency": 512}, split=made.split))
    assert "--max-num-seqs 257" in text(plan("vllm", {"concurrency": 513}, split=made.split))


def test_sglang_deals_experts_out() -> None:
    limits = {"concurrency": 131, "max_num_batched_tokens": 4096}
    made = plan("sglang", limits, split=Split(4, 1, 2, 8), utilization=0.88)
    assert text(made) == (
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
        made = launch_ranked(report.profile, report.ranking[0], report.workload)
        assert made is not None
        return made.text

    assert "  --chunked-prefill-size 16384 \\\n" in of("h200 sxm", expert_parallel=16)
    # 32 ranks, eight of them in each data-parallel one, on cards of 48 GB: 4 x 2,048
    assert "  --chunked-prefill-size 8192 \\\n" in of("l40s", expert_parallel=32)
    asked = of("h200 sxm", expert_parallel=16, max_num_batched_tokens=4096)
    assert "  --chunked-prefill-size 8192 \\\n" in asked
    assert "--chunked-prefill-size" not in of("h200 sxm", tensor_parallel=8)


def test_sglang() -> None:
    made = plan(
        "sglang", {"kv_dtype": "fp8", "concurrency": 100, "enforce_eager": True},
        split=Split(2), utilization=0.88,
    )  # fmt: skip
    assert text(made) == (
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
    made = plan(
        "tgi", {"concurrency": 4}, split=Split(2), utilization=1.0,
        stored=False, quant="bnb-nf4", quant_name="bitsandbytes NF4",
    )  # fmt: skip
    assert text(made) == (
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
    made = plan(
        "tensorrt-llm", {"kv_dtype": "fp8", "enforce_eager": True, "concurrency": 8},
        utilization=0.9,
    )  # fmt: skip
    assert text(made) == (
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
    made = plan(
        "llama.cpp",
        {"concurrency": 4, "kv_dtype": "q8_0/f16", "ubatch_size": 256, "cpu_moe": True,
         "gpu_layers": 20},
        split=Split(pipeline=2), **GGUF,
    )  # fmt: skip
    assert text(made) == (
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
    assert codes(made) == []


def test_llama_cpp_without_a_gguf_file() -> None:
    made = plan("llama.cpp", stored=False, quant="q4_k_m", quant_name="GGUF Q4_K_M")
    assert text(made).startswith("llama-server -hf OWNER/NAME-GGUF:Q4_K_M \\\n")
    assert codes(made) == ["launch_needs_gguf"]


def test_ollama() -> None:
    made = plan("ollama", {"kv_dtype": "q8_0", "concurrency": 2}, **GGUF)
    assert text(made) == (
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
    made = plan("mlx", {"concurrency": 4}, stored=False, quant="mlx-4bit", quant_name="MLX 4-bit")
    assert text(made) == (
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
        made = plan(engine, **{**changes, "revision": "v2"})
        told = [n for n in LAUNCHERS[engine](made).notes if n.code == "launch_no_revision"]
        deaf = engine in ("llama.cpp", "ollama", "mlx")
        assert told == ([Note("launch_no_revision", engine=engine, revision="v2")] if deaf else [])
        assert ("v2" in text(made)) is not deaf
        assert "launch_no_revision" not in codes(replace(made, revision=None))


def test_transformers() -> None:
    made = plan("transformers", stored=False, quant="bnb-nf4-dq", quant_name="NF4")
    assert text(made) == (
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
def test_what_nobody_makes_while_loading_needs_another_repository(engine: str) -> None:
    made = plan(engine, stored=False, quant="awq-int4-g128", quant_name="AWQ INT4 g128")
    assert codes(made) == ["launch_needs_repository"]
    original = plan(engine, stored=False, quantized=True, quant="fp8", quant_name="FP8")
    assert codes(original) == ["launch_needs_repository"]


def test_a_quantized_checkpoint_needs_no_option() -> None:
    made = plan("vllm", quantized=True, quant="awq-int4-g128", quant_name="AWQ")
    assert "--quantization" not in text(made) and codes(made) == []


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tgi", "tensorrt-llm", "ollama", "mlx"])
def test_a_cache_the_engine_has_no_word_for(engine: str) -> None:
    assert "launch_cache_type" in codes(plan(engine, {"kv_dtype": "q5_1"}))


def test_stored_in_32_bits_stays_so() -> None:
    made = plan("vllm", quant="fp32", quant_name="FP32")
    assert "--dtype float32" in text(made)


@given(
    st.sampled_from(sorted(LAUNCHERS)),
    st.text(max_size=40),
    st.booleans(),
    st.sampled_from(["auto", "fp8", "q8_0", "f16", "q8_0/f16"]),
)
@settings(max_examples=150, deadline=None)
def test_names_from_strangers_stay_one_word(
    engine: str, name: str, gguf: bool, kv_dtype: str
) -> None:
    """Whatever stands in a name or a revision, a shell or Python reads it back as that name."""
    repo = f"org/x{name}"
    made = plan(
        engine, {"kv_dtype": kv_dtype}, repo_id=repo, revision=f"r{name}",
        format="gguf" if gguf else "safetensors",
    )  # fmt: skip
    command = LAUNCHERS[engine](made)
    if command.language == "python":
        tree = ast.walk(ast.parse(command.text))
        strings = [node.value for node in tree if isinstance(node, ast.Constant)]
        assert repo in strings and f"r{name}" in strings
    elif engine not in ("llama.cpp", "ollama"):
        assert repo in shlex.split(command.text, comments=False)
    elif gguf:
        assert any(repo in word for word in shlex.split(command.text, comments=False))
    assert LaunchCommand.from_json(json.loads(json.dumps(command.to_json()))) == command
    assert LaunchPlan.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_of_a_ranking() -> None:
    report = embedded_sizer().size(
        {"model": "Qwen/Qwen3-8B", "gpu": "4090", "quant": "bf16", "engine": "vllm",
         "context": 16384, "kv_dtype": "fp8"}
    )  # fmt: skip
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
def test_notes_are_said(language: Any) -> None:
    made = plan(
        "llama.cpp", {"kv_dtype": "fp8"}, stored=False, quant_name="GGUF Q4_K_M", revision="v2"
    )
    notes = LAUNCHERS["llama.cpp"](made).notes
    assert len(notes) == 3 and all(say_note(note, language) for note in notes)
    assert "v2" in say_note(notes[1], language)
    first, headless = LAUNCHERS["vllm"](plan("vllm", split=Split(8, 2), nodes=2)).notes
    for said in ("2", "--node-rank", "0, 1", "HEAD_NODE"):
        assert said in say_note(first, language)
    assert "--headless" in say_note(headless, language)
    one = LAUNCHERS["ollama"](plan("ollama", nodes=2, **GGUF)).notes[0]
    assert "2" in say_note(one, language) and "ollama" in say_note(one, language)
