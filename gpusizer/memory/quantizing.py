"""Memory of a GPU, system memory and disk to make a quantization.

GGUF files are made tensor by tensor on a CPU; AWQ, GPTQ, INT8 and NVFP4 are calibrated
(`calibrated`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.messages import Note
from gpusizer.memory.calibrated import Calibration, Method, calibrated_memory, largest, text_groups
from gpusizer.memory.engines import LLAMA_CPP
from gpusizer.memory.projector import projector_bytes
from gpusizer.memory.quants.dynamic import is_own_mix
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.memory.quants.table import Quant, find_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import writes_text
from gpusizer.model.tensor_roles import Kind

_CALIBRATES = "llm-compressor"
_WIDE_GGUF = "gguf-f16"
_WIDE = 2  # bytes of a value
_NEED_A_MATRIX = ("iq1_", "iq2_", "iq3_xxs", "q2_k_s")  # tools/quantize/quantize.cpp
_WIDENED_BY_CONVERTER = "fp8"  # conversion/base.py, dequant_model
_KEPT_BY_CONVERTER = ("mxfp4", "mxfp4_moe")  # GptOssModel.repack_mxfp4
_BY_FAMILY: Mapping[str, Method] = {"awq": "awq", "gptq": "gptq", "int8": "int8", "nvfp4": "nvfp4"}

# Memory that the tools hold while they make a GGUF file, with the lines of their code or the runs
# that show it. Three figures are a band: low, likely, high. Runs are known of one project for each
# tool, so nothing is fitted on them: published peaks have to lie in the band.

# conversion/base.py widens each tensor to FP32 before it writes 16 bits, and gguf-py/gguf/lazy.py
# keeps every step of the one that is being written: at least 4 + 2 bytes, 2 + 4 + 4 + 2 where
# experts are stacked to one tensor. Qwen3-30B-A3B peaked at 9.4 GB
# (https://github.com/ggml-org/llama.cpp/pull/15648), 12 bytes for each parameter of a layer's
# experts beside the process: those of a layer are freed together.
_CONVERTED_BYTES = (6, 12, 24)
_CONVERTER_BYTES = fitted(300_000_000, 800_000_000, 1_500_000_000)
# src/llama-quant.cpp: an FP32 copy and a buffer of four bytes a value, and the source, two bytes of
# it mapped. Qwen2.5-0.5B peaked at 1.42 GB (https://github.com/ggml-org/llama.cpp/pull/24631), ten
# bytes for each value of its largest tensor; since https://github.com/ggml-org/llama.cpp/pull/27795
# the two buffers end at 8 GB.
_QUANTIZED_BYTES, _MAPPED_BYTES = 8, 2
_MOST_BUFFER_BYTES = 8_000_000_000
_QUANTIZER_BYTES = fitted(20_000_000, 100_000_000, 300_000_000)


@dataclass(frozen=True, slots=True)
class Quantizing:
    """Memory and disk to make a quantization of a model."""

    method: Method
    tool: str  # name of the program
    quant: Quant
    calibration: Calibration | None = None  # None if the tool needs no samples
    gpu: Amount | None = None  # memory of one GPU, with CUDA's own; None if a CPU is enough
    ram: Amount | None = None  # system memory; None if the tool cannot make it of these weights
    download_bytes: int = 0  # the repository on disk
    intermediate_bytes: int = 0  # a 16-bit GGUF file on the way
    file_bytes: int = 0  # the result on disk
    notes: tuple[Note, ...] = ()  # facts for the reader; the reason, if the tool cannot make it

    @property
    def disk_bytes(self) -> int:
        """Bytes of disk for all of it, nothing deleted on the way."""
        return self.download_bytes + self.intermediate_bytes + self.file_bytes


def method_of(quant: Quant) -> Method | None:
    """Return the method for a quantization, None if it is not modelled or a publisher's mix."""
    if isinstance(quant.layout, Gguf):
        return None if is_own_mix(quant.slug) else "gguf"
    return _BY_FAMILY.get(quant.slug.partition("-")[0])


def needs_matrix(slug: str) -> bool:
    """Return whether llama-quantize refuses a quantization without an importance matrix."""
    return slug.startswith(_NEED_A_MATRIX)


def quantizing(
    profile: ModelProfile, quant: Quant, calibration: Calibration | None = None
) -> Quantizing | None:
    """Return the memory and disk to make a quantization, by default with the tool's samples.

    None for models that write no text and for methods that are not modelled.
    """
    method, arch = method_of(quant), profile.architecture
    if method is None or arch is None or not arch.hidden_size or not writes_text(profile):
        return None
    tool = LLAMA_CPP.name if method == "gguf" else _CALIBRATES
    made = Quantizing(method, tool, quant)
    if not is_wide_enough(profile, quant):
        return replace(made, notes=(_needs_wide(profile, tool),))
    if method == "gguf":
        return _of_gguf(profile, made)
    return _of_calibrated(profile, made, calibration or Calibration.usual(method))


def is_wide_enough(profile: ModelProfile, quant: Quant) -> bool:
    """Return whether the tool can start from the stored weights: 16 bits or more."""
    stored = profile.quantization
    if profile.format == "gguf" or stored is None:
        return profile.format != "gguf"
    # llama.cpp's converter makes 16 bits of FP8 itself, and keeps experts in MXFP4 as they are.
    widened = method_of(quant) == "gguf" and stored.method == _WIDENED_BY_CONVERTER
    return widened or (stored.method, quant.slug) == _KEPT_BY_CONVERTER


def _needs_wide(profile: ModelProfile, tool: str) -> Note:
    stored = profile.quantization.method if profile.quantization else profile.format
    original = profile.base_models[0] if profile.base_models else ""
    wide_bytes = _WIDE * profile.parameters
    if not original:
        return Note("quantizing_needs_wide", tool=tool, stored=stored, wide_bytes=wide_bytes)
    return Note("quantizing_needs_original", tool=tool, stored=stored, repo_id=original)


def _of_calibrated(profile: ModelProfile, made: Quantizing, calibration: Calibration) -> Quantizing:
    file_bytes = weight_sizes(profile, made.quant, native=False).total
    need = calibrated_memory(profile, made.method, calibration, file_bytes)
    if need is None:
        return replace(made, notes=(Note("quantizing_no_layers", tool=made.tool),))
    experts = profile.architecture is not None and bool(profile.architecture.experts)
    return replace(
        made,
        calibration=calibration,
        gpu=need.gpu,
        ram=need.ram,
        download_bytes=profile.weight_bytes,
        file_bytes=file_bytes,
        notes=(Note("quantizing_all_experts"),) if experts else (),
    )


def _of_gguf(profile: ModelProfile, made: Quantizing) -> Quantizing:
    # Convert to 16 bits, then quantize tensor by tensor. The converter reads the Hub itself, so
    # nothing is downloaded to the disk.
    wide = made.quant.slug == _WIDE_GGUF
    ram = converter_ram(profile)
    if not wide:
        ram = largest((ram, quantizer_ram(profile)))
    stored = profile.quantization
    intermediate = 0 if wide else _gguf_file_bytes(profile, find_quant(_WIDE_GGUF))
    widens = stored is not None and stored.method == _WIDENED_BY_CONVERTER
    notes = [Note("quantizing_widens", stored=_WIDENED_BY_CONVERTER)] if widens else []
    if needs_matrix(made.quant.slug):
        notes.append(Note("quantizing_matrix", wide_bytes=intermediate))
    return replace(
        made,
        ram=ram,
        intermediate_bytes=intermediate,
        file_bytes=_gguf_file_bytes(profile, made.quant),
        notes=tuple(notes),
    )


def _gguf_file_bytes(profile: ModelProfile, quant: Quant) -> int:
    sizes = weight_sizes(profile, quant, native=False)
    return sizes.total - projector_bytes(profile, sizes) + header_bytes(profile.architecture)


def converter_ram(profile: ModelProfile) -> Amount:
    """Return system memory of the converter: steps of the tensor that it writes."""
    values, experts = _gguf_tensors(profile)
    low, likely, high = _CONVERTED_BYTES
    together = max(values, experts)
    most = max(high * values, likely * (values + experts))
    return _CONVERTER_BYTES + fitted(low * values, likely * together, most)


def quantizer_ram(profile: ModelProfile) -> Amount:
    """Return system memory of llama-quantize: buffers for its largest tensor, and it mapped."""
    values, _ = _gguf_tensors(profile)
    whole, mapped = _QUANTIZED_BYTES * values, _MAPPED_BYTES * values
    buffers = min(whole, _MOST_BUFFER_BYTES)
    return _QUANTIZER_BYTES + fitted(buffers, buffers + mapped, whole + mapped)


def _gguf_tensors(profile: ModelProfile) -> tuple[int, int]:
    """Return values of a GGUF file's largest tensor, and of all expert tensors of a layer."""
    # The experts of a layer are stacked to one tensor for each projection.
    most, experts = 0, Counter[int]()
    for group in text_groups(profile):
        if group.kind is not Kind.EXPERT or not group.layers:
            most = max(most, group.elements)
            continue
        values = group.parameters // len(group.layers)
        most = max(most, values)
        experts.update(dict.fromkeys(group.layers, values))
    return most, max(experts.values(), default=0)
