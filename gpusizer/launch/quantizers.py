"""Commands that make a quantization: llama.cpp's own tools, or a script for llm-compressor.

Sources of the script, all of vllm-project/llm-compressor 0.13: examples/awq/llama_example.py,
examples/quantization_w4a16/llama3_example.py, examples/quantizing_moe/qwen_example.py
(`load_context`, routers left out), examples/disk_offloading/qwen3_example.py (`auto_offload` leaves
on the disk what system memory does not hold), examples/imatrix/README.md (`config_groups`),
examples/quantization_w8a8_int8/gemma2_example.py and quantization_w4a4_fp4/llama3_example.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.errors import InvalidModelId
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.launch.base import LaunchCommand, literal
from gpusizer.launch.gguf_files import making
from gpusizer.memory.quantizing import Quantizing, needs_matrix
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import task_of

_INSTALL = "# pip install llmcompressor"
_SEES = "vision"
_IGNORED = ("lm_head",)
_ROUTERS = (r"re:.*\.gate$", r"re:.*router$", r"re:.*shared_expert_gate$")
_TOWERS = ("re:.*visual.*", "re:.*vision.*", "re:.*projector.*")


def quantizing_command(profile: ModelProfile, made: Quantizing) -> LaunchCommand | None:
    """Return the command that makes the quantization; None if the tool cannot make it.

    Raise InvalidModelId for a name that the Hub cannot have.
    """
    if not is_repo_id(profile.repo_id):
        raise InvalidModelId(value=profile.repo_id[:120], reason="characters")
    if made.ram is None:
        return None
    if made.calibration is None:
        tag = made.quant.name.removeprefix("GGUF ").partition(" ")[0].upper()
        sees, matrix = task_of(profile) == _SEES, needs_matrix(made.quant.slug)
        lines = making(profile.repo_id, tag, sees=sees, matrix=matrix)
        return LaunchCommand(made.tool, "\n".join(lines), "bash")
    return LaunchCommand(made.tool, "\n".join((_INSTALL, *_script(profile, made))), "python")


def folder_of(profile: ModelProfile, made: Quantizing) -> str:
    """Return the folder that the script leaves the weights in."""
    return f"{profile.repo_id.rpartition('/')[2]}-{made.quant.slug}"


@dataclass(frozen=True, slots=True)
class _Scheme:
    """Lines of a script that differ between quantizations; `lines` end in the call."""

    imports: tuple[str, ...]
    modifiers: tuple[str, ...]
    lines: tuple[str, ...]
    recipe: str = "quantizer"


_PLAIN = "from llmcompressor.modifiers.quantization import QuantizationModifier"
_GPTQ = "from llmcompressor.modifiers.gptq import GPTQModifier"
_AWQ = "from llmcompressor.modifiers.transform.awq import AWQModifier"
# llm-compressor's names of schemes, and the modifier that rounds the weights.
_NAMED: Mapping[str, tuple[str, str]] = {
    "int8": ("W8A8", _GPTQ),
    "nvfp4": ("NVFP4", _PLAIN),
}


def _scheme(made: Quantizing, *, experts: bool) -> _Scheme:
    if made.method in _NAMED:
        name, imported = _NAMED[made.method]
        named = imported.rpartition(" ")[2]
        call = (f"quantizer = {named}(", '    targets="Linear",', f'    scheme="{name}",')
        return _Scheme((), (imported,), call)
    bits, _, group = made.quant.slug.removeprefix(f"{made.method}-int").partition("-g")
    awq = made.method == "awq"
    modifiers = (_PLAIN, _AWQ) if awq else (_GPTQ,)
    modifier = modifiers[0].rpartition(" ")[2]
    # vLLM runs no experts with zero points (examples/awq/qwen3_moe_example_ddp.py).
    symmetric = not awq or experts
    lines = (
        "scheme = QuantizationScheme(",
        '    targets=["Linear"],',
        "    weights=QuantizationArgs(",
        f'        num_bits={bits}, group_size={group}, strategy="group", symmetric={symmetric}',
        "    ),",
        ")",
        f"quantizer = {modifier}(",
        '    config_groups={"group_0": scheme},',
    )
    arguments = "from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme"
    recipe = "[AWQModifier(), quantizer]" if awq else "quantizer"
    return _Scheme((arguments,), modifiers, lines, recipe)


def _script(profile: ModelProfile, made: Quantizing) -> list[str]:
    sees = task_of(profile) == _SEES
    experts = bool(profile.architecture and profile.architecture.experts)
    ignored = (*_IGNORED, *(_ROUTERS if experts else ()), *(_TOWERS if sees else ()))
    ignore = ", ".join(f'"{name}"' if "\\" not in name else f'r"{name}"' for name in ignored)
    loader = "AutoModelForImageTextToText" if sees else "AutoModelForCausalLM"
    processor = "AutoProcessor" if sees else "AutoTokenizer"
    revision = "" if profile.revision == "main" else f", revision={literal(profile.revision)}"
    dtype = "bfloat16" if profile.native_dtype == "F32" else "auto"
    folder = folder_of(profile, made)
    scheme = _scheme(made, experts=experts)
    samples = made.calibration.samples if made.calibration else 0
    length = made.calibration.sequence_length if made.calibration else 0
    return [
        *scheme.imports,
        f"from transformers import {', '.join(sorted((loader, processor)))}",
        "",
        "from llmcompressor import oneshot",
        *scheme.modifiers,
        "from llmcompressor.utils import load_context",
        "",
        f"model_id = {literal(profile.repo_id)}",
        f"with load_context({loader}):",
        f"    model = {loader}.from_pretrained(",
        f'        model_id{revision}, dtype="{dtype}", device_map="auto_offload"',
        "    )",
        f"processor = {processor}.from_pretrained(model_id{revision})",
        *scheme.lines,
        f"    ignore=[{ignore}],",
        ")",
        "oneshot(",
        "    model=model,",
        "    processor=processor,",
        '    dataset="ultrachat-200k",',
        f'    splits="train_sft[:{samples}]",',
        f"    recipe={scheme.recipe},",
        f"    max_seq_length={length},",
        f"    num_calibration_samples={samples},",
        ")",
        f"model.save_pretrained({literal(folder)}, save_compressed=True)",
        f"processor.save_pretrained({literal(folder)})",
    ]
