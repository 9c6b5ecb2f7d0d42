"""Python snippets for transformers 5 with accelerate, and for diffusers 0.34 and later.

`dtype` has this name since transformers 4.56; `PipelineQuantizationConfig` is of diffusers 0.34,
its TorchAO of 0.36 (pull request 12275).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.core.messages import Note
from gpusizer.launch.base import LaunchCommand, LaunchPlan, literal

# Task -> transformers' class that loads the model, if it is not AutoModelForCausalLM.
_CLASSES = {
    "image-text-to-text": "AutoModelForImageTextToText",
    "feature-extraction": "AutoModel",
    "sentence-similarity": "AutoModel",
    "text2text-generation": "AutoModelForSeq2SeqLM",
    "translation": "AutoModelForSeq2SeqLM",
    "summarization": "AutoModelForSeq2SeqLM",
    "fill-mask": "AutoModelForMaskedLM",
    "text-classification": "AutoModelForSequenceClassification",
    "text-ranking": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
}
_ENCODES = "AutoModel"
_HEARS = "AutoModelForSpeechSeq2Seq"
# What modes of `cpu_offload` call in place of `to` (docs/source/en/optimization/memory.md).
_TURNS = {"model": "enable_model_cpu_offload", "sequential": "enable_sequential_cpu_offload"}
_NF4 = {"load_in_4bit": "True", "bnb_4bit_quant_type": '"nf4"'}
_COMPUTED = {"bnb_4bit_compute_dtype": "torch.bfloat16"}
# Settings of bitsandbytes, as Python, by the quantization that it makes while it loads.
_BITS = {
    "bnb-int8": {"load_in_8bit": "True"},
    "bnb-nf4": {**_NF4, **_COMPUTED},
    "bnb-nf4-dq": {**_NF4, "bnb_4bit_use_double_quant": "True", **_COMPUTED},
}
# Classes of torchao.quantization by the quantization they make while a pipeline loads: weights in
# E4M3, products in 16 bits (docs/source/en/quantization/torchao.md of huggingface/diffusers). The
# `TorchAoConfig` of diffusers and that of transformers take unlike arguments, so each component
# gets its own (`_validate_init_kwargs_in_backends`, quantizers/pipe_quant_config.py).
_FLOATS = {"fp8": "Float8WeightOnlyConfig"}
# Prefixes of components whose classes are those of transformers.
_OF_TRANSFORMERS = ("text_encoder", "image_encoder")
_DEVICES = {"Metal": "mps", "oneAPI": "xpu"}


def transformers(plan: LaunchPlan) -> LaunchCommand:
    """Return a snippet that loads the model over all visible GPUs and generates once."""
    load = plan.workload
    model_class = _CLASSES.get(plan.task, _ENCODES if plan.embeds else "AutoModelForCausalLM")
    if plan.hears:
        return _transcribing(plan)
    bits, missing = _bits(plan)
    _, untold = plan.cached_as()
    config = ", ".join(f"{name}={value}" for name, value in bits.items())
    dtype = "torch.bfloat16" if not plan.quantized else '"auto"'
    names = sorted(["AutoTokenizer", model_class, *(["BitsAndBytesConfig"] if config else [])])
    revision = f", revision={literal(plan.revision)}" if plan.revision else ""
    lines = [
        "import torch",
        f"from transformers import {', '.join(names)}",
        "",
        f"model_id = {literal(plan.repo_id)}",
        f"tokenizer = AutoTokenizer.from_pretrained(model_id{revision})",
        f"model = {model_class}.from_pretrained(",
        f"    model_id{revision},",
        f"    dtype={'torch.float32' if plan.quant == 'fp32' else dtype},",
        '    device_map="auto",',
        f'    attn_implementation="{"sdpa" if load.flash_attention else "eager"}",',
        *([f"    quantization_config=BitsAndBytesConfig({config}),"] if config else []),
        ")",
        *_use(model_class, load.context, load.concurrency),
    ]
    return _snippet(plan, lines, *untold, *missing)


def _transcribing(plan: LaunchPlan) -> LaunchCommand:
    bits, missing = _bits(plan)
    config = ", ".join(f"{name}={value}" for name, value in bits.items())
    names = [_HEARS, "AutoProcessor", *(["BitsAndBytesConfig"] if config else []), "pipeline"]
    revision = f", revision={literal(plan.revision)}" if plan.revision else ""
    dtype = "torch.float32" if plan.quant == "fp32" else "torch.float16"
    lines = [
        "import torch",
        f"from transformers import {', '.join(names)}",
        "",
        f"model_id = {literal(plan.repo_id)}",
        f"processor = AutoProcessor.from_pretrained(model_id{revision})",
        f"model = {_HEARS}.from_pretrained(",
        f"    model_id{revision},",
        f"    dtype={dtype},",
        '    device_map="auto",',
        *([f"    quantization_config=BitsAndBytesConfig({config}),"] if config else []),
        ")",
        "listen = pipeline(",
        '    "automatic-speech-recognition",',
        "    model=model,",
        "    tokenizer=processor.tokenizer,",
        "    feature_extractor=processor.feature_extractor,",
        ")",
        'print(listen("speech.wav", return_timestamps=True)["text"])',
    ]
    return _snippet(plan, lines, *missing)


def _use(model_class: str, context: int, sequences: int) -> list[str]:
    prompts = f'["Hello"] * {sequences}' if sequences > 1 else '["Hello"]'
    lines = [f'inputs = tokenizer({prompts}, return_tensors="pt").to(model.device)']
    if model_class == _ENCODES:
        return [*lines, "print(model(**inputs).last_hidden_state.shape)"]
    if model_class.endswith(("MaskedLM", "Classification")):
        return [*lines, "print(model(**inputs).logits.shape)"]
    return [
        *lines,
        f"outputs = model.generate(**inputs, max_length={context})",
        "print(tokenizer.batch_decode(outputs, skip_special_tokens=True))",
    ]


def diffusers(plan: LaunchPlan) -> LaunchCommand:
    """Return a snippet that loads the pipeline and makes one image."""
    floats = None if plan.stored or plan.quantized else _FLOATS.get(plan.quant)
    bits, missing = ({}, ()) if floats else _bits(plan)
    quantized: list[str] = []
    if floats:
        quantized = _by_component(plan.narrowed, floats)
    elif bits:
        options = ", ".join(f'"{name}": {value}' for name, value in bits.items())
        backend = "bitsandbytes_8bit" if plan.quant == "bnb-int8" else "bitsandbytes_4bit"
        quantized = [f'        quant_backend="{backend}",', f"        quant_kwargs={{{options}}},"]
    libraries = ["import diffusers", "import torch", "import transformers"]
    lines = [
        *(libraries if floats else ["import torch"]),
        "from diffusers import DiffusionPipeline",
        *(["from diffusers.quantizers import PipelineQuantizationConfig"] if quantized else []),
        *([f"from torchao.quantization import {floats}"] if floats else []),
        "",
        "pipe = DiffusionPipeline.from_pretrained(",
        f"    {literal(plan.repo_id)},",
        *([f"    revision={literal(plan.revision)},"] if plan.revision else []),
        f"    torch_dtype={'torch.float32' if plan.quant == 'fp32' else 'torch.bfloat16'},",
        *(["    quantization_config=PipelineQuantizationConfig("] if quantized else []),
        *quantized,
        *(["    ),"] if quantized else []),
        ")",
        _moved(plan),
        'pipe("a lighthouse at dusk").images[0].save("image.png")',
    ]
    return _snippet(plan, lines, *missing)


def _moved(plan: LaunchPlan) -> str:
    device = _DEVICES.get(plan.stack, "cuda")
    in_turns = _TURNS.get(plan.workload.cpu_offload)
    if in_turns is None:
        return f'pipe.to("{device}")'
    return f"pipe.{in_turns}()" if device == "cuda" else f'pipe.{in_turns}(device="{device}")'


def _by_component(components: Sequence[str], config: str) -> list[str]:
    lines = ["        quant_mapping={"]
    # Each component gets a TorchAO of its library.
    for name in components:
        library = "transformers" if name.startswith(_OF_TRANSFORMERS) else "diffusers"
        lines.append(f'            "{name}": {library}.TorchAoConfig({config}()),')
    return [*lines, "        },"]


def _bits(plan: LaunchPlan) -> tuple[dict[str, str], tuple[Note, ...]]:
    if plan.stored or plan.quant in ("bf16", "fp32"):
        return {}, ()
    made = {} if plan.quantized else _BITS.get(plan.quant, {})
    return made, () if made else (Note("launch_needs_repository", quant=plan.quant_name),)


def _snippet(plan: LaunchPlan, lines: list[str], *notes: Note) -> LaunchCommand:
    return LaunchCommand(plan.engine, "\n".join(lines), "python", (*notes, *plan.one_node))
