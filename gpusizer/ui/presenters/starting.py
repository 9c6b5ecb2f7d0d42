"""How to start a model: one command to copy, and below it, folded, how to make the weights."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.advice.ranking import Ranked
from gpusizer.core.messages import Note
from gpusizer.core.units import SECONDS_PER_MINUTE
from gpusizer.fit.run_config import RunConfig
from gpusizer.launch.start import Start
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.quantization_job import QuantizationJob, quantization_job
from gpusizer.usecases.starting import start_in

_MINUTES_PER_HOUR = 60
_MAKES_GGUF = "launch_makes_gguf"


@dataclass(frozen=True, slots=True)
class Starting:
    """A start as a template shows it.

    Attributes:
        engine: whose command it is.
        making: what making the weights takes, None where nothing is made.
        loading: how long download and load take, "" where that is unknown.
    """

    engine: str
    start: Start
    making: QuantizationJob | None = None
    loading: str = ""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes for the reader of the command."""
        return self.start.line.notes

    @property
    def made_notes(self) -> tuple[Note, ...]:
        """Notes for the reader of the commands that make the weights."""
        made = self.start.made.notes if self.start.made else ()
        making = self.making.notes if self.making else ()
        return (*(note for note in made if note.code != _MAKES_GGUF), *making)


def starting(
    profile: ModelProfile, config: RunConfig, workload: Workload, loading: str = ""
) -> Starting | None:
    """Return how to start a model in a way; None where it does not run, and for names that the Hub
    cannot have and so no command may contain."""
    start = start_in(profile, config, workload)
    if start is None:
        return None
    estimate = config.estimate
    making = (
        quantization_job(profile, estimate, config.gpu)
        if start.made and config.machine.gpus
        else None
    )
    return Starting(estimate.engine.name, start, making, loading)


def loading_text(place: Ranked, words: Words) -> str:
    """Write how long the files take to download, and to load from a disk."""
    times, assumed = place.load_times, place.assumptions
    return words(
        "start.loading",
        size=words.amount_gb(times.stored_bytes),
        download=duration_text(times.download_minutes, words),
        network=words.number(assumed.network_gbit_per_s, "g"),
        load=duration_text(times.disk_minutes, words),
        disk=words.number(assumed.disk_gb_per_s, "g"),
    )


def duration_text(minutes: float, words: Words) -> str:
    """Write a duration in seconds, minutes or hours, to two digits."""
    if minutes < 1:
        return words("start.seconds", time=words.whole(max(1, minutes * SECONDS_PER_MINUTE)))
    if minutes < _MINUTES_PER_HOUR:
        return words("start.minutes", time=words.number(minutes, ".2g"))
    return words("start.hours", time=words.number(minutes / _MINUTES_PER_HOUR, ".2g"))
