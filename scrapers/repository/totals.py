"""Totals of weights whose headers are not read: pickles and gated files. Pure.

The Hub shows sizes and parameter counts of a gated repository to everybody: file list and
description are public since 2024 (huggingface.js pull request 945), headers and configurations are
not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpusizer.core.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.core.errors import GatedModel, LimitsExceeded
from gpusizer.core.loose_values import JsonValue, object_in
from gpusizer.hub.snapshot import Component, Config, Format, Totals, WeightFile
from scrapers.client.hub_api import RepoInfo
from scrapers.formats.shard_index import ShardIndex
from scrapers.formats.weight_files import PIPELINE_INDEX, ROOT_COMPONENT, by_folder, select_weights
from scrapers.formats.weight_sets import RepoFile
from scrapers.limits import Limits

# Format, components and small configurations of a repository.
Weights = tuple[Format, tuple[Component, ...], dict[str, Config]]

# torch's dtype names in configurations (`torch_dtype`, since 2025 `dtype`) -> safetensors names.
_TORCH_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float": "F32",
    "bfloat16": "BF16",
    "float16": "F16",
    "half": "F16",
    "float8_e4m3fn": "F8_E4M3",
    "int8": "I8",
}
_DEFAULT_DTYPE = "F32"  # the dtype that transformers saved before configurations stated it
# Least and largest share of the file bytes that a plausible `total_size` has.
_LEAST_SHARE, _LARGEST_SHARE = 0.9, 1.001
_CLOSE = 0.02


def gated_weights(info: RepoInfo, files: Sequence[RepoFile], limits: Limits) -> Weights:
    """Return components with totals in place of tensors. Raises GatedModel without any size."""
    # The components of a pipeline are its folders, counted by their files: the API's parameter
    # count covers one component only.
    pipeline = None
    if any(file.path == PIPELINE_INDEX for file in files):
        pipeline = {name: [name] for name in by_folder(files) if name}
    selection = select_weights(files, info.repo_id, pipeline)
    has_several = len(selection.components) > 1
    if len(selection.components) > limits.components:
        raise LimitsExceeded(repo_id=info.repo_id, limit="components", allowed=limits.components)
    totals = [
        gated_component(
            plan.name,
            info.config if plan.name == ROOT_COMPONENT else None,
            plan.files,
            None if has_several else info.parameters,
        )
        for plan in selection.components
    ]
    components = tuple(component for component in totals if component is not None)
    if not components:
        raise GatedModel(repo_id=info.repo_id)
    return selection.format, components, {}


def pickled_component(
    name: str, config: Config | None, files: Sequence[RepoFile], index: ShardIndex | None
) -> Component | None:
    """Estimate a component from the sizes of its files; return None if the Hub gives no size."""
    # The index's `total_size` would be the bytes of the tensors alone, but some tools write 0 or
    # twice the files' bytes. It is used only if it is close to the files' bytes.
    file_bytes = sum(file.size_bytes or 0 for file in files)
    claimed = _total_size(index.total_size if index else None)
    is_plausible = claimed is not None and (
        not file_bytes or _LEAST_SHARE <= claimed / file_bytes <= _LARGEST_SHARE
    )
    weight_bytes = claimed if is_plausible and claimed is not None else file_bytes
    if not weight_bytes:
        return None
    dtype = torch_dtype(config)
    parameters = weight_bytes * 8 // DTYPE_BITS[dtype]
    totals = Totals({dtype: parameters}, weight_bytes, "index" if is_plausible else "files")
    return Component(name, config, _weight_files(files), (), totals)


def gated_component(
    name: str,
    config: Config | None,
    files: Sequence[RepoFile],
    parameters: Mapping[str, int] | None,
) -> Component | None:
    """Estimate a component from the API's parameter count, else from file sizes at 16 bits.

    Returns None if the Hub gives neither.
    """
    file_bytes = sum(file.size_bytes or 0 for file in files)
    if not parameters and not file_bytes:
        return None
    # The API counts the parameters of packed checkpoints after unpacking, so that their bytes are
    # taken from the files.
    totals = Totals({"BF16": file_bytes // 2}, file_bytes, "files")
    if parameters:
        counted_bytes = sum(stored_bytes(dtype, count) for dtype, count in parameters.items())
        agrees = not file_bytes or abs(counted_bytes - file_bytes) <= _CLOSE * file_bytes
        totals = Totals(parameters, counted_bytes if agrees else file_bytes, "api")
    return Component(name, config, _weight_files(files), (), totals)


def torch_dtype(config: Config | None) -> str:
    """Return the dtype of a configuration's weights, by its safetensors name; F32 by default."""
    nested = ("text_config", "llm_config")
    places = [] if config is None else [config, *(object_in(config.get(key)) for key in nested)]
    for place in places:
        for key in ("torch_dtype", "dtype"):
            value = place.get(key)
            if isinstance(value, str) and value.removeprefix("torch.") in _TORCH_DTYPES:
                return _TORCH_DTYPES[value.removeprefix("torch.")]
    return _DEFAULT_DTYPE


def _total_size(size: JsonValue) -> int | None:
    # Some tools write a float.
    if isinstance(size, bool) or not isinstance(size, int | float) or not 0 < size < 2**53:
        return None
    return int(size)


def _weight_files(files: Sequence[RepoFile]) -> tuple[WeightFile, ...]:
    return tuple(WeightFile(file.path, file.size_bytes, 0) for file in files)
