"""Tensors of one component, read by one request for all headers or shard by shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusizer.core.errors import (
    GatedModel,
    HubUnreachable,
    LimitsExceeded,
    MalformedRepo,
    ModelUnreadable,
    UnsupportedDtype,
)
from gpusizer.core.units import KIB
from gpusizer.hub.snapshot import Component, Format, WeightFile
from gpusizer.hub.tensors import TensorGroup, count_names, merge_groups
from scrapers.client.hub_api import is_plain_path
from scrapers.formats.headers_answer import Headers, parse_headers
from scrapers.formats.weight_files import ComponentPlan
from scrapers.formats.weight_sets import is_complete, is_numbered
from scrapers.repository.header_turns import Header
from scrapers.repository.read_steps import ReadSteps
from scrapers.repository.repo_files import RepoFiles

# Weight files of a component in order, and its tensors as groups.
Tensors = tuple[tuple[WeightFile, ...], tuple[TensorGroup, ...]]

# Headers are 1.2 to 1.5 times as long as the index that lists their tensors (230 repositories),
# and shards differ: a factor of 1.5 and a shared reserve of 128 KiB make a second read rare.
_HEADER_PER_INDEX_BYTE = 1.5
_SPARE_BYTES = 128 * KIB


def prefetch_tensors(reader: RepoFiles, plan: ComponentPlan) -> None:
    """Start the reads that the file names show to be necessary."""
    if _asks_headers(reader, plan):
        reader.prefetch("headers", plan.index or "")
    elif plan.index is not None and not is_numbered(plan.files):
        reader.prefetch("index", plan.index)
    else:
        _prefetch_shards(reader, plan, [file.path for file in plan.files])


def read_tensors(reader: RepoFiles, plan: ComponentPlan, steps: ReadSteps) -> Tensors:
    """Return the weight files and tensors of a component; `steps` counts headers.

    Raises MalformedRepo ("missing_shard", "weight_map", "no_tensors", "duplicate_tensor" for a
    tensor in two shards, or as a header's parser does), LimitsExceeded.
    """
    headers_by_path, index_in_doubt = None, False
    if _asks_headers(reader, plan):
        headers_by_path, index_in_doubt = _all_headers(reader, plan)
        steps.headers_read(len(headers_by_path or ()))
    if headers_by_path is None:
        headers_by_path = _shard_by_shard(reader, plan, index_in_doubt, steps)
    weight_files, listed = [], reader.listed
    for path, (groups, header_file_bytes) in headers_by_path.items():
        size_bytes = listed[path].size_bytes if header_file_bytes is None else header_file_bytes
        count = sum(group.count for group in groups)
        weight_files.append(WeightFile(path, size_bytes, count))
    if not any(file.tensor_count for file in weight_files):
        raise MalformedRepo(
            repo_id=reader.repo_id, file=next(iter(headers_by_path)), reason="no_tensors"
        )
    merged = merge_groups(groups for groups, _ in headers_by_path.values())
    if count_names(merged) != sum(file.tensor_count for file in weight_files):
        raise MalformedRepo(
            repo_id=reader.repo_id, file=next(iter(headers_by_path)), reason="duplicate_tensor"
        )
    if len(merged) > reader.limits.tensor_groups:
        raise reader.budget.exceeded("tensor_groups")
    return tuple(weight_files), merged


# Headers by the paths of their files, in order.
_HeadersByPath = dict[str, Header]


def _asks_headers(reader: RepoFiles, plan: ComponentPlan) -> bool:
    if plan.index is None or not reader.may_ask_headers:
        return False
    index_bytes = _index_bytes(reader, plan)
    return index_bytes is None or index_bytes * _HEADER_PER_INDEX_BYTE < reader.limits.headers_bytes


def _all_headers(reader: RepoFiles, plan: ComponentPlan) -> tuple[_HeadersByPath | None, bool]:
    # The headers are None if the API sends none that can be used; the shards' names then come from
    # the index if the second value is true. Raises GatedModel, and LimitsExceeded ("total_bytes",
    # "weight_files", "tensors", "tensor_groups").
    index = plan.index or ""
    prefix = f"{plan.folder}/" if plan.folder else ""
    try:
        answer = reader.headers(index)
    except ModelUnreadable as refusal:
        reader.budget.seconds_left()
        return None, _handle_refusal(reader, refusal)
    shard_sizes = {
        path.removeprefix(prefix): file.size_bytes
        for path, file in reader.listed.items()
        if prefix in path
    }
    try:
        headers: Headers = parse_headers(answer, shard_sizes, reader.limits, reader.repo_id, index)
    except (MalformedRepo, UnsupportedDtype):
        return None, True
    if len(headers) > reader.limits.weight_files:
        raise reader.budget.exceeded("weight_files")
    shards = {prefix + shard for shard in headers}
    # Unnumbered names do not show that the list of shards is complete: the index has to confirm.
    if shards != {file.path for file in plan.files} and (
        is_numbered(plan.files) or shards != set(_indexed_shards(reader, plan, index))
    ):
        return None, True
    for groups in headers.values():
        reader.budget.count_groups(groups)
    return {path: (headers[path.removeprefix(prefix)], None) for path in sorted(shards)}, False


def _handle_refusal(reader: RepoFiles, refusal: ModelUnreadable) -> bool:
    # Suspends the route; returns whether the refusal puts the index in doubt.
    if isinstance(refusal, GatedModel):
        if reader.info().gated:
            raise refusal
        return False  # the requests for the files show whether the repository is gated
    if isinstance(refusal, LimitsExceeded):
        if refusal.fields["limit"] == "total_bytes":
            raise refusal
        return False
    if isinstance(refusal, HubUnreachable) and refusal.fields["reason"] == "unexpected_answer":
        return True
    reader.suspend_headers_route(refusal)
    return False


def _shard_by_shard(
    reader: RepoFiles,
    plan: ComponentPlan,
    index_in_doubt: bool,
    steps: ReadSteps,
) -> _HeadersByPath:
    if plan.index is not None and (index_in_doubt or not is_numbered(plan.files)):
        shards = _indexed_shards(reader, plan, plan.index)
    elif not is_complete(plan.files):
        first = plan.files[0].path
        raise MalformedRepo(repo_id=reader.repo_id, file=first, reason="missing_shard")
    else:
        shards = [file.path for file in plan.files]
    _prefetch_shards(reader, plan, shards)
    headers_by_path: _HeadersByPath = {}
    for path in sorted(shards):
        headers_by_path[path] = reader.header(path)
        steps.headers_read()
    return headers_by_path


def _prefetch_shards(reader: RepoFiles, plan: ComponentPlan, shards: Sequence[str]) -> None:
    index_bytes = _index_bytes(reader, plan)
    if index_bytes is not None and shards:
        expected = index_bytes * _HEADER_PER_INDEX_BYTE + _SPARE_BYTES
        reader.expect_headers(shards, int(expected / len(shards)))
    for path in shards:
        reader.prefetch("header", path)


def _index_bytes(reader: RepoFiles, plan: ComponentPlan) -> int | None:
    index = reader.listed.get(plan.index or "")
    return None if index is None else index.size_bytes


def _indexed_shards(reader: RepoFiles, plan: ComponentPlan, index: str) -> list[str]:
    # Paths of the shards. Raises MalformedRepo, LimitsExceeded.
    names = reader.index(index).shards
    prefix = f"{plan.folder}/" if plan.folder else ""
    shards = [prefix + name for name in names]
    problem = None
    if not names or not all(map(is_plain_path, names)):
        problem = "weight_map"
    elif not reader.listed.keys() >= set(shards):
        problem = "missing_shard"
    if problem is not None:
        raise MalformedRepo(repo_id=reader.repo_id, file=index, reason=problem)
    if len(shards) > reader.limits.weight_files:
        raise reader.budget.exceeded("weight_files")
    return shards


# The denoiser comes first: the pipeline's profile takes its facts from the first component.
# Beginnings of tensors' names in a checkpoint of one file -> component.
_PREFIXES = {
    "model.diffusion_model.": "denoiser",
    "first_stage_model.": "vae",
    "vae.": "vae",
    "cond_stage_model.": "text_encoder",
    "conditioner.": "text_encoder",
    "text_encoders.": "text_encoder",
}
_BARE_DENOISERS = ("double_blocks.{}.", "joint_blocks.{}.", "input_blocks.{}.")
_OTHER = "other"
_ORDER = ("denoiser", "text_encoder", "vae", _OTHER)


def split_checkpoint(
    form: Format, components: tuple[Component, ...]
) -> tuple[Format, tuple[Component, ...]]:
    """Split a single-file pipeline into its components; return anything else unchanged."""
    if form != "safetensors" or len(components) != 1 or components[0].config is not None:
        return form, components
    component = components[0]
    patterns = [group.pattern for group in component.tensors]
    if any(pattern.startswith(_BARE_DENOISERS) for pattern in patterns):
        return "diffusers", (replace(component, name=_ORDER[0]),)
    if not any(pattern.startswith(next(iter(_PREFIXES))) for pattern in patterns):
        return form, components
    parts: dict[str, list[TensorGroup]] = {}
    for group in component.tensors:
        matching = (part for prefix, part in _PREFIXES.items() if group.pattern.startswith(prefix))
        parts.setdefault(next(matching, _OTHER), []).append(group)
    names = [name for name in _ORDER if name in parts]
    return "diffusers", tuple(
        Component(
            name,
            None,
            # The one file is listed once, under the first component.
            component.files if number == 0 else (),
            tuple(parts[name]),
        )
        for number, name in enumerate(names)
    )
