"""Totals of weights whose headers are not read: pickles, and files behind a gate. Pure.

Of a gated repository the Hub shows sizes and parameter counts to anybody: the tree and the
API's answer are public since 2024 (huggingface.js pull request 945), headers and
configurations are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusizer.core.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.core.errors import GatedModel, LimitsExceeded
from gpusizer.hub.snapshot import Component, Config, Format, Totals, WeightFile
from scrapers.hub_api import RepoInfo
from scrapers.limits import Limits
from scrapers.shard_index import ShardIndex
from scrapers.weight_files import PIPELINE_INDEX, ROOT_COMPONENT, by_folder, select_weights
from scrapers.weight_sets import RepoFile

Weights = tuple[Format, tuple[Component, ...], dict[str, Config]]
"""Format, components and small configurations of a repository."""

# torch's names, as configurations write them (`torch_dtype`, since 2025 `dtype`).
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
_DEFAULT_DTYPE = "F32"  # what transformers saved before configurations said it
# Tensors of one model never fill less of its files, or claim more than fits in them.
_LEAST_SHARE, _LARGEST_SHARE = 0.9, 1.001
_CLOSE = 0.02


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
    totals = [
        gated_component(
            plan.name,
            info.config if plan.name == ROOT_COMPONENT else None,
            plan.files,
            None if several else info.parameters,
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
    """A component by the sizes of its files; None when the Hub says no size.

    The index's `total_size` is the tensors' alone, but tools write it wrongly (0, twice the
    files), so that it counts only where the files agree.
    """
    file_bytes = sum(file.size_bytes or 0 for file in files)
    claimed = _total_size(index.total_size if index else None)
    believed = claimed is not None and (
        not file_bytes or _LEAST_SHARE <= claimed / file_bytes <= _LARGEST_SHARE
    )
    weight_bytes = claimed if believed and claimed is not None else file_bytes
    if not weight_bytes:
        return None
    dtype = torch_dtype(config)
    parameters = weight_bytes * 8 // DTYPE_BITS[dtype]
    totals = Totals({dtype: parameters}, weight_bytes, "index" if believed else "files")
    return Component(name, config, _weight_files(files), (), totals)


def gated_component(
    name: str,
    config: Config | None,
    files: Sequence[RepoFile],
    parameters: Mapping[str, int] | None,
) -> Component | None:
    """A component by the API's parameter count; by file sizes alone at 16 bits a parameter.

    Packed checkpoints are counted unpacked by the API: the bytes are then the files'.
    """
    file_bytes = sum(file.size_bytes or 0 for file in files)
    if not parameters:
        if not file_bytes:
            return None
        totals = Totals({"BF16": file_bytes // 2}, file_bytes, "files")
        return Component(name, config, _weight_files(files), (), totals)
    counted = sum(stored_bytes(dtype, count) for dtype, count in parameters.items())
    agrees = not file_bytes or abs(counted - file_bytes) <= _CLOSE * file_bytes
    totals = Totals(parameters, counted if agrees else file_bytes, "api")
    return Component(name, config, _weight_files(files), (), totals)


def torch_dtype(config: Config | None) -> str:
    """The dtype a configuration says its weights are saved in, by its safetensors name."""
    places = [config or {}, *(_object(config, key) for key in ("text_config", "llm_config"))]
    for place in places:
        for key in ("torch_dtype", "dtype"):
            value = place.get(key)
            if isinstance(value, str) and value.removeprefix("torch.") in _TORCH_DTYPES:
                return _TORCH_DTYPES[value.removeprefix("torch.")]
    return _DEFAULT_DTYPE


def _total_size(size: Any) -> int | None:
    """`metadata.total_size`, a positive number of bytes; some tools write it as a float."""
    if isinstance(size, bool) or not isinstance(size, int | float) or not 0 < size < 2**53:
        return None
    return int(size)


def _object(config: Config | None, key: str) -> Mapping[str, Any]:
    value = (config or {}).get(key)
    return value if isinstance(value, dict) else {}


def _weight_files(files: Sequence[RepoFile]) -> tuple[WeightFile, ...]:
    return tuple(WeightFile(file.path, file.size_bytes, 0) for file in files)
