"""The line that people start a model by: of a published file where the engine reads GGUF alone.

`data/gguf_repositories.csv` names repositories with such files. For a model without a row the line
has a placeholder, and the Hub lists who has published one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import quote

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.fit.run_config import RunConfig
from gpusizer.launch import LAUNCHERS, launch_command
from gpusizer.launch.base import LaunchCommand, LaunchPlan, command
from gpusizer.launch.llama_cpp import machine_flags
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

PUBLISHER = "PUBLISHER"  # Placeholder for the owner of a published copy.
_LISTING = "https://huggingface.co/models?other=base_model:quantized:"
_NEEDS_REPOSITORY = "launch_needs_repository"  # no tool here makes the weights
_SEARCH = "https://huggingface.co/models?search="
# Ends of names of checkpoints in few bits: other quantizations are made of the model without them.
_FEW_BITS = re.compile(
    r"([-_.](awq|gptq|fp8|nvfp4|mxfp4|int[48]|w[48]a(8|16)|[48]bit|bnb|unsloth|dynamic|g\d+"
    r"|quantized))+$",
    re.IGNORECASE,
)
_MAKES = frozenset({"launch_makes_gguf", "launch_makes_quantization"})
_LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True, slots=True)
class Start:
    """How a model is started."""

    line: LaunchCommand  # the command to copy
    listing: str = ""  # address of the Hub's list of published copies, "" where none is needed
    is_listed: bool = False  # the line has a placeholder, which the list fills
    # the commands that make the weights first, None where nothing has to be made
    made: LaunchCommand | None = None

    @property
    def install(self) -> str:
        """Address of the engine's page on installing it."""
        return ENGINES[self.line.engine].install


@dataclass(frozen=True, slots=True)
class _Published:
    """A repository with GGUF files; `quants` are all that it has, () for the usual ones."""

    repository: str
    quants: tuple[str, ...]


def start_of(
    profile: ModelProfile, config: RunConfig, workload: Workload, *, for_task: bool = False
) -> Start:
    """Return how to start a model in that way; a line without text where nothing starts it.

    `workload` is the resolved workload of the report; with `for_task` llama-server answers in what
    the model makes, which may be vectors. Raises InvalidModelId for a name that the Hub
    cannot have.
    """
    full = launch_command(profile, config, workload)
    plan = LaunchPlan.from_config(profile, config, workload)
    made = full if any(note.code in _MAKES for note in full.notes) else None
    reads_gguf = config.estimate.engine.abilities.reads == "gguf"
    is_found = any(note.code == _NEEDS_REPOSITORY for note in full.notes)
    if plan.draft is not None or not (reads_gguf or made or is_found):
        return Start(full)
    if plan.format == "gguf":
        return Start(_of_file(plan, config, plan.repo_id, plan.gguf_tag, for_task))
    listing = _LISTING + quote(plan.repo_id, safe="")
    name = plan.repo_id.rpartition("/")[2]
    if not reads_gguf:
        copy = f"{PUBLISHER}/{name}-{plan.quant.partition('-')[0].upper()}"
        loaded = replace(plan, repo_id=copy, revision=None, stored=True, quantized=True)
        return Start(LAUNCHERS[plan.engine](loaded), listing, is_listed=True, made=made)
    original = _FEW_BITS.sub("", name) if plan.quantized else name
    found = published_gguf(plan.repo_id, plan.gguf_tag)
    if original != name:
        listing = _SEARCH + quote(original, safe="")
        found = found or _named(original, plan.gguf_tag)
    repository = found.repository if found else f"{PUBLISHER}/{original}-GGUF"
    tag = "" if found and found.quants == (plan.gguf_tag,) else plan.gguf_tag
    line = _of_file(plan, config, repository, tag, for_task)
    return Start(line, f"{listing}&library=gguf", found is None, made)


def published_gguf(repo_id: str, tag: str) -> _Published | None:
    """Return the repository that has files of a model in a quantization, None where none is known.

    >>> published_gguf("Qwen/Qwen3-8B", "Q8_0").repository
    'Qwen/Qwen3-8B-GGUF'
    """
    rows = _repositories().get(repo_id, ())
    return next((row for row in rows if not row.quants or tag in row.quants), None)


def _named(name: str, tag: str) -> _Published | None:
    # Of the one model of that name, under any owner.
    same = [model for model in _repositories() if model.rpartition("/")[2].lower() == name.lower()]
    return published_gguf(same[0], tag) if len(same) == 1 else None


def _of_file(
    plan: LaunchPlan, config: RunConfig, repository: str, tag: str, for_task: bool
) -> LaunchCommand:
    # llama-server has a short spelling for a file of a repository
    file = f"{repository}:{tag}" if tag else repository
    if plan.engine == _LLAMA_CPP:
        flags = machine_flags(plan.workload, config)
        flags = (*flags, "--embeddings") if plan.embeds and for_task else flags
        return plan.runs(command(("llama-server", "-hf", file, *flags), {}))
    return LAUNCHERS[plan.engine](replace(plan, repo_id=repository, format="gguf", revision=None))


@cache
def _repositories() -> Mapping[str, tuple[_Published, ...]]:
    """Repositories by model, the first to be preferred."""
    rows: dict[str, tuple[_Published, ...]] = {}
    table = DATA_DIR / "gguf_repositories.csv"
    columns = ("model", "repository", "quants", "source")
    for model, published in read_table(
        table,
        lambda row: (row.text("model"), _Published(row.text("repository"), row.parts("quants"))),
        columns,
    ):
        rows[model] = (*rows.get(model, ()), published)
    return rows
