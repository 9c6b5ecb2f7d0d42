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
    """Commands that make the file of a type, with that of the vision part where a model sees, and
    with an importance matrix where that is wanted, of texts that the reader chooses.
    """
    made, _ = _made(repo_id, tag, _projector_of(repo_id) if sees else "")
    if matrix:
        quantize = shlex.split(made.pop())
        wide = quantize[-3]
        made.append(shlex.join(("llama-imatrix", "-m", wide, "-f", _SAMPLES, "-o", _MATRIX)))
        made.append(shlex.join((quantize[0], "--imatrix", _MATRIX, *quantize[1:])))
    return (*_TOOLS, *made)


def draft_file(repo_id: str) -> tuple[str, str]:
    """The command that makes a file of a small model in 16 bits, and the file's name."""
    file = f"{repo_id.rpartition('/')[2]}-F16.gguf"
    return _converted(repo_id, "--outtype", "f16", "--outfile", file), file


def _projector_of(repo_id: str) -> str:
    return f"{repo_id.rpartition('/')[2]}-mmproj.gguf"


def _made(repo_id: str, tag: str, projector: str) -> tuple[list[str], str]:
    """Commands that make the file of a type, and that of the vision part where it has a name; the
    name of the first, which the last command makes."""
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
