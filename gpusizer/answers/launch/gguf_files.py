"""GGUF files for engines that read nothing else: those of a repository, or made of its weights.

Sources of the options, all of ggml-org/llama.cpp: convert_hf_to_gguf.py (`--remote` reads a
repository of the Hub, `--mmproj` writes the vision part), tools/quantize/quantize.cpp (types, and
those that it refuses without an importance matrix), tools/server/README.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.answers.launch.base import LaunchPlan
from gpusizer.core.messages import Note

SOURCE = "https://github.com/ggml-org/llama.cpp"
_CONVERT = "llama.cpp/convert_hf_to_gguf.py"
_NEEDS = "llama.cpp/requirements/requirements-convert_hf_to_gguf.txt"
_TOOLS = (f"git clone --depth 1 {SOURCE}", f"pip install -r {_NEEDS}")
# Recipes that publishers make of a plain type, with 8 bits for the tables of input and output.
_WIDE_TABLES: Mapping[str, str] = {
    "Q6_K_L": "Q6_K",
    "Q5_K_L": "Q5_K_M",
    "Q4_K_L": "Q4_K_M",
    "Q3_K_XL": "Q3_K_L",
    "Q2_K_L": "Q2_K",
}
_TABLES = ("--token-embedding-type", "q8_0", "--output-tensor-type", "q8_0")
_OF_CONVERTER: Mapping[str, str] = {"BF16": "bf16", "F16": "f16", "F32": "f32", "FP32": "f32"}
_NEED_A_MATRIX = ("IQ1_", "IQ2_", "IQ3_XXS", "Q2_K_S")
_SEES = "image-text-to-text"


@dataclass(frozen=True, slots=True)
class GgufFiles:
    """What an engine of GGUF files loads.

    Attributes:
        repo: repository with the files, "" where they are made.
        file: name of the file that `made_by` leaves here, "" for files of a repository.
        projector: the same for the vision part, "" for none.
        made_by: shell commands that make the files.
        notes: what the reader must know; for files that are neither there nor can be made, why.
    """

    repo: str = ""
    file: str = ""
    projector: str = ""
    made_by: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def gguf_files(plan: LaunchPlan) -> GgufFiles:
    """The files of a plan.

    Engines name no revision: llama.cpp downloads from `/resolve/main/`, and the word after the
    colon in Ollama's names is a quantization (huggingface.co/docs/hub/ollama).
    """
    if plan.format == "gguf":
        return GgufFiles(repo=plan.repo_id, notes=plan.no_revision)
    tag = plan.gguf_tag.upper()
    if plan.quantized or "@" in plan.quant or tag.startswith(_NEED_A_MATRIX):
        return GgufFiles(notes=(Note("launch_needs_gguf", repo_id=plan.repo_id, quant=tag),))
    name = plan.repo_id.rpartition("/")[2]
    sees = plan.task == _SEES and not plan.workload.text_only
    projector = f"{name}-mmproj.gguf" if sees else ""
    made, file = _made(plan.repo_id, name, tag)
    if projector:
        made.insert(-1, _converted(plan.repo_id, "--mmproj", "--outfile", projector))
    made_note = Note("launch_makes_gguf", repo_id=plan.repo_id, quant=tag)
    return GgufFiles(
        file=file,
        projector=projector,
        made_by=(*_TOOLS, *made),
        notes=(made_note, *plan.no_revision),
    )


def draft_file(repo_id: str) -> tuple[str, str]:
    """The command that makes a file of a small model in 16 bits, and the file's name."""
    file = f"{repo_id.rpartition('/')[2]}-F16.gguf"
    return _converted(repo_id, "--outtype", "f16", "--outfile", file), file


def _made(repo_id: str, name: str, tag: str) -> tuple[list[str], str]:
    """Commands that make the file of a type, and its name."""
    outtype = _OF_CONVERTER.get(tag)
    wide = f"{name}-{tag if outtype else 'BF16'}.gguf"
    convert = _converted(repo_id, "--outtype", outtype or "bf16", "--outfile", wide)
    if outtype:
        return [convert], wide
    file = f"{name}-{tag}.gguf"
    tables = _TABLES if tag in _WIDE_TABLES else ()
    quantize = shlex.join(("llama-quantize", *tables, wide, file, _WIDE_TABLES.get(tag, tag)))
    return [convert, quantize], file


def _converted(repo_id: str, *options: str) -> str:
    return shlex.join(("python", _CONVERT, "--remote", repo_id, *options))
