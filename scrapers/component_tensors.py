"""The tensors of one component: in one answer of the API where it has one, else shard by shard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gpusizer.core.errors import (
    GatedModel,
    HubUnreachable,
    LimitsExceeded,
    MalformedRepo,
    ModelUnreadable,
    UnsupportedDtype,
)
from gpusizer.hub.snapshot import WeightFile
from gpusizer.hub.tensors import TensorGroup, count_names, merge_groups
from scrapers.error_mapping import is_transient
from scrapers.header_reading import Header
from scrapers.headers_answer import Headers, parse_headers
from scrapers.hub_api import is_plain_path
from scrapers.limits import KIB
from scrapers.repo_files import RepoFiles
from scrapers.weight_files import ComponentPlan
from scrapers.weight_sets import RepoFile, is_complete, is_numbered

Tensors = tuple[tuple[WeightFile, ...], tuple[TensorGroup, ...]]
"""Files of a component in order, and what is in them."""

# How long the route that gives all headers is not asked again: after a failure that may pass,
# and after a refusal by a mirror that does not have it.
_BRIEFLY_SECONDS = 60.0
_REFUSED_SECONDS = 600.0
# Headers are 1.2 to 1.5 times as long as the index that lists their tensors (230 repositories),
# and shards differ: half as much again and a share of 128 KiB make a second read rare.
_HEADER_PER_INDEX_BYTE = 1.5
_SPARE_BYTES = 128 * KIB


def prefetch_tensors(reader: RepoFiles, plan: ComponentPlan, files: Sequence[RepoFile]) -> None:
    """Start the reads that the file names call for."""
    if _asks_headers(reader, plan, files):
        reader.prefetch("headers", plan.index or "")
    elif plan.index is not None and not is_numbered(plan.files):
        reader.prefetch("index", plan.index)
    else:
        _prefetch_shards(reader, plan, [file.path for file in plan.files], files)


def read_tensors(reader: RepoFiles, plan: ComponentPlan, files: Sequence[RepoFile]) -> Tensors:
    """Everything the component's headers say.

    Raises MalformedRepo ("missing_shard", "weight_map", "no_tensors", "duplicate_tensor" for one
    in two shards, …), LimitsExceeded.
    """
    sizes = {file.path: file.size_bytes for file in files}
    found, doubtful = None, False
    if _asks_headers(reader, plan, files):
        found, doubtful = _all_headers(reader, plan, sizes)
    if found is None:
        found = _shard_by_shard(reader, plan, files, doubtful)
    weight_files = []
    for path, (groups, seen_bytes) in found.items():
        size_bytes = sizes[path] if seen_bytes is None else seen_bytes
        count = sum(group.count for group in groups)
        weight_files.append(WeightFile(path, size_bytes, count))
    if not any(file.tensor_count for file in weight_files):
        raise MalformedRepo(repo_id=reader.repo_id, file=next(iter(found)), reason="no_tensors")
    merged = merge_groups(groups for groups, _ in found.values())
    if count_names(merged) != sum(file.tensor_count for file in weight_files):
        raise MalformedRepo(
            repo_id=reader.repo_id, file=next(iter(found)), reason="duplicate_tensor"
        )
    if len(merged) > reader.limits.tensor_groups:
        raise reader.budget.exceeded("tensor_groups")
    return tuple(weight_files), merged


_Found = dict[str, Header]
"""By the file's path, in order."""


def _asks_headers(reader: RepoFiles, plan: ComponentPlan, files: Sequence[RepoFile]) -> bool:
    if plan.index is None or not reader.may_ask_headers:
        return False
    index_bytes = _index_bytes(plan, files)
    return index_bytes is None or index_bytes * _HEADER_PER_INDEX_BYTE < reader.limits.headers_bytes


def _all_headers(
    reader: RepoFiles, plan: ComponentPlan, sizes: Mapping[str, int | None]
) -> tuple[_Found | None, bool]:
    """What the API says of every shard, or None and whether the index itself is in doubt.

    Raises GatedModel, and LimitsExceeded when the whole model has cost too much.
    """
    index = plan.index or ""
    prefix = f"{plan.folder}/" if plan.folder else ""
    answer = reader.headers(index)
    if answer.refusal is not None:
        return None, _refused(reader, answer.refusal)
    beside = {path.removeprefix(prefix): size for path, size in sizes.items() if prefix in path}
    try:
        headers: Headers = parse_headers(answer.body, beside, reader.limits, reader.repo_id, index)
    except (MalformedRepo, UnsupportedDtype):
        return None, True
    if len(headers) > reader.limits.weight_files:
        raise reader.budget.exceeded("weight_files")
    shards = {prefix + shard for shard in headers}
    # Names tell the shards only where they are numbered; else the index has to confirm others.
    if shards != {file.path for file in plan.files} and (
        is_numbered(plan.files) or shards != set(_indexed_shards(reader, plan, index, sizes.keys()))
    ):
        return None, True
    told = ((path, (headers[path.removeprefix(prefix)], None)) for path in sorted(shards))
    return _counted(reader, told), False


def _refused(reader: RepoFiles, refusal: ModelUnreadable) -> bool:
    """Remember a refusal; whether it says that something is wrong with the index."""
    if isinstance(refusal, GatedModel):
        if reader.info().gated:
            raise refusal
        return False  # the files will say whether there is a gate
    if isinstance(refusal, LimitsExceeded):
        if refusal.fields["limit"] == "total_bytes":
            raise refusal
        return False
    if isinstance(refusal, HubUnreachable) and refusal.fields["reason"] == "unexpected_answer":
        return True
    reader.close_headers(_BRIEFLY_SECONDS if is_transient(refusal) else _REFUSED_SECONDS)
    return False


def _shard_by_shard(
    reader: RepoFiles, plan: ComponentPlan, files: Sequence[RepoFile], doubtful: bool
) -> _Found:
    if plan.index is not None and (doubtful or not is_numbered(plan.files)):
        shards = _indexed_shards(reader, plan, plan.index, {file.path for file in files})
    elif not is_complete(plan.files):
        first = plan.files[0].path
        raise MalformedRepo(repo_id=reader.repo_id, file=first, reason="missing_shard")
    else:
        shards = [file.path for file in plan.files]
    _prefetch_shards(reader, plan, shards, files)
    return _counted(reader, ((path, reader.header(path)) for path in sorted(shards)))


def _counted(reader: RepoFiles, headers: Iterable[tuple[str, Header]]) -> _Found:
    """Headers by path, as long as there are not too many tensors or names of them."""
    found: _Found = {}
    left, patterns = reader.limits.tensors, set()
    for path, header in headers:
        found[path] = header
        for group in header[0]:
            left -= group.count
            patterns.add((group.pattern, group.dtype, group.shape))
        if left < 0:
            raise reader.budget.exceeded("tensors")
        if len(patterns) > reader.limits.tensor_groups:
            raise reader.budget.exceeded("tensor_groups")
    return found


def _prefetch_shards(
    reader: RepoFiles, plan: ComponentPlan, shards: Sequence[str], files: Sequence[RepoFile]
) -> None:
    index_bytes = _index_bytes(plan, files)
    if index_bytes is not None and shards:
        expected = index_bytes * _HEADER_PER_INDEX_BYTE + _SPARE_BYTES
        reader.expect_headers(shards, int(expected / len(shards)))
    for path in shards:
        reader.prefetch("header", path)


def _index_bytes(plan: ComponentPlan, files: Sequence[RepoFile]) -> int | None:
    return next((file.size_bytes for file in files if file.path == plan.index), None)


def _indexed_shards(
    reader: RepoFiles, plan: ComponentPlan, index: str, paths: Collection[str]
) -> list[str]:
    """Paths of the files that the index names."""
    names = reader.index(index).shards
    prefix = f"{plan.folder}/" if plan.folder else ""
    shards = [prefix + name for name in names]
    problem = None
    if not names or not all(map(is_plain_path, names)):
        problem = "weight_map"
    elif not set(paths).issuperset(shards):
        problem = "missing_shard"
    if problem is not None:
        raise MalformedRepo(repo_id=reader.repo_id, file=index, reason=problem)
    if len(shards) > reader.limits.weight_files:
        raise reader.budget.exceeded("weight_files")
    return shards
