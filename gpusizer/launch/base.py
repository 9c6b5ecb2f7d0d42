"""The interface of launchers: functions from a LaunchPlan to a LaunchCommand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpusizer.core.errors import InvalidModelId
from gpusizer.core.messages import Note
from gpusizer.fit.platforms import setup_of
from gpusizer.fit.run_config import RunConfig, start_limit_on, usable_memory
from gpusizer.hub.model_ref import check_revision, is_repo_id
from gpusizer.memory.engines import Split
from gpusizer.memory.kv_cache import ALIASES
from gpusizer.memory.quantizing import is_wide_enough
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import DraftMethod, ModelProfile
from gpusizer.model.tasks import task_of

CommandLanguage = Literal["bash", "python"]
Flag = tuple[str, str]  # an option and its value
# Options of a command with their values, in its order.
Options = Mapping[str, str | float | tuple[str, ...] | None]

# Placeholder in a command for the address of the first of several machines.
HEAD_NODE = "HEAD_NODE"

# Options that quantize weights while an engine loads them, by engine and quantization.
_CONVERTED: Mapping[str, Mapping[str, Flag]] = {
    "vllm": {
        "fp8": ("--quantization", "fp8"),
        "bnb-nf4": ("--quantization", "bitsandbytes"),
        "bnb-nf4-dq": ("--quantization", "bitsandbytes"),
        "fp32": ("--dtype", "float32"),  # by default vLLM converts FP32 checkpoints to 16 bits
    },
    "sglang": {
        "fp8": ("--quantization", "fp8"),
        "fp32": ("--dtype", "float32"),
    },
    "tgi": {
        "fp8": ("--quantize", "fp8"),
        "bnb-int8": ("--quantize", "bitsandbytes"),
        "bnb-nf4": ("--quantize", "bitsandbytes-nf4"),
        "bnb-nf4-dq": ("--quantize", "bitsandbytes-nf4"),
    },
}
# Engines' words for types of the KV cache. Types that they lack are left out; 16 bits are the
# default of every engine.
_CACHES: Mapping[str, Mapping[str, str]] = {
    "vllm": {
        "fp8": "fp8",
        "fp8_e4m3": "fp8_e4m3",
        "fp8_e5m2": "fp8_e5m2",
        "bf16": "bfloat16",
        "bfloat16": "bfloat16",
    },
    "sglang": {
        "fp8": "fp8_e4m3",
        "fp8_e4m3": "fp8_e4m3",
        "fp8_e5m2": "fp8_e5m2",
        "bf16": "bf16",
        "bfloat16": "bf16",
    },
    "tgi": {"fp8": "fp8_e4m3fn", "fp8_e4m3": "fp8_e4m3fn", "fp8_e5m2": "fp8_e5m2"},
    "tensorrt-llm": {"fp8": "fp8", "fp8_e4m3": "fp8"},
    "ollama": {"q8_0": "q8_0", "int8": "q8_0", "q4_0": "q4_0"},
}
_SPELLED_NODES = 4  # of more machines a note names only the first and the last
_PLAIN = re.compile(r"[A-Za-z0-9_./:@-]*")
_BYTES_OF_16_BITS = 2
# Tags of the Hub for models that answer in scores, and in what they hear.
_SCORES = frozenset({"text-ranking", "text-classification", "token-classification"})
_HEARS = "automatic-speech-recognition"
_SIXTEEN_BITS = frozenset({"f16", "bf16"})


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command or snippet that runs the plan as it is, and notes for its reader, as codes.

    `text` is "" if no command does; the notes say why.
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
    """One configuration to run a model, with the settings that were sized."""

    # repo_id, revision: repository and revision to load; None for the default branch.
    repo_id: str
    revision: str | None
    format: str  # the repository's: "safetensors", "gguf", "diffusers", …
    task: str  # the Hub's pipeline tag, "" when unknown
    stored: bool  # the weights are the repository's own, not converted
    quantized: bool  # the repository holds a quantized checkpoint
    # quant, quant_name: slug and name of the quantization.
    quant: str
    quant_name: str
    engine: str  # slug
    stack: str  # software stack of the card: "CUDA", "ROCm", "Metal", "oneAPI", …
    split: Split
    utilization: float  # share of the card the engine budgets with, 0 to 1
    workload: Workload  # the workload that was sized, with the context within the model's limit
    # Tokens in a step of one data-parallel rank, which the estimate sized buffers for; None if no
    # option sets them.
    step_tokens: int | None = None
    # Limit that the engine needs in order to start, None if it starts without.
    most_sequences: int | None = None
    nodes: int = 1  # machines that the GPUs are in
    # A second model that guesses tokens, None if the engine runs none.
    draft: LaunchDraft | None = None
    cpu_experts: int = 0  # layers, from the first, whose routed experts stay in system memory
    # Shares of layers for unlike devices, () for llama.cpp's own.
    tensor_split: tuple[int, ...] = ()
    widened: bool = False  # llama.cpp's converter takes the quantized checkpoint
    # Components of a pipeline that have weights in fewer than 16 bits.
    narrowed: tuple[str, ...] = ()
    embeds: bool = False  # the model answers in vectors
    hears: bool = False  # it writes what it hears

    @classmethod
    def from_config(
        cls, profile: ModelProfile, config: RunConfig, workload: Workload
    ) -> LaunchPlan:
        """Return the plan of a way to run it; `workload` is the resolved workload of the report.

        Raise InvalidModelId for a name that the Hub cannot have.
        """
        if not is_repo_id(profile.repo_id):
            raise InvalidModelId(value=profile.repo_id[:120], reason="characters")
        revision = None if profile.revision == "main" else check_revision(profile.revision)
        estimate, arranged = config.estimate, config.arranged
        if workload.max_num_seqs is None:  # users may take turns
            workload = replace(workload, max_num_seqs=estimate.placement.workload.max_num_seqs)
        # components of a pipeline may take turns unasked
        taken = config.in_turns or estimate
        workload = replace(workload, cpu_offload=taken.placement.workload.cpu_offload)
        cpu_experts = 0
        tensor_split: tuple[int, ...] = ()
        if arranged is not None:
            off_gpu = config.in_part or not config.machine.gpus
            if off_gpu and arranged.how.gpu_layers < arranged.of_layers:
                workload = replace(workload, gpu_layers=arranged.how.gpu_layers)
            cpu_experts = arranged.how.cpu_experts
            several = len(config.machine.gpus) > 1 and not arranged.default
            tensor_split = arranged.how.split if several else ()
        has_gpus = bool(config.machine.gpus)
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
            stack=config.gpu.software if has_gpus else config.machine.backend,
            split=estimate.split,
            utilization=usable_memory(config.gpu, estimate).utilization if has_gpus else 1.0,
            workload=workload,
            step_tokens=estimate.engine.step_tokens(estimate.placement),
            most_sequences=None if (limit := start_limit_on(config)) is None else limit.sure,
            nodes=setup_of(config.gpu, config.boards).nodes if has_gpus else 1,
            draft=_draft_of(profile, config),
            cpu_experts=cpu_experts,
            tensor_split=tensor_split,
            widened=is_wide_enough(profile, estimate.quant),
            narrowed=_narrowed(profile, config),
            embeds=task_of(profile) == "embedding" and profile.pipeline_tag not in _SCORES,
            hears=profile.pipeline_tag == _HEARS,
        )

    @property
    def total_context(self) -> int:
        """Tokens of all sequences together."""
        return self.workload.context * self.workload.concurrency

    @property
    def gguf_tag(self) -> str:
        """Quantization in the spelling of GGUF repositories, such as "Q4_K_M"."""
        return self.quant_name.removeprefix("GGUF ").partition(" ")[0]

    @property
    def no_revision(self) -> tuple[Note, ...]:
        """Note for an engine that has no option for the requested revision."""
        if self.revision is None:
            return ()
        return (Note("launch_no_revision", engine=self.engine, revision=self.revision),)

    @property
    def one_node(self) -> tuple[Note, ...]:
        """Note for GPUs in several machines that the command does not join."""
        if self.nodes == 1:
            return ()
        return (Note("launch_one_node", engine=self.engine, nodes=self.nodes),)

    def on_each_node(self, option: str, step: int = 1) -> Note:
        """Return the note for a command that runs on each machine with its own value of an option.

        Values count from 0 in steps of `step`.
        """
        counted = [str(step * node) for node in range(self.nodes)]
        if self.nodes > _SPELLED_NODES:
            counted[_SPELLED_NODES - 1 : -1] = ["…"]
        values = ", ".join(counted)
        return Note(
            "launch_nodes", nodes=self.nodes, option=option, values=values, address=HEAD_NODE
        )

    def sequences_above(self, default: int) -> int | None:
        """Return the most sequences of each data-parallel rank, None for the default."""
        # The limit in the request, else the share of the users that one rank serves if it exceeds
        # `default`; the estimate sizes the buffers and the cache of every rank by the same rule.
        if self.workload.max_num_seqs is not None:
            return self.workload.max_num_seqs
        users = self.split.users_each(self.workload.concurrency)
        return users if users > default else None

    def cached_as(self) -> tuple[str, tuple[Note, ...]]:
        """Return the engine's word for the cache type, "" for 16 bits, the default of every engine.

        For a type that the engine lacks, return a note instead.
        """
        kind, spelled = self.workload.kv_dtype, _CACHES.get(self.engine, {})
        if kind in spelled or ALIASES.get(kind, kind) in _SIXTEEN_BITS:
            return spelled.get(kind, ""), ()
        return "", (Note("launch_cache_type", engine=self.engine, kv_dtype=kind),)

    def converted(self) -> tuple[Options, tuple[Note, ...]]:
        """Return the option that makes the engine quantize while it loads the weights."""
        # A checkpoint as stored needs none, unless the engine would narrow it. A quantization that
        # the engine is not able to make needs another repository; a note says so.
        able = _CONVERTED.get(self.engine, {})
        loads_as_stored = self.stored and self.quant != "fp32"
        if self.quant in able and not self.quantized and not loads_as_stored:
            return dict([able[self.quant]]), ()
        if self.stored or (self.quant == "bf16" and not self.quantized):
            return {}, ()
        return {}, (Note("launch_needs_repository", quant=self.quant_name),)

    def runs(self, text: str, *notes: Note) -> LaunchCommand:
        """Return the shell command of this plan."""
        return LaunchCommand(self.engine, text, "bash", notes)


def _narrowed(profile: ModelProfile, config: RunConfig) -> tuple[str, ...]:
    if profile.pipeline is None:
        return ()
    amounts = zip(profile.groups, config.estimate.sizes.by_group, strict=False)
    narrow = {group.component for group, n in amounts if n < _BYTES_OF_16_BITS * group.parameters}
    return tuple(sorted(narrow))


def _draft_of(profile: ModelProfile, config: RunConfig) -> LaunchDraft | None:
    draft = profile.draft
    # InvalidModelId is raised as for the model.
    if draft is None or config.estimate.draft is None:
        return None
    repo_id = draft.profile.repo_id
    if not is_repo_id(repo_id):
        raise InvalidModelId(value=repo_id[:120], reason="characters")
    return LaunchDraft(repo_id, draft.method, draft.profile.format, draft.profile.variant)


def command(program: Sequence[str], options: Options) -> str:
    """Return a shell command with one option on a line; words are quoted if they need it."""
    lines = [shlex.join(program)]
    # Options without a value (None, False, 0) are left out; True gives the option alone, and
    # several words follow one another.
    for name, value in options.items():
        if value:
            words = value if isinstance(value, tuple) else (str(value),)
            lines.append(shlex.join((name, *(() if value is True else words))))
    return " \\\n  ".join(lines)


def literal(text: str) -> str:
    r"""Return a Python string literal, in double quotes when no character needs an escape.

    >>> print(literal("org/name"), literal("two\n"))
    "org/name" 'two\n'
    """
    return f'"{text}"' if _PLAIN.fullmatch(text) else ascii(text)


def above_one(degree: int) -> int:
    """Return a degree of parallelism as an option has it, 0 for a degree of 1."""
    return degree if degree > 1 else 0
