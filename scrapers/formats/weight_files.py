"""Weights of a repository, selected in its file list. Pure.

Repositories often hold the same weights several times (`consolidated.safetensors` next to
`model.safetensors`, pickles, GGUF, fp16 variants). The copy that the library would load is counted;
the others are listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from gpusizer.core.errors import NoWeights
from gpusizer.core.loose_values import JsonObject
from gpusizer.hub.snapshot import ADAPTER_COMPONENT, Format, Variant
from scrapers.formats.gguf_files import choose_variant, first_incomplete, gguf_variants
from scrapers.formats.weight_sets import (
    ADAPTER_STEMS,
    SAFETENSORS,
    RepoFile,
    folder_of,
    is_complete,
    pick_set,
    weight_sets,
)

ROOT_COMPONENT = "model"
PIPELINE_INDEX = "model_index.json"
MODULES_INDEX = "modules.json"

# Endings of files of weights -> the name of their format in NoWeights.
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
# Beginnings of files of trainers and tokenizers whose names end like those of weights.
_NO_WEIGHTS = (
    "training_args.",
    "optimizer.",
    "scheduler.",
    "rng_state",
    "trainer_state",
    "scaler.",
    "tokenizer.",
    "random_states",
)
# Files of repositories without content.
_NOTHING = (".gitattributes", "README.md")
# The denoiser of a pipeline comes first: profiles take their facts from the first component.
_MAIN_FOLDERS = ("transformer", "unet", "transformer_2", "prior", "decoder")
_PICKLES = (".bin", ".pth", ".pt", ".ckpt", ".pkl")
# Meta's releases have one file for each rank of model parallelism.
_CONSOLIDATED = re.compile(r"(?:.*/)?consolidated\.\d\d\.pth")


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    """Files of one component."""

    name: str  # folder name, or "model" for the root
    folder: str  # its path, "" for the root
    index: str | None  # path of the index that lists the shards; None without one
    files: tuple[RepoFile, ...]  # weight files, selected by name; an index may name others

    @property
    def pickled(self) -> bool:
        """Whether the files are pickles, whose sizes alone are read."""
        return any(file.path.endswith(_PICKLES) for file in self.files)


@dataclass(frozen=True, slots=True)
class Selection:
    """The components to count, in order, and how they are stored."""

    format: Format
    components: tuple[ComponentPlan, ...]


Finder = Callable[[Sequence[RepoFile], JsonObject | None], Selection | None]


def select_weights(
    files: Sequence[RepoFile], repo_id: str, pipeline: JsonObject | None = None
) -> Selection:
    """Select the weights; `pipeline` is the parsed `model_index.json` of a diffusers repository.

    Raises NoWeights with the formats in the file list, and `reason` "empty" if it has no file but a
    README.
    """
    for find in FINDERS:
        selection = find(files, pipeline)
        if selection is not None:
            return selection
    formats = sorted({name for file in files if (name := weight_format(file.path))})
    if all(file.path in _NOTHING for file in files):
        raise NoWeights(repo_id=repo_id, formats=formats, reason="empty")
    raise NoWeights(repo_id=repo_id, formats=formats)


def weight_format(path: str) -> str | None:
    """Return the format of a weight file by its name; None for any other file."""
    name = path.rpartition("/")[2]
    if name.startswith(_NO_WEIGHTS):
        return None
    return next((form for suffix, form in _FORMATS.items() if name.endswith(suffix)), None)


def by_folder(files: Sequence[RepoFile]) -> dict[str, list[RepoFile]]:
    """Group files by folder in one pass: a repository may have 30,000 files and folders."""
    folders: dict[str, list[RepoFile]] = {}
    for file in files:
        folders.setdefault(folder_of(file.path), []).append(file)
    return folders


def pipeline_folders(pipeline: JsonObject) -> list[str]:
    """Return the names of the folders that a `model_index.json` lists."""
    return [name for name, value in pipeline.items() if isinstance(value, list) and any(value)]


def uncounted(files: Sequence[RepoFile], counted_paths: set[str]) -> tuple[RepoFile, ...]:
    """List weight files that are not counted, in order of their paths."""
    uncounted_files = [
        file for file in files if file.path not in counted_paths and weight_format(file.path)
    ]
    return tuple(sorted(uncounted_files, key=lambda file: file.path))


def _diffusers(files: Sequence[RepoFile], pipeline: JsonObject | None) -> Selection | None:
    # Every component folder in `model_index.json`; pickles only in a folder without anything else.
    if pipeline is None:
        return None
    folders, names = by_folder(files), pipeline_folders(pipeline)
    plans_by_name = (_any_plan(folders[name], name) for name in names if name in folders)
    plans = [plan for plan in plans_by_name if plan is not None]
    ranks = {name: rank for rank, name in enumerate(_MAIN_FOLDERS)}
    plans.sort(key=lambda plan: (ranks.get(plan.name, len(ranks)), plan.name))
    return Selection("diffusers", tuple(plans)) if plans else None


def _transformers(files: Sequence[RepoFile], pipeline: JsonObject | None) -> Selection | None:
    # The root, and the further modules of a sentence-transformers model (`2_Dense/`). Early
    # releases of sentence-transformers saved the transformer in a folder `0_Transformer/`.
    root = _folder_plan(files, "", ROOT_COMPONENT)
    plans = [root] if root is not None else []
    if any(file.path == MODULES_INDEX for file in files):
        folders = by_folder(files)
        numbered = sorted(name for name in folders if name[:1].isdigit() and "/" not in name)
        plans += [plan for name in numbered if (plan := _any_plan(folders[name], name))]
    if not plans or plans[0].pickled:
        return None
    return Selection("safetensors", tuple(plans))


def _adapter(files: Sequence[RepoFile], pipeline: JsonObject | None) -> Selection | None:
    # LoRA and other adapters at the root, without a model next to them.
    adapter_sets = [
        entry for entry in weight_sets(files, "") if entry.stem.startswith(ADAPTER_STEMS)
    ]
    if not adapter_sets:
        return None
    plan = ComponentPlan(ADAPTER_COMPONENT, "", adapter_sets[0].index, tuple(adapter_sets[0].files))
    return Selection("adapter", (plan,))


def _best_folder(files: Sequence[RepoFile], pipeline: JsonObject | None) -> Selection | None:
    # The nearest folder below the root, of several the one with the most bytes.
    folders = by_folder(files)
    sizes = {
        folder: weight_set.size_bytes
        for folder in sorted(folders)
        if (weight_set := pick_set(weight_sets(folders[folder], folder)))
    }
    if not sizes:
        return None
    folder = min(sizes, key=lambda folder: (folder.count("/"), -sizes[folder], folder))
    plan = _folder_plan(folders[folder], folder, folder or ROOT_COMPONENT)
    return Selection("safetensors", (plan,)) if plan else None


def gguf_selection(variant: Variant) -> Selection:
    """Select one quantization of a GGUF repository."""
    files = tuple(RepoFile(file.path, file.size_bytes) for file in variant.files)
    return Selection("gguf", (ComponentPlan(ROOT_COMPONENT, "", None, files),))


def _gguf(files: Sequence[RepoFile], pipeline: JsonObject | None) -> Selection | None:
    # The default quantization of a repository that holds GGUF files only.
    variant = choose_variant(gguf_variants(files))
    if variant is not None:
        return gguf_selection(variant)
    path = first_incomplete(files)  # reading it raises the error for the missing shard
    if path is None:
        return None
    return Selection("gguf", (ComponentPlan(ROOT_COMPONENT, "", None, (RepoFile(path, None),)),))


def _pickle(files: Sequence[RepoFile], pipeline: JsonObject | None) -> Selection | None:
    # Pickles at the root, else Meta's `consolidated.00.pth` in any folder.
    usable = [f for f in files if weight_format(f.path) == "pickle" or f.path.endswith(".json")]
    for suffix in _PICKLES[:-1]:
        root = _folder_plan(usable, "", ROOT_COMPONENT, suffix)
        if root is not None and not _CONSOLIDATED.fullmatch(root.files[0].path):
            return Selection("pickle", (root,))
        for entry in weight_sets(usable, "", suffix):
            if entry.stem.startswith(ADAPTER_STEMS) and entry.files:
                plan = ComponentPlan(ADAPTER_COMPONENT, "", entry.index, tuple(entry.files))
                return Selection("adapter", (plan,))
    parts = [file for file in usable if _CONSOLIDATED.fullmatch(file.path)]
    folder = min((folder_of(file.path) for file in parts), default=None)
    folder_parts = tuple(file for file in parts if folder_of(file.path) == folder)
    plan = ComponentPlan(ROOT_COMPONENT, folder or "", None, folder_parts)
    return Selection("pickle", (plan,)) if folder_parts else None


# Tried in order; the first that finds weights decides. Append functions of further formats.
FINDERS: tuple[Finder, ...] = (_diffusers, _transformers, _adapter, _best_folder, _gguf, _pickle)


def _folder_plan(
    files: Sequence[RepoFile], folder: str, name: str, suffix: str = SAFETENSORS
) -> ComponentPlan | None:
    weight_set = pick_set(weight_sets(files, folder, suffix))
    if weight_set is None or (suffix != SAFETENSORS and not weight_set.files):
        return None
    return ComponentPlan(name, folder, weight_set.index, tuple(weight_set.files))


def _any_plan(files: Sequence[RepoFile], folder: str) -> ComponentPlan | None:
    plan = _folder_plan(files, folder, folder)
    return plan or _folder_plan(files, folder, folder, ".bin")


CONFIG = "config.json"
_ROOT_CONFIGS = (CONFIG, "params.json")
# huggingface_hub believes a shorter list: `_TREE_PAGINATION_LIMIT` of its snapshot download.
_TRUSTED_FILES = 1000


def may_be_cut(files: Sequence[RepoFile]) -> bool:
    """Whether the length of a description's list shows that it may be cut."""
    return not 0 < len(files) < _TRUSTED_FILES


def lacks_promised(
    files: Sequence[RepoFile], selection: Selection, pipeline: JsonObject | None
) -> bool:
    """Whether a shard, a configuration or a pipeline's folder that must exist is not listed."""
    paths = {file.path for file in files}
    if pipeline is not None and selection.format == "diffusers":
        folders = by_folder(files)
        if any(name not in folders for name in pipeline_folders(pipeline)):
            return True
    if selection.format == "gguf":
        return first_incomplete(files) is not None
    return any(_lacks(plan, paths) for plan in selection.components)


def config_path(plan: ComponentPlan) -> str:
    """Return the path of a component's configuration."""
    return f"{plan.folder}/{CONFIG}" if plan.folder else CONFIG


def _lacks(plan: ComponentPlan, paths: Collection[str]) -> bool:
    if not is_complete(plan.files):
        return True
    if plan.name == ADAPTER_COMPONENT:
        return "adapter_config.json" not in paths
    configs = (config_path(plan),) if plan.folder else _ROOT_CONFIGS
    return not any(path in paths for path in configs)
