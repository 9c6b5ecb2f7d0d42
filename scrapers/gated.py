"""What the Hub says of a gated repository to anybody: sizes, dtypes, parameter counts.

The tree and the API's answer are public since 2024 (huggingface.js pull request 945);
headers and configurations are not.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.errors import GatedModel, LimitsExceeded
from gpusizer.snapshot import Component, Config, Format
from scrapers.hub_api import RepoInfo
from scrapers.limits import Limits
from scrapers.totals import gated_component
from scrapers.weight_files import PIPELINE_INDEX, ROOT_COMPONENT, by_folder, select_weights
from scrapers.weight_sets import RepoFile

Weights = tuple[Format, tuple[Component, ...], dict[str, Config]]
"""Format, components and small configurations of a repository."""


def gated_weights(info: RepoInfo, files: Sequence[RepoFile], limits: Limits) -> Weights:
    """Totals in place of tensors. Raises GatedModel when not even a size is public.

    A pipeline's components are its folders, each by its files: the API counts only one.
    """
    pipeline = None
    if any(file.path == PIPELINE_INDEX for file in files):
        pipeline = {name: [name] for name in by_folder(files) if name}
    selection = select_weights(files, info.repo_id, pipeline)
    several = len(selection.components) > 1
    if len(selection.components) > limits.components:
        raise LimitsExceeded(repo_id=info.repo_id, limit="components", allowed=limits.components)
    found = [
        gated_component(
            plan.name,
            info.config if plan.name == ROOT_COMPONENT else None,
            plan.files,
            None if several else info.parameters,
        )
        for plan in selection.components
    ]
    components = tuple(component for component in found if component is not None)
    if not components:
        raise GatedModel(repo_id=info.repo_id)
    return selection.format, components, {}
