"""fetch_snapshot: one model of the live Hub, from its name to a RepoSnapshot.

On the default branch a model takes two round trips and at most four requests, whatever the
number of its shards: the description (with the file list) and what the name lets one guess,
then `config.json` and the rest. A sharded model whose headers the API does not give takes
three, and two requests for each shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from gpusizer.errors import MalformedRepo, PrivateOrMissing, RepoFileNotFound
from gpusizer.hub_id import ModelRef
from gpusizer.snapshot import Component, RepoSnapshot, WeightFile
from gpusizer.tensors import group_tensors
from scrapers.component_tensors import may_ask_headers, prefetch_tensors, read_tensors
from scrapers.first_guess import first_guess
from scrapers.http import HubSession
from scrapers.limits import Limits
from scrapers.reading import Reading
from scrapers.repo_reader import DEFAULT_BRANCH, RepoReader
from scrapers.tokens import Tokens, check_token
from scrapers.weight_files import (
    PIPELINE_INDEX,
    ComponentPlan,
    Selection,
    select_weights,
    uncounted,
)
from scrapers.weight_sets import RepoFile

CONFIG = "config.json"
SINGLE_FILE = "model.safetensors"
INDEX = f"{SINGLE_FILE}.index.json"
EXTRA_CONFIGS = (
    "quantize_config.json",
    "hf_quant_config.json",
    "adapter_config.json",
    "params.json",
    PIPELINE_INDEX,
)


def fetch_snapshot(
    ref: ModelRef,
    session: HubSession,
    limits: Limits,
    token: str | None = None,
    *,
    host_token: str | None = None,
    known: RepoSnapshot | None = None,
) -> RepoSnapshot:
    """Read a model's facts from the Hub. Raises a ModelUnreadable that says why it cannot.

    `token` is the asker's own, `host_token` the operator's (see `Tokens`). `known` is what
    was read before: it is returned if the Hub still has that commit, at one request.
    """
    reading = Reading(ref.repo_id, limits)
    tokens = Tokens(check_token(token), check_token(host_token))
    with RepoReader(session, reading, ref.repo_id, ref.revision, tokens) as reader:
        reader.prefetch("info")
        if known is None:
            _prefetch_guess(reader, ref)
        else:
            info = reader.info()
            if (info.sha, info.gated) == (known.sha, known.gated) and not info.disabled:
                return known
        return _read(reader, ref)


def _prefetch_guess(reader: RepoReader, ref: ModelRef) -> None:
    guess = first_guess(ref.repo_id) if ref.file is None else "neither"
    if guess == "sharded" and may_ask_headers(reader):
        reader.prefetch("headers", INDEX)
    elif guess != "neither":
        reader.prefetch("header", SINGLE_FILE)


def _read(reader: RepoReader, ref: ModelRef) -> RepoSnapshot:
    info = reader.info()
    if info.disabled:
        raise PrivateOrMissing(repo_id=info.repo_id)
    files = reader.tree()
    paths = {file.path for file in files}
    extras = [path for path in EXTRA_CONFIGS if path in paths]
    for path in extras if reader.may_read_files else ():
        reader.prefetch("json", path)
    pipeline = _optional_json(reader, PIPELINE_INDEX) if PIPELINE_INDEX in paths else None
    selection = select_weights(files, info.repo_id, pipeline)
    _check_counts(reader, selection)
    for plan in selection.components:
        if _config_path(plan) in paths and reader.may_read_files:
            reader.prefetch("json", _config_path(plan))
        prefetch_tensors(reader, plan, files)
    components = tuple(_component(reader, plan, files, paths) for plan in selection.components)
    counted = {file.path for component in components for file in component.files}
    configs = {path: value for path in extras if (value := _optional_json(reader, path))}
    return RepoSnapshot(
        repo_id=info.repo_id,
        revision=ref.revision or DEFAULT_BRANCH,
        sha=info.sha,
        source="hub",
        retrieved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        format=selection.format,
        components=components,
        gated=info.gated,
        extra_configs=configs,
        uncounted_files=tuple(
            WeightFile(file.path, file.size_bytes, 0) for file in uncounted(files, counted)
        ),
        license=info.license,
        base_models=info.base_models,
        pipeline_tag=info.pipeline_tag,
        library=info.library,
    )


def _check_counts(reader: RepoReader, selection: Selection) -> None:
    if len(selection.components) > reader.limits.components:
        raise reader.reading.exceeded("components")
    if sum(len(plan.files) for plan in selection.components) > reader.limits.weight_files:
        raise reader.reading.exceeded("weight_files")


def _component(
    reader: RepoReader, plan: ComponentPlan, files: Sequence[RepoFile], paths: set[str]
) -> Component:
    # Tensors first: they may need a further round trip, which the configuration overlaps.
    weight_files, tensors = read_tensors(reader, plan, files)
    config_path = _config_path(plan)
    config = reader.json(config_path) if config_path in paths else None
    return Component(plan.name, config, weight_files, group_tensors(tensors))


def _config_path(plan: ComponentPlan) -> str:
    return f"{plan.folder}/{CONFIG}" if plan.folder else CONFIG


def _optional_json(reader: RepoReader, path: str) -> dict[str, Any] | None:
    """A configuration that is nice to have: one that is broken or gone is left out."""
    try:
        return reader.json(path)
    except (MalformedRepo, RepoFileNotFound):
        return None
