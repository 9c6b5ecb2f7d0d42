"""GGUF files for engines that read nothing else: those of a repository, or made of its weights.

Sources of the options, all of ggml-org/llama.cpp: convert_hf_to_gguf.py (`--remote` reads a
repository of the Hub, `--mmproj` writes the vision part), tools/quantize/quantize.cpp (types),
tools/imatrix/README.md, tools/server/README.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.launch.base import LaunchPlan
from gpusizer.memory.quantizing import needs_matrix
from gpusizer.memory.quants.dynamic import is_own_mix
from gpusizer.memory.quants.recipes import WIDE_TABLES

SOURCE = "https://github.com/ggml-org/llama.cpp"
_CONVERT = "llama.cpp/convert_hf_to_gguf.py"
_NEEDS = "llama.cpp/requirements/requirements-convert_hf_to_gguf.txt"
_TOOLS = (f"git clone --depth 1 {SOURCE}", f"pip install -r {_NEEDS}")
_TABLES = ("--token-embedding-type", "q8_0", "--output-tensor-type", "q8_0")
_OF_CONVERTER: Mapping[str, str] = {"BF16": "bf16", "F16": "f16", "F32": "f32", "FP32": "f32"}
_MATRIX = "imatrix.gguf"
_SAMPLES = "calibration.txt"
_SEES = "image-text-to-text"


@dataclass(frozen=True, slots=True)
class GgufFiles:
    """Files that an engine of GGUF files loads."""

    repo: str = ""  # repository with the files, "" if they are made
    file: str = ""  # name of the file that `made_by` leaves here, "" for files of a repository
    projector: str = ""  # name of the vision part's file, "" for none
    made_by: tuple[str, ...] = ()  # shell commands that make the files
    # Facts that the reader needs; the reason, if there are no files and none can be made.
    notes: tuple[Note, ...] = ()


def gguf_files(plan: LaunchPlan) -> GgufFiles:
    """Return the files of a plan."""
    if plan.format == "gguf":
        # Engines name no revision: llama.cpp downloads from `/resolve/main/`, and the word after
        # the colon in Ollama's names is a quantization (huggingface.co/docs/hub/ollama).
        return GgufFiles(repo=plan.repo_id, notes=plan.no_revision)
    tag = plan.gguf_tag.upper()
    narrow = plan.quantized and not plan.widened
    if narrow or is_own_mix(plan.quant) or needs_matrix(plan.quant):
        return GgufFiles(notes=(Note("launch_needs_gguf", repo_id=plan.repo_id, quant=tag),))
    sees = plan.task == _SEES and not plan.workload.text_only
    projector = _projector_of(plan.repo_id) if sees else ""
    made, file = _made(plan.repo_id, tag, projector)
    made_note = Note("launch_makes_gguf", repo_id=plan.repo_id, quant=tag)
    return GgufFiles(
        file=file,
        projector=projector,
        made_by=(*_TOOLS, *made),
        notes=(made_note, *plan.no_revision),
    )


def making(repo_id: str, tag: str, *, sees: bool, matrix: bool) -> tuple[str, ...]:
    """Return commands that make the file of a type, with the vision part's if the model `sees`.

    `matrix`: with an importance matrix of texts that the reader chooses.
    """
    made, _ = _made(repo_id, tag, _projector_of(repo_id) if sees else "")
    if matrix:
        quantize = shlex.split(made.pop())
        wide = quantize[-3]
        made.append(shlex.join(("llama-imatrix", "-m", wide, "-f", _SAMPLES, "-o", _MATRIX)))
        made.append(shlex.join((quantize[0], "--imatrix", _MATRIX, *quantize[1:])))
    return (*_TOOLS, *made)


def draft_file(repo_id: str) -> tuple[str, str]:
    """Return the command that makes a small model's file in 16 bits, and the file's name."""
    file = f"{repo_id.rpartition('/')[2]}-F16.gguf"
    return _converted(repo_id, "--outtype", "f16", "--outfile", file), file


def _projector_of(repo_id: str) -> str:
    return f"{repo_id.rpartition('/')[2]}-mmproj.gguf"


def _made(repo_id: str, tag: str, projector: str) -> tuple[list[str], str]:
    # The last command makes the file whose name is returned.
    name = repo_id.rpartition("/")[2]
    beside = [_converted(repo_id, "--mmproj", "--outfile", projector)] if projector else []
    outtype = _OF_CONVERTER.get(tag)
    wide = f"{name}-{tag if outtype else 'BF16'}.gguf"
    convert = _converted(repo_id, "--outtype", outtype or "bf16", "--outfile", wide)
    if outtype:
        return [*beside, convert], wide
    file = f"{name}-{tag}.gguf"
    plain = WIDE_TABLES.get(tag.lower(), "").upper()
    tables = _TABLES if plain else ()
    quantize = shlex.join(("llama-quantize", *tables, wide, file, plain or tag))
    return [convert, *beside, quantize], file


def _converted(repo_id: str, *options: str) -> str:
    return shlex.join(("python", _CONVERT, "--remote", repo_id, *options))
