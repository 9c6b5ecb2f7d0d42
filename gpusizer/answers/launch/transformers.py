"""A Python snippet for transformers 5 with accelerate; `dtype` has this name since 4.56."""

from __future__ import annotations

from gpusizer.answers.launch.base import LaunchCommand, LaunchPlan, cache_flag, literal, one_node
from gpusizer.core.messages import Note

_CLASSES = {
    "image-text-to-text": "AutoModelForImageTextToText",
    "feature-extraction": "AutoModel",
    "sentence-similarity": "AutoModel",
    "text2text-generation": "AutoModelForSeq2SeqLM",
    "translation": "AutoModelForSeq2SeqLM",
    "summarization": "AutoModelForSeq2SeqLM",
}
_BITS = {
    "bnb-int8": "load_in_8bit=True",
    "bnb-nf4": 'load_in_4bit=True, bnb_4bit_quant_type="nf4",'
    " bnb_4bit_compute_dtype=torch.bfloat16",
    "bnb-nf4-dq": 'load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,'
    " bnb_4bit_compute_dtype=torch.bfloat16",
}
_DTYPES = {"fp32": "torch.float32"}


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a snippet that loads the model over all visible GPUs and generates once."""
    load = plan.workload
    model_class = _CLASSES.get(plan.task, "AutoModelForCausalLM")
    config = _BITS.get(plan.quant) if not plan.stored and not plan.quantized else None
    _, notes = cache_flag(plan, "", {})
    if not plan.stored and config is None and plan.quant not in ("bf16", "fp32"):
        notes = (*notes, Note("launch_needs_repository", quant=plan.quant_name))
    dtype = _DTYPES.get(plan.quant, "torch.bfloat16" if not plan.quantized else '"auto"')
    names = sorted(["AutoTokenizer", model_class, *(["BitsAndBytesConfig"] if config else [])])
    revision = f", revision={literal(plan.revision)}" if plan.revision else ""
    options = [
        f"    dtype={dtype},",
        '    device_map="auto",',
        f'    attn_implementation="{"sdpa" if load.flash_attention else "eager"}",',
        *([f"    quantization_config=BitsAndBytesConfig({config}),"] if config else []),
    ]
    lines = [
        "import torch",
        f"from transformers import {', '.join(names)}",
        "",
        f"model_id = {literal(plan.repo_id)}",
        f"tokenizer = AutoTokenizer.from_pretrained(model_id{revision})",
        f"model = {model_class}.from_pretrained(",
        f"    model_id{revision},",
        *options,
        ")",
        *_use(model_class, load.context, load.concurrency),
    ]
    return LaunchCommand(plan.engine, "\n".join(lines), "python", (*notes, *one_node(plan)))


def _use(model_class: str, context: int, sequences: int) -> list[str]:
    prompts = f'["Hello"] * {sequences}' if sequences > 1 else '["Hello"]'
    lines = [f'inputs = tokenizer({prompts}, return_tensors="pt").to(model.device)']
    if model_class == "AutoModel":
        return [*lines, "print(model(**inputs).last_hidden_state.shape)"]
    return [
        *lines,
        f"outputs = model.generate(**inputs, max_length={context})",
        "print(tokenizer.batch_decode(outputs, skip_special_tokens=True))",
    ]
