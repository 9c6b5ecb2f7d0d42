"""Launch commands of llama.cpp, Ollama, MLX, transformers and diffusers."""

from __future__ import annotations

from gpusizer.memory.engines import Split
from tests.launch_plans import GGUF, codes, plan, text


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
    assert text(launch_plan) == (
        "llama-server -hf org/m-GGUF:Q4_K_M \\\n"
        "  --ctx-size 32768 \\\n"  # of four slots together
        "  --parallel 4 \\\n"
        "  --gpu-layers 20 \\\n"
        "  --cpu-moe \\\n"
        "  --no-mmproj \\\n"
        "  --split-mode layer \\\n"
        "  --flash-attn on \\\n"
        "  --spec-type draft-mtp \\\n"
        "  --spec-draft-n-max 2 \\\n"
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
