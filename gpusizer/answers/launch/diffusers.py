"""A Python snippet for diffusers 0.34 and later (`PipelineQuantizationConfig`)."""

from __future__ import annotations

from gpusizer.answers.launch.base import LaunchCommand, LaunchPlan, literal, one_node
from gpusizer.core.messages import Note

_DEVICES = {"Metal": "mps", "oneAPI": "xpu"}
_BITS = {
    "bnb-int8": ("bitsandbytes_8bit", '{"load_in_8bit": True}'),
    "bnb-nf4": (
        "bitsandbytes_4bit",
        '{"load_in_4bit": True, "bnb_4bit_quant_type": "nf4",'
        ' "bnb_4bit_compute_dtype": torch.bfloat16}',
    ),
    "bnb-nf4-dq": (
        "bitsandbytes_4bit",
        '{"load_in_4bit": True, "bnb_4bit_quant_type": "nf4",'
        ' "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": torch.bfloat16}',
    ),
}


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a snippet that loads the pipeline and makes one image."""
    converted = _BITS.get(plan.quant) if not plan.stored and not plan.quantized else None
    notes: tuple[Note, ...] = ()
    if not plan.stored and converted is None and plan.quant not in ("bf16", "fp32"):
        notes = (Note("launch_needs_repository", quant=plan.quant_name),)
    dtype = "torch.float32" if plan.quant == "fp32" else "torch.bfloat16"
    revision = [f"    revision={literal(plan.revision)},"] if plan.revision else []
    lines = [
        "import torch",
        "from diffusers import DiffusionPipeline",
        *(["from diffusers.quantizers import PipelineQuantizationConfig"] if converted else []),
        "",
        "pipe = DiffusionPipeline.from_pretrained(",
        f"    {literal(plan.repo_id)},",
        *revision,
        f"    torch_dtype={dtype},",
        *(_quantized(*converted) if converted else []),
        ")",
        f'pipe.to("{_DEVICES.get(plan.stack, "cuda")}")',
        'pipe("a lighthouse at dusk").images[0].save("image.png")',
    ]
    return LaunchCommand(plan.engine, "\n".join(lines), "python", (*notes, *one_node(plan)))


def _quantized(backend: str, options: str) -> list[str]:
    return [
        "    quantization_config=PipelineQuantizationConfig(",
        f'        quant_backend="{backend}",',
        f"        quant_kwargs={options},",
        "    ),",
    ]
