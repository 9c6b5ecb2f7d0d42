"""Which file lists of a description cannot be whole: they lack what they themselves promise. Pure.

The Hub cuts the list of a description "well before 50k files" where its cache is short, and has
sent none at all (huggingface_hub pull requests 3565 and 3241); the tree lists every file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpusizer.hub.snapshot import ADAPTER_COMPONENT
from scrapers.gguf_files import first_incomplete
from scrapers.weight_files import ComponentPlan, Selection, by_folder, pipeline_folders
from scrapers.weight_sets import RepoFile, is_complete

CONFIG = "config.json"
_ROOT_CONFIGS = (CONFIG, "params.json")
_TRUSTED_FILES = 1000
"""huggingface_hub believes a shorter list: `_TREE_PAGINATION_LIMIT` of its snapshot download."""


def may_be_cut(files: Sequence[RepoFile]) -> bool:
    """Whether the length of a description's list already says that it may not be whole."""
    return not 0 < len(files) < _TRUSTED_FILES


def lacks_promised(
    files: Sequence[RepoFile], selection: Selection, pipeline: Mapping[str, Any] | None
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
    """Path of a component's configuration."""
    return f"{plan.folder}/{CONFIG}" if plan.folder else CONFIG


def _lacks(plan: ComponentPlan, paths: Collection[str]) -> bool:
    if not is_complete(plan.files):
        return True
    if plan.name == ADAPTER_COMPONENT:
        return "adapter_config.json" not in paths
    configs = (config_path(plan),) if plan.folder else _ROOT_CONFIGS
    return not any(path in paths for path in configs)
