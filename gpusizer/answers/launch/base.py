"""The interface of launchers: functions from a LaunchPlan to a LaunchCommand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpusizer.core.errors import InvalidModelId
from gpusizer.core.messages import Note
from gpusizer.fit.parallelism.platforms import setup_of
from gpusizer.fit.way import Way, room_on
from gpusizer.hub.model_ref import check_revision, is_repo_id
from gpusizer.memory.engines import Split
from gpusizer.memory.kv_cache import ALIASES
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import DraftMethod, ModelProfile

CommandLanguage = Literal["bash", "python"]
Flag = tuple[str, ...]
"""An option and its value, or an option alone."""

HEAD_NODE = "HEAD_NODE"
"""Placeholder in a command for the address of the first of several machines."""

_SPELLED_NODES = 4  # of more machines a note names only the first and the last
_PLAIN = re.compile(r"[A-Za-z0-9_./:@-]*")
_SIXTEEN_BITS = frozenset({"f16", "bf16"})


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command or snippet that runs the plan as it is, and notes for its reader, as codes.

    Where none does, `text` is "" and the notes say why.
    """

    engine: str
    text: str
    language: CommandLanguage
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchDraft:
    """The repository of a second model, its method, its format, and the name of its GGUF file."""

    repo_id: str
    method: DraftMethod
    format: str
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """One configuration to run a model, with the settings that were sized.

    Attributes:
        repo_id, revision: repository and revision to load; None for the default branch.
        format: of the repository: "safetensors", "gguf", "diffusers", …
        task: the Hub's pipeline tag, "" when unknown.
        stored: the weights are the repository's own, not converted.
        quantized: the repository holds a quantized checkpoint.
        quant, quant_name: slug and name of the quantization.
        engine: slug.
        stack: software stack of the card: "CUDA", "ROCm", "Metal", "oneAPI", …
        split: how the model is divided.
        utilization: share of the card the engine budgets with, 0 to 1.
        workload: the workload that was sized, with the context within the model's limit.
        step_tokens: tokens in a step of one data-parallel rank, which the estimate sized buffers
            for; None where no option sets them.
        nodes: machines that the GPUs are in.
        draft: a second model that guesses tokens, None where the engine runs none.
        cpu_experts: layers, from the first, whose routed experts stay in system memory.
        tensor_split: parts by which layers are dealt out to unlike devices, () for llama.cpp's own.
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
    draft: LaunchDraft | None = None
    cpu_experts: int = 0
    tensor_split: tuple[int, ...] = ()

    @classmethod
    def of(cls, profile: ModelProfile, way: Way, workload: Workload) -> LaunchPlan:
        """Return the plan of a way to run it; `workload` is the resolved workload of the report.

        Raises InvalidModelId for a name that the Hub cannot have.
        """
        if not is_repo_id(profile.repo_id):
            raise InvalidModelId(value=profile.repo_id[:120], reason="characters")
        revision = None if profile.revision == "main" else check_revision(profile.revision)
        estimate, arranged = way.estimate, way.arranged
        cpu_experts = 0
        tensor_split: tuple[int, ...] = ()
        if arranged is not None:
            if way.in_part and arranged.how.gpu_layers < arranged.of_layers:
                workload = replace(workload, gpu_layers=arranged.how.gpu_layers)
            cpu_experts = arranged.how.cpu_experts
            several = len(way.machine.gpus) > 1 and not arranged.default
            tensor_split = arranged.how.split if several else ()
        return cls(
            repo_id=profile.repo_id,
            revision=revision,
            format=profile.format,
            task=profile.pipeline_tag or "",
            stored=estimate.native,
            quantized=profile.quantization is not None,
            quant=estimate.quant.slug,
            quant_name=estimate.quant.name,
            engine=estimate.engine.slug,
            stack=way.gpu.software,
            split=estimate.split,
            utilization=room_on(way.gpu, estimate).utilization,
            workload=workload,
            step_tokens=estimate.engine.step_tokens(estimate.placement),
            nodes=setup_of(way.gpu, way.boards).nodes,
            draft=_draft_of(profile, way),
            cpu_experts=cpu_experts,
            tensor_split=tensor_split,
        )

    @property
    def total_context(self) -> int:
        """Tokens of all sequences together."""
        return self.workload.context * self.workload.concurrency

    @property
    def gguf_tag(self) -> str:
        """The quantization as GGUF repositories spell it: "Q4_K_M"."""
        return self.quant_name.removeprefix("GGUF ").partition(" ")[0]


def _draft_of(profile: ModelProfile, way: Way) -> LaunchDraft | None:
    """Return the draft that stands beside the model. Raises InvalidModelId as for the model."""
    draft = profile.draft
    if draft is None or way.estimate.draft is None:
        return None
    repo_id = draft.profile.repo_id
    if not is_repo_id(repo_id):
        raise InvalidModelId(value=repo_id[:120], reason="characters")
    return LaunchDraft(repo_id, draft.method, draft.profile.format, draft.profile.variant)


def command(program: Sequence[str], flags: Sequence[Flag]) -> str:
    """Return a shell command with one option on a line; words are quoted where they need it."""
    return " \\\n  ".join([shlex.join(program), *map(shlex.join, flags)])


def literal(text: str) -> str:
    r"""Return a Python string literal, in double quotes when no character needs an escape.

    >>> print(literal("org/name"), literal("two\n"))
    "org/name" 'two\n'
    """
    return f'"{text}"' if _PLAIN.fullmatch(text) else ascii(text)


def only(condition: object, *flag: str) -> list[Flag]:
    """Return the flag when the condition holds, else nothing."""
    return [flag] if condition else []


def number(name: str, value: int | None) -> list[Flag]:
    """Return an option with a number, nothing for None."""
    return [] if value is None else [(name, str(value))]


def above_one(name: str, value: int) -> list[Flag]:
    """Return the option for a degree of parallelism, nothing for a degree of 1."""
    return [(name, str(value))] if value > 1 else []


def sequences_above(plan: LaunchPlan, default: int) -> int | None:
    """Return the most sequences that each data-parallel rank schedules, None for the default.

    This is the limit in the request, else the share of the users that one rank serves where it
    exceeds `default`; the estimate sizes the buffers and the cache of every rank by the same rule.
    """
    if plan.workload.max_num_seqs is not None:
        return plan.workload.max_num_seqs
    users = plan.split.users_each(plan.workload.concurrency)
    return users if users > default else None


def no_revision(plan: LaunchPlan) -> tuple[Note, ...]:
    """Return the note for an engine that has no option for the requested revision."""
    if plan.revision is None:
        return ()
    return (Note("launch_no_revision", engine=plan.engine, revision=plan.revision),)


def one_node(plan: LaunchPlan) -> tuple[Note, ...]:
    """Return the note for GPUs in several machines that the command does not join."""
    if plan.nodes == 1:
        return ()
    return (Note("launch_one_node", engine=plan.engine, nodes=plan.nodes),)


def on_each_node(plan: LaunchPlan, option: str, step: int = 1) -> Note:
    """Return the note for a command that runs on every machine with a different value of an option.

    Values count from 0 in steps of `step`.
    """
    counted = [str(step * node) for node in range(plan.nodes)]
    if plan.nodes > _SPELLED_NODES:
        counted[_SPELLED_NODES - 1 : -1] = ["…"]
    values = ", ".join(counted)
    return Note("launch_nodes", nodes=plan.nodes, option=option, values=values, address=HEAD_NODE)


def cache_flag(
    plan: LaunchPlan, name: str, spelled: Mapping[str, str]
) -> tuple[list[Flag], tuple[Note, ...]]:
    """Return the option for the cache type, nothing for 16 bits, the default of every engine.

    For a type that the engine lacks, a note is returned instead.
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
    """Return the options that make the engine quantize while it loads the weights.

    A checkpoint as stored needs no option, unless the engine would narrow it. A quantization that
    the engine cannot make needs another repository; a note says so.
    """
    loads_as_stored = plan.stored and plan.quant != "fp32"
    if plan.quant in converted and not plan.quantized and not loads_as_stored:
        return [converted[plan.quant]], ()
    if plan.stored or (plan.quant == "bf16" and not plan.quantized):
        return [], ()
    return [], (Note("launch_needs_repository", quant=plan.quant_name),)
