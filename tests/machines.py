"""The best way to run a model on a machine that a text describes, with what answers say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusizer.advice.ranking import Ranked, describe
from gpusizer.api.base import AnswerContext
from gpusizer.api.rig import RigInfo
from gpusizer.core.messages import Note
from gpusizer.fit.machine import Machine, build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.fit.placement.arrangement import Arranged
from gpusizer.fit.placement.device_shares import Load
from gpusizer.fit.placement.from_disk import DiskReading
from gpusizer.fit.preference import best_config
from gpusizer.fit.run_configs import load_of
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.launch.llama_cpp import machine_flags
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.speed import Rate
from gpusizer.text import say_note


@dataclass(frozen=True)
class Planned:
    """A place on a machine."""

    study: Study
    place: Ranked

    @property
    def machine(self) -> Machine:
        return self.place.fit.machine

    @property
    def verdict(self) -> Verdict:
        return self.place.fit.verdict

    @property
    def estimate(self) -> MemoryEstimate:
        return self.place.fit.estimate

    @property
    def arranged(self) -> Arranged:
        arranged = self.place.fit.config.arranged
        assert arranged is not None
        return arranged

    @property
    def disk(self) -> DiskReading | None:
        return self.arranged.disk

    @property
    def decode(self) -> Rate | None:
        return self.place.decode

    @property
    def headroom_bytes(self) -> int:
        return self.place.fit.headroom_bytes

    @property
    def max_context(self) -> int | None:
        return self.place.fit.max_context

    @property
    def flags(self) -> tuple[str, ...]:
        return machine_flags(self.study.workload, self.place.fit.config)

    @property
    def notes(self) -> tuple[Note, ...]:
        return (*self.machine.notes, *self.place.reasons)

    @property
    def load(self) -> Load:
        return load_of(self.study, self.machine, self.estimate)

    def to_json(self) -> dict[str, Any]:
        context = AnswerContext(say_note, workload=self.study.workload)
        return RigInfo.from_record(self.place, context).document()


def machine(text: str, disk_bytes_per_second: float | None = None) -> Machine:
    words, catalogue = parse_rig(text), load_catalogue()
    if disk_bytes_per_second is None:
        return build_machine(words, catalogue)
    return build_machine(words, catalogue, disk_bytes_per_second)


def planned(study: Study, on: Machine | str) -> Planned:
    """Return the best way on a machine."""
    on = machine(on) if isinstance(on, str) else on
    return Planned(study, describe(study, best_config(study, on), 1))
