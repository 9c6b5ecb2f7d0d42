"""What every launcher gets and gives: a chosen plan in, a command with its remarks out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gpusizer.engines import Split
from gpusizer.errors import InvalidModelId
from gpusizer.fit import Fit
from gpusizer.hub_id import check_revision, is_repo_id
from gpusizer.kv_cache import ALIASES
from gpusizer.notes import Note
from gpusizer.plans.platforms import setup_of
from gpusizer.profile import ModelProfile
from gpusizer.workload import Workload

Language = Literal["bash", "python"]
Flag = tuple[str, ...]
"""An option and its value, or an option alone."""

HEAD_NODE = "HEAD_NODE"
"""Stands in a command for the address of the first of several machines."""

_SPELLED_NODES = 4  # of more than so many machines the first and the last are named
_PLAIN = re.compile(r"[A-Za-z0-9_./:@-]*")
_SIXTEEN_BITS = frozenset({"f16", "bf16"})


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command or snippet ready to paste, and what its reader must know, as codes."""

    engine: str
    text: str
    language: Language
    notes: tuple[Note, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        return {
            "engine": self.engine,
            "text": self.text,
            "language": self.language,
            "notes": [note.to_json() for note in self.notes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LaunchCommand:
        """Inverse of `to_json`."""
        return cls(**{**data, "notes": tuple(Note.from_json(note) for note in data["notes"])})


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A way to run a model, as it was computed.

    Attributes:
        repo_id, revision: what is loaded; None for the default branch.
        format: of the repository: "safetensors", "gguf", "diffusers", …
        task: the Hub's pipeline tag, "" when unknown.
        stored: the weights are the repository's own, not converted.
        quantized: the repository holds a quantized checkpoint.
        quant, quant_name: slug and name of the quantization.
        engine: slug.
        stack: software of the card: "CUDA", "ROCm", "Metal", "oneAPI", …
        split: how the model is divided.
        utilization: share of the card the engine budgets with, 0 to 1.
        workload: what was planned for, the context within the model's limit.
        step_tokens: of one data-parallel rank, which the estimate sized buffers for; None where
            no option sets them.
        nodes: machines that the GPUs are in.
    """

    repo_id: str
    revision: str | None
    format: str
    task: str
    stored: bool
    quantized: bool
    quant: str
    quant_name: str
    engine: str
    stack: str
    split: Split
    utilization: float
    workload: Workload
    step_tokens: int | None = None
    nodes: int = 1

    @classmethod
    def of(cls, profile: ModelProfile, fit: Fit, workload: Workload) -> LaunchPlan:
        """The plan of a fit; `workload` is the resolved one of the report.

        Raises InvalidModelId for a name that the Hub cannot have.
        """
        if not is_repo_id(profile.repo_id):
            raise InvalidModelId(value=profile.repo_id[:120], reason="characters")
        revision = None if profile.revision == "main" else check_revision(profile.revision)
        made = fit.estimate
        return cls(
            repo_id=profile.repo_id,
            revision=revision,
            format=profile.format,
            task=profile.pipeline_tag or "",
            stored=made.native,
            quantized=profile.quantization is not None,
            quant=made.quant.slug,
            quant_name=made.quant.name,
            engine=made.engine.slug,
            stack=fit.gpu.software,
            split=made.split,
            utilization=made.utilization,
            workload=workload,
            step_tokens=made.engine.step_tokens(profile.architecture, workload, made.device_class),
            nodes=setup_of(fit.gpu, fit.count).nodes,
        )

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LaunchPlan:
        """Inverse of `to_json`."""
        split, workload = Split(**data["split"]), Workload(**data["workload"])
        return cls(**{**data, "split": split, "workload": workload})

    @property
    def total_context(self) -> int:
        """Tokens of all sequences together."""
        return self.workload.context * self.workload.concurrency

    @property
    def gguf_tag(self) -> str:
        """The quantization as GGUF repositories spell it: "Q4_K_M"."""
        return self.quant_name.removeprefix("GGUF ").partition(" ")[0]


def command(program: Sequence[str], flags: Sequence[Flag]) -> str:
    """A shell command, one option a line, every word quoted where it needs to be."""
    return " \\\n  ".join([shlex.join(program), *map(shlex.join, flags)])


def literal(text: str) -> str:
    r"""A Python string literal, in double quotes for what names are usually made of.

    >>> print(literal("org/name"), literal("two\n"))
    "org/name" 'two\n'
    """
    return f'"{text}"' if _PLAIN.fullmatch(text) else ascii(text)


def only(condition: object, *flag: str) -> list[Flag]:
    """The flag when the condition holds."""
    return [flag] if condition else []


def number(name: str, value: int | None) -> list[Flag]:
    """An option with a number; nothing for None."""
    return [] if value is None else [(name, str(value))]


def above_one(name: str, value: int) -> list[Flag]:
    """A degree of parallelism, left out where there is none."""
    return [(name, str(value))] if value > 1 else []


def sequences_above(plan: LaunchPlan, default: int) -> int | None:
    """Most sequences that each data-parallel rank schedules, None for the engine's default.

    What was asked for, else a rank's part of the users where it is more than `default`: the
    estimate sizes the buffers and the cache of every rank so.
    """
    if plan.workload.max_num_seqs is not None:
        return plan.workload.max_num_seqs
    users = plan.split.users_each(plan.workload.concurrency)
    return users if users > default else None


def no_revision(plan: LaunchPlan) -> tuple[Note, ...]:
    """What is said where an engine has no option for the revision asked for."""
    if plan.revision is None:
        return ()
    return (Note("launch_no_revision", engine=plan.engine, revision=plan.revision),)


def one_node(plan: LaunchPlan) -> tuple[Note, ...]:
    """What is said where GPUs are in several machines that the command does not join."""
    if plan.nodes == 1:
        return ()
    return (Note("launch_one_node", engine=plan.engine, nodes=plan.nodes),)


def on_each_node(plan: LaunchPlan, option: str, step: int = 1) -> Note:
    """What is said where the command is run on every machine with another value of an option."""
    counted = [str(step * node) for node in range(plan.nodes)]
    if plan.nodes > _SPELLED_NODES:
        counted[_SPELLED_NODES - 1 : -1] = ["…"]
    values = ", ".join(counted)
    return Note("launch_nodes", nodes=plan.nodes, option=option, values=values, address=HEAD_NODE)


def cache_flag(
    plan: LaunchPlan, name: str, spelled: Mapping[str, str]
) -> tuple[list[Flag], tuple[Note, ...]]:
    """The option for the cache's type; 16 bits is everybody's default and needs none.

    A type the engine has no word for leaves a note.
    """
    kind = plan.workload.kv_dtype
    if kind in spelled:
        return [(name, spelled[kind])], ()
    if ALIASES.get(kind, kind) in _SIXTEEN_BITS:
        return [], ()
    return [], (Note("launch_cache_type", engine=plan.engine, kv_dtype=kind),)


def weights_flags(
    plan: LaunchPlan, converted: Mapping[str, Flag]
) -> tuple[list[Flag], tuple[Note, ...]]:
    """What makes the engine convert while loading, by quantization.

    A checkpoint as stored needs nothing, unless the engine would narrow it; what no engine makes
    by itself needs another repository.
    """
    kept = plan.stored and plan.quant != "fp32"
    if plan.quant in converted and not plan.quantized and not kept:
        return [converted[plan.quant]], ()
    if plan.stored or (plan.quant == "bf16" and not plan.quantized):
        return [], ()
    return [], (Note("launch_needs_repository", quant=plan.quant_name),)
