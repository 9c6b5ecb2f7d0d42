"""Which files of a repository are its weights. Pure: from the file list to a Selection.

Repositories often hold the same weights several times (`consolidated.safetensors` next to
`model.safetensors`, pickles, GGUF, fp16 variants). One copy is counted, the one its
library would load; the others are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusizer.errors import NoWeights
from gpusizer.snapshot import Format, Variant
from scrapers.gguf_files import choose_variant, first_incomplete, gguf_variants
from scrapers.weight_sets import ADAPTER_STEMS, RepoFile, folder_of, pick_set, weight_sets

ROOT_COMPONENT = "model"
PIPELINE_INDEX = "model_index.json"
MODULES_INDEX = "modules.json"

# How a weight file is recognised, and the name of its format in NoWeights.
_FORMATS = {
    ".safetensors": "safetensors",
    ".gguf": "gguf",
    ".bin": "pickle",
    ".pt": "pickle",
    ".pth": "pickle",
    ".ckpt": "pickle",
    ".pkl": "pickle",
    ".h5": "keras",
    ".keras": "keras",
    ".msgpack": "flax",
    ".onnx": "onnx",
    ".pb": "tensorflow",
    ".tflite": "tflite",
    ".nemo": "nemo",
    ".mlpackage": "coreml",
}
# Files with such an ending that trainers leave behind.
_NO_WEIGHTS = (
    *("training_args.", "optimizer.", "scheduler.", "rng_state", "trainer_state", "scaler."),
    *("tokenizer.", "random_states"),
)
# The part of a pipeline that does the work comes first: profiles take its configuration.
_MAIN_FOLDERS = ("transformer", "unet", "transformer_2", "prior", "decoder")


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    """Files of one component.

    Attributes:
        name: folder name, or "model" for the root.
        folder: its path, "" for the root.
        index: path of the index that lists the shards; None without one.
        files: weight files by their names alone; with an index, a guess that it confirms.
    """

    name: str
    folder: str
    index: str | None
    files: tuple[RepoFile, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """The components to count, in order, and how they are stored."""

    format: Format
    components: tuple[ComponentPlan, ...]


Finder = Callable[[Sequence[RepoFile], Mapping[str, Any] | None], Selection | None]


def select_weights(
    files: Sequence[RepoFile], repo_id: str, pipeline: Mapping[str, Any] | None = None
) -> Selection:
    """What to count; `pipeline` is the parsed `model_index.json` of a diffusers repository.

    Raises NoWeights naming the formats that were seen.
    """
    for find in FINDERS:
        selection = find(files, pipeline)
        if selection is not None:
            return selection
    seen = sorted({name for file in files if (name := weight_format(file.path))})
    raise NoWeights(repo_id=repo_id, formats=seen)


def weight_format(path: str) -> str | None:
    """Format of a weight file by its name; None for any other file."""
    name = path.rpartition("/")[2]
    if name.startswith(_NO_WEIGHTS):
        return None
    return next((form for suffix, form in _FORMATS.items() if name.endswith(suffix)), None)


def uncounted(files: Sequence[RepoFile], counted: set[str]) -> tuple[RepoFile, ...]:
    """Weight files that are not counted, in order of their paths."""
    rest = [file for file in files if file.path not in counted and weight_format(file.path)]
    return tuple(sorted(rest, key=lambda file: file.path))


def _diffusers(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """Every component folder that `model_index.json` names."""
    if pipeline is None:
        return None
    named = [name for name, value in pipeline.items() if isinstance(value, list) and any(value)]
    plans = [plan for name in named if (plan := _folder_plan(files, name, name))]
    ranks = {name: rank for rank, name in enumerate(_MAIN_FOLDERS)}
    plans.sort(key=lambda plan: (ranks.get(plan.name, len(ranks)), plan.name))
    return Selection("diffusers", tuple(plans)) if plans else None


def _transformers(
    files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None
) -> Selection | None:
    """The root, and the further modules of a sentence-transformers model (`2_Dense/`)."""
    root = _folder_plan(files, "", ROOT_COMPONENT)
    if root is None:
        return None
    modules: list[ComponentPlan] = []
    if any(file.path == MODULES_INDEX for file in files):
        folders = sorted({folder_of(file.path) for file in files})
        numbered = [name for name in folders if name[:1].isdigit() and "/" not in name]
        modules = [plan for name in numbered if (plan := _folder_plan(files, name, name))]
    return Selection("safetensors", (root, *modules))


def _adapter(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """LoRA and other adapters at the root, when there is no model beside them."""
    found = [entry for entry in weight_sets(files, "") if entry.stem.startswith(ADAPTER_STEMS)]
    if not found:
        return None
    plan = ComponentPlan(ROOT_COMPONENT, "", found[0].index, found[0].files)
    return Selection("adapter", (plan,))


def _lone_folder(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """Weights in a folder, when there is only one that they could be in."""
    sets = {folder_of(file.path) for file in files if weight_format(file.path) == "safetensors"}
    if len(sets) != 1:
        return None
    folder = sets.pop()
    plan = _folder_plan(files, folder, folder or ROOT_COMPONENT)
    return Selection("safetensors", (plan,)) if plan else None


def gguf_selection(variant: Variant) -> Selection:
    """One quantization of a GGUF repository."""
    files = tuple(RepoFile(file.path, file.size_bytes) for file in variant.files)
    return Selection("gguf", (ComponentPlan(ROOT_COMPONENT, "", None, files),))


def _gguf(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """The usual quantization of a repository that has nothing else."""
    chosen = choose_variant(gguf_variants(files))
    if chosen is not None:
        return gguf_selection(chosen)
    path = first_incomplete(files)  # reading it explains what is missing
    if path is None:
        return None
    return Selection("gguf", (ComponentPlan(ROOT_COMPONENT, "", None, (RepoFile(path, None),)),))


FINDERS: tuple[Finder, ...] = (_diffusers, _transformers, _adapter, _lone_folder, _gguf)
"""Tried in order; the first that finds weights decides. Other formats join at the end."""


def _folder_plan(files: Sequence[RepoFile], folder: str, name: str) -> ComponentPlan | None:
    chosen = pick_set(weight_sets(files, folder))
    if chosen is None:
        return None
    return ComponentPlan(name, folder, chosen.index, chosen.files)
