"""Which files of a repository are its weights. Pure: from the file list to a Selection.

Repositories often hold the same weights several times (`consolidated.safetensors` next to
`model.safetensors`, pickles, GGUF, fp16 variants). One copy is counted, the one its
library would load; the others are listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from gpusizer.errors import NoWeights
from gpusizer.snapshot import ADAPTER_COMPONENT, Format, Variant
from scrapers.weight_sets import (
    ADAPTER_STEMS,
    SAFETENSORS,
    RepoFile,
    folder_of,
    pick_set,
    weight_sets,
)

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
_NOTHING = frozenset({".gitattributes", "README.md"})
# The part of a pipeline that does the work comes first: profiles take its configuration.
_MAIN_FOLDERS = ("transformer", "unet", "transformer_2", "prior", "decoder")
_PICKLES = (".bin", ".pth", ".pt", ".ckpt", ".pkl")
# Meta's own releases: one file for each GPU they were trained on.
_CONSOLIDATED = re.compile(r"(?:.*/)?consolidated\.\d\d\.pth")


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

    @property
    def pickled(self) -> bool:
        """Whether the files are pickles, which show nothing but their size."""
        return any(file.path.endswith(_PICKLES) for file in self.files)


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

    Raises NoWeights naming the formats that were seen, with `reason` "empty" for no file but
    a README.
    """
    for find in FINDERS:
        selection = find(files, pipeline)
        if selection is not None:
            return selection
    seen = sorted({name for file in files if (name := weight_format(file.path))})
    if all(file.path in _NOTHING for file in files):
        raise NoWeights(repo_id=repo_id, formats=seen, reason="empty")
    raise NoWeights(repo_id=repo_id, formats=seen)


def weight_format(path: str) -> str | None:
    """Format of a weight file by its name; None for any other file."""
    name = path.rpartition("/")[2]
    if name.startswith(_NO_WEIGHTS):
        return None
    return next((form for suffix, form in _FORMATS.items() if name.endswith(suffix)), None)


def by_folder(files: Sequence[RepoFile]) -> dict[str, list[RepoFile]]:
    """The files of each folder, in one pass: a repository may have 30,000 of either."""
    found: dict[str, list[RepoFile]] = {}
    for file in files:
        found.setdefault(folder_of(file.path), []).append(file)
    return found


def uncounted(files: Sequence[RepoFile], counted: set[str]) -> tuple[RepoFile, ...]:
    """Weight files that are not counted, in order of their paths."""
    rest = [file for file in files if file.path not in counted and weight_format(file.path)]
    return tuple(sorted(rest, key=lambda file: file.path))


def _diffusers(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """Every component folder that `model_index.json` names, as pickles where need be."""
    if pipeline is None:
        return None
    named = [name for name, value in pipeline.items() if isinstance(value, list) and any(value)]
    inside = by_folder(files)
    found = (_any_plan(inside[name], name) for name in named if name in inside)
    plans = [plan for plan in found if plan is not None]
    ranks = {name: rank for rank, name in enumerate(_MAIN_FOLDERS)}
    plans.sort(key=lambda plan: (ranks.get(plan.name, len(ranks)), plan.name))
    return Selection("diffusers", tuple(plans)) if plans else None


def _transformers(
    files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None
) -> Selection | None:
    """The root, and the further modules of a sentence-transformers model (`2_Dense/`).

    Its first releases keep the transformer in a numbered folder as well (`0_Transformer/`).
    """
    root = _folder_plan(files, "", ROOT_COMPONENT)
    plans = [root] if root is not None else []
    if any(file.path == MODULES_INDEX for file in files):
        inside = by_folder(files)
        numbered = sorted(name for name in inside if name[:1].isdigit() and "/" not in name)
        plans += [plan for name in numbered if (plan := _any_plan(inside[name], name))]
    if not plans or plans[0].pickled:
        return None
    return Selection("safetensors", tuple(plans))


def _adapter(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """LoRA and other adapters at the root, when there is no model beside them."""
    found = [entry for entry in weight_sets(files, "") if entry.stem.startswith(ADAPTER_STEMS)]
    if not found:
        return None
    plan = ComponentPlan(ADAPTER_COMPONENT, "", found[0].index, found[0].files)
    return Selection("adapter", (plan,))


def _best_folder(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """Weights below the root: the folder nearest to it, of several the one with most bytes."""
    inside = by_folder(files)
    sizes = {
        folder: chosen.size_bytes
        for folder in sorted(inside)
        if (chosen := pick_set(weight_sets(inside[folder], folder)))
    }
    if not sizes:
        return None
    folder = min(sizes, key=lambda folder: (folder.count("/"), -sizes[folder], folder))
    plan = _folder_plan(inside[folder], folder, folder or ROOT_COMPONENT)
    return Selection("safetensors", (plan,)) if plan else None


def gguf_selection(variant: Variant) -> Selection:
    """One quantization of a GGUF repository."""
    files = tuple(RepoFile(file.path, file.size_bytes) for file in variant.files)
    return Selection("gguf", (ComponentPlan(ROOT_COMPONENT, "", None, files),))


def _gguf(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """The usual quantization of a repository that has nothing else."""
    gguf = import_module("scrapers.gguf_files")
    chosen = gguf.choose_variant(gguf.gguf_variants(files))
    if chosen is not None:
        return gguf_selection(chosen)
    path = gguf.first_incomplete(files)  # reading it explains what is missing
    if path is None:
        return None
    return Selection("gguf", (ComponentPlan(ROOT_COMPONENT, "", None, (RepoFile(path, None),)),))


def _pickle(files: Sequence[RepoFile], pipeline: Mapping[str, Any] | None) -> Selection | None:
    """Pickles at the root, else Meta's `consolidated.00.pth` wherever they are."""
    usable = [f for f in files if weight_format(f.path) == "pickle" or f.path.endswith(".json")]
    for suffix in _PICKLES[:-1]:
        root = _folder_plan(usable, "", ROOT_COMPONENT, suffix)
        if root is not None and not _CONSOLIDATED.fullmatch(root.files[0].path):
            return Selection("pickle", (root,))
        for entry in weight_sets(usable, "", suffix):
            if entry.stem.startswith(ADAPTER_STEMS) and entry.files:
                plan = ComponentPlan(ADAPTER_COMPONENT, "", entry.index, entry.files)
                return Selection("adapter", (plan,))
    parts = [file for file in usable if _CONSOLIDATED.fullmatch(file.path)]
    folder = min((folder_of(file.path) for file in parts), default=None)
    together = tuple(file for file in parts if folder_of(file.path) == folder)
    plan = ComponentPlan(ROOT_COMPONENT, folder or "", None, together)
    return Selection("pickle", (plan,)) if together else None


FINDERS: tuple[Finder, ...] = (_diffusers, _transformers, _adapter, _best_folder, _gguf, _pickle)
"""Tried in order; the first that finds weights decides. Other formats join at the end."""


def _folder_plan(
    files: Sequence[RepoFile], folder: str, name: str, suffix: str = SAFETENSORS
) -> ComponentPlan | None:
    chosen = pick_set(weight_sets(files, folder, suffix))
    if chosen is None or (suffix != SAFETENSORS and not chosen.files):
        return None
    return ComponentPlan(name, folder, chosen.index, chosen.files)


def _any_plan(files: Sequence[RepoFile], folder: str) -> ComponentPlan | None:
    """A component folder, as a pickle where it has no safetensors."""
    plan = _folder_plan(files, folder, folder)
    return plan or _folder_plan(files, folder, folder, ".bin")
