"""Launch commands of llama.cpp, Ollama, MLX, transformers and diffusers."""

from __future__ import annotations

from typing import Any

import pytest

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
