"""Effort of making a quantization: amounts, whether a GPU is enough, and the commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.launch.base import LaunchCommand
from gpusizer.launch.quantizers import quantizing_command
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.quantizing import Quantizing, quantizing
from gpusizer.model.profile import ModelProfile

_DOCUMENTED_ON = "CUDA"  # docs/getting-started of llm-compressor

_DISK = ("disk_bytes", "download_bytes", "intermediate_bytes", "file_bytes")
_SAID_OF_GPU: Mapping[Verdict | None, str] = {
    Verdict.FITS: "quantizing_gpu_fits",
    Verdict.TIGHT: "quantizing_gpu_tight",
    Verdict.DOES_NOT_FIT: "quantizing_gpu_short",
    None: "quantizing_gpu_unknown",
}


@dataclass(frozen=True, slots=True)
class QuantizationJob:
    """Making of a quantization on a GPU."""

    made: Quantizing
    gpu: Gpu | None  # one board of it is used; None if the request names none
    command: LaunchCommand | None  # None if the tool cannot make it from these weights

    @property
    def gpu_verdict(self) -> Verdict | None:
        """Whether one board is enough, or None.

        None if no GPU is named or needed, and on stacks for which the tool has no documentation.
        """
        need, gpu = self.made.gpu, self.gpu
        if need is None or gpu is None or gpu.software != _DOCUMENTED_ON:
            return None
        if need.high <= gpu.device_free_bytes:
            return Verdict.FITS
        enough = need.likely <= gpu.device_free_bytes
        return Verdict.TIGHT if enough else Verdict.DOES_NOT_FIT

    @property
    def notes(self) -> tuple[Note, ...]:
        """All amounts in sentences."""
        made, calibration = self.made, self.made.calibration
        if made.ram is None:
            return made.notes
        said = [Note("quantizing_cpu")]
        if made.gpu is not None and calibration is not None:
            said = [Note("quantizing_gpu", **_band(made.gpu)), *self._on_gpu()]
        said.append(Note("quantizing_ram", **_band(made.ram)))
        if made.download_bytes:
            said.append(Note("quantizing_disk", **_disk(made)))
        elif made.intermediate_bytes:
            said.append(Note("quantizing_disk_gguf", **_disk(made)))
        else:
            said.append(Note("quantizing_disk_file", file_bytes=made.file_bytes))
        if calibration is not None:
            said.append(
                Note(
                    "quantizing_samples",
                    tool=made.tool,
                    samples=calibration.samples,
                    tokens=calibration.sequence_length,
                )
            )
        return (*said, *made.notes)

    def _on_gpu(self) -> list[Note]:
        if self.gpu is None:
            return []
        code = _SAID_OF_GPU[self.gpu_verdict]
        return [Note(code, gpu=self.gpu.name, tool=self.made.tool)]


def quantization_job(
    profile: ModelProfile, estimate: MemoryEstimate, gpu: Gpu | None = None
) -> QuantizationJob | None:
    """Return the making of an estimate's quantization, or None.

    None for one that the repository stores, and if `quantizing` knows no way.
    """
    made = None if estimate.native else quantizing(profile, estimate.quant)
    if made is None:
        return None
    try:
        return QuantizationJob(made, gpu, quantizing_command(profile, made))
    except InvalidRequest:
        return QuantizationJob(made, gpu, None)  # a name that the Hub cannot have


def _band(amount: Amount) -> dict[str, int]:
    return {f"{end}_bytes": getattr(amount, end) for end in ("low", "likely", "high")}


def _disk(made: Quantizing) -> dict[str, int]:
    return {name: getattr(made, name) for name in _DISK}
