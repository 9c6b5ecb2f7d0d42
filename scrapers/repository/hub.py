"""fetch_snapshot: reads one model of the Hub and returns a RepoSnapshot.

A sharded model on the default branch takes two round trips and four requests, whatever its number
of shards: the description (with the file list), then `config.json`, the model card and all headers
in one response of the API; beside these one for benchmark results if it has files of them. Headers
from the files, and the header of a single file, take a third: their redirects, then the CDN, two
requests for each. Of a GGUF repository the header of one quantization is read; its length
determines the further requests.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gpusizer.core.errors import (
    GatedModel,
    MalformedRepo,
    ModelUnreadable,
    NoWeights,
    PrivateOrMissing,
    RepoFileNotFound,
)
from gpusizer.core.loose_values import JsonValue
from gpusizer.core.messages import Note
from gpusizer.core.tokens import check_token
from gpusizer.hub.card_statements import ModelCard
from gpusizer.hub.model_ref import DEFAULT_BRANCH, ModelRef, is_repo_id
from gpusizer.hub.published_results import PublishedResult
from gpusizer.hub.reading_steps import OnStep, ignore_step
from gpusizer.hub.snapshot import Component, Config, RepoSnapshot, WeightFile
from scrapers.client.http import HubSession
from scrapers.client.hub_api import RepoInfo
from scrapers.client.published_results import EVALUATIONS_FOLDER, joined_results
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.weight_files import (
    CONFIG,
    PIPELINE_INDEX,
    ComponentPlan,
    Selection,
    config_path,
    lacks_promised,
    select_weights,
    uncounted,
    weight_format,
)
from scrapers.formats.weight_sets import is_complete
from scrapers.limits import Limits
from scrapers.readme.model_card import CARD, read_card
from scrapers.repository.component_tensors import prefetch_tensors, read_tensors, split_checkpoint
from scrapers.repository.gguf_repo import gguf_component, listed_variants, named_selection
from scrapers.repository.read_steps import ReadSteps
from scrapers.repository.repo_files import RepoFiles
from scrapers.repository.repo_reader import RepoReader
from scrapers.repository.tokens import Tokens
from scrapers.repository.totals import Weights, gated_component, gated_weights, pickled_component

_HUB = "https://huggingface.co"
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
    host_describes: bool = False,
    last_known: RepoSnapshot | None = None,
    on_step: OnStep = ignore_step,
) -> RepoSnapshot:
    """Read a model's facts from the Hub. Raises a ModelUnreadable with the reason.

    `token` is the visitor's own; `host_token` and `host_describes` are in `Tokens`. `last_known` is
    an earlier snapshot: it is returned if the Hub still has that commit, after a single request.
    `on_step` receives the steps of a read.
    """
    budget = ReadBudget(ref.repo_id, limits)
    tokens = Tokens(check_token(token), check_token(host_token), host_describes)
    with RepoReader(session, budget, ref.repo_id, ref.revision, tokens) as reader:
        info = reader.info()
        if last_known is not None and _is_current(last_known, info):
            return last_known
        return build_snapshot(reader, ref, on_step)


def build_snapshot(reader: RepoFiles, ref: ModelRef, on_step: OnStep = ignore_step) -> RepoSnapshot:
    """Build the snapshot of a model from its files. Raises as `fetch_snapshot` does."""
    info = reader.info()
    if info.disabled:
        raise PrivateOrMissing(repo_id=info.repo_id, reason="disabled")
    steps = ReadSteps(on_step)
    steps.listed(len(reader.tree()))
    if _reads_card(reader, ref):
        reader.prefetch("text", CARD)
    if _has_evaluations(reader, ref):
        reader.prefetch("evaluations")
    form, components, configs = _weights_of_whole_list(reader, ref, steps)
    files = reader.tree()
    card, card_notes = _card(reader, ref) if _reads_card(reader, ref) else (None, ())
    results, result_notes = _published_results(reader, ref)
    steps.finished()
    counted = {file.path for component in components for file in component.files}
    is_gguf = form == "gguf"
    if is_gguf:  # the others are variants
        counted |= {file.path for file in files if weight_format(file.path) == "gguf"}
    snapshot = RepoSnapshot(
        **info.facts | {"published_results": results},
        revision=ref.revision or DEFAULT_BRANCH,
        source="hub",
        retrieved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        format=form,
        components=components,
        extra_configs=configs,
        uncounted_files=tuple(
            WeightFile(file.path, file.size_bytes, 0) for file in uncounted(files, counted)
        ),
        variants=listed_variants(reader, files) if is_gguf else (),
        notes=(*card_notes, *result_notes),
        card=card,
    )
    if info.repo_id.casefold() != ref.repo_id.casefold():
        return snapshot.with_notes(Note("repo_renamed", asked=ref.repo_id, repo_id=info.repo_id))
    return snapshot


def _is_current(snapshot: RepoSnapshot, info: RepoInfo) -> bool:
    # A missing card, or missing results, may be readable now.
    lacks_any = any(note.code in ("card_unread", "results_unread") for note in snapshot.notes)
    is_same = (info.sha, info.gated) == (snapshot.sha, snapshot.gated)
    return is_same and not info.disabled and not lacks_any


def _reads_card(reader: RepoFiles, ref: ModelRef) -> bool:
    return CARD in reader.listed and ref.reads_card and reader.may_read_files


def _card(reader: RepoFiles, ref: ModelRef) -> tuple[ModelCard | None, tuple[Note, ...]]:
    # A card that cannot be read, or not to its end, leaves a note. That of a gated or private model
    # is read with the visitor's own rights, never the operator's.
    sha = reader.info().sha or ref.revision or DEFAULT_BRANCH
    url = f"{_HUB}/{reader.repo_id}/blob/{sha}/{CARD}" if is_repo_id(reader.repo_id) else ""
    try:
        card = read_card(reader.text(CARD), reader.repo_id, url)
        return card, (Note("card_read_in_part"),) if card.is_partial else ()
    except GatedModel:
        return None, ()
    except ModelUnreadable as error:
        return None, (Note("card_unread", reason=error.code),)


def _has_evaluations(reader: RepoFiles, ref: ModelRef) -> bool:
    # Only a repository with such files costs the request, which no other answer can be had with.
    return ref.reads_card and any(path.startswith(EVALUATIONS_FOLDER) for path in reader.listed)


def _published_results(
    reader: RepoFiles, ref: ModelRef
) -> tuple[tuple[PublishedResult, ...], tuple[Note, ...]]:
    # Those of the files first. If these cannot be read, a note says so.
    of_card = reader.info().published_results
    if not _has_evaluations(reader, ref):
        return of_card, ()
    try:
        return joined_results(reader.evaluations(), of_card), ()
    except ModelUnreadable as error:
        return of_card, (Note("results_unread", reason=error.code),)


def _weights_of_whole_list(reader: RepoFiles, ref: ModelRef, steps: ReadSteps) -> Weights:
    # Read again if the list lacks weights and the tree has further files.
    try:
        return _weights_or_totals(reader, ref, steps)
    except (NoWeights, RepoFileNotFound):
        if not reader.confirm_tree():
            raise
    except MalformedRepo as error:
        if error.fields["reason"] != "missing_shard" or not reader.confirm_tree():
            raise
    return _weights_or_totals(reader, ref, steps)


def _weights_or_totals(reader: RepoFiles, ref: ModelRef, steps: ReadSteps) -> Weights:
    try:
        return _weights(reader, ref, steps)
    except GatedModel:
        files = reader.tree()
        if lacks_promised(files, select_weights(files, reader.repo_id), None):
            reader.confirm_tree()
        return gated_weights(reader.info(), reader.tree(), reader.limits)


def _weights(reader: RepoFiles, ref: ModelRef, steps: ReadSteps) -> Weights:
    # Raises GatedModel if files may not be read.
    if not reader.may_read_files:
        raise GatedModel(repo_id=reader.repo_id)
    pipeline, selection = _selected(reader, ref)
    if lacks_promised(reader.tree(), selection, pipeline) and reader.confirm_tree():
        _, selection = _selected(reader, ref)
    _check_counts(reader, selection)
    extras = [path for path in EXTRA_CONFIGS if path in reader.listed]
    steps.selected(sum(len(plan.files) for plan in selection.components if not plan.pickled))
    components = _components(reader, selection, steps)
    configs: dict[str, Config] = {
        path: value for path in extras if (value := _optional_json(reader, path))
    }
    return (*split_checkpoint(selection.format, components), configs)


def _selected(reader: RepoFiles, ref: ModelRef) -> tuple[Config | None, Selection]:
    # Starts the reads of the small configurations.
    paths = reader.listed.keys()
    if CONFIG in paths and reader.info().gated:
        reader.json(CONFIG)  # if this is refused, every shard would be refused as well
    for path in EXTRA_CONFIGS:
        if path in paths:
            reader.prefetch("json", path)
    pipeline = _optional_json(reader, PIPELINE_INDEX) if PIPELINE_INDEX in paths else None
    selection = None
    if ref.file is not None or ref.tag is not None:
        selection = named_selection(reader.tree(), ref, reader.repo_id)
    return pipeline, selection or select_weights(reader.tree(), reader.repo_id, pipeline)


def _components(reader: RepoFiles, selection: Selection, steps: ReadSteps) -> tuple[Component, ...]:
    if selection.format == "gguf":
        return tuple(gguf_component(reader, plan, steps) for plan in selection.components)
    for plan in selection.components:
        if config_path(plan) in reader.listed:
            reader.prefetch("json", config_path(plan))
        if not plan.pickled:
            prefetch_tensors(reader, plan)
    components = []
    for plan in selection.components:
        components.append(_component(reader, plan, steps))
        if sum(len(part.tensors) for part in components) > reader.limits.tensor_groups:
            raise reader.budget.exceeded("tensor_groups")
    return tuple(components)


def _check_counts(reader: RepoFiles, selection: Selection) -> None:
    if len(selection.components) > reader.limits.components:
        raise reader.budget.exceeded("components")
    if sum(len(plan.files) for plan in selection.components) > reader.limits.weight_files:
        raise reader.budget.exceeded("weight_files")


def _component(reader: RepoFiles, plan: ComponentPlan, steps: ReadSteps) -> Component:
    path = config_path(plan)
    if plan.pickled:
        return _pickled(reader, plan, reader.json(path) if path in reader.listed else None)
    # Tensors first: they may need a further round trip, which the configuration overlaps.
    weight_files, groups = read_tensors(reader, plan, steps)
    config = reader.json(path) if path in reader.listed else None
    return Component(plan.name, config, weight_files, groups)


def _pickled(reader: RepoFiles, plan: ComponentPlan, config: Config | None) -> Component:
    # Pickles are not opened: sizes of files and index count.
    first = plan.files[0].path
    if not is_complete(plan.files):
        raise MalformedRepo(repo_id=reader.repo_id, file=first, reason="missing_shard")
    index = None
    if plan.index is not None:
        try:
            index = reader.index(plan.index)
        except MalformedRepo:
            index = None
    component = pickled_component(plan.name, config, plan.files, index)
    if component is None:  # no size: the Hub may have counted a conversion of its own
        counts = reader.info().parameters
        component = gated_component(plan.name, config, plan.files, counts)
    if component is None:
        raise MalformedRepo(repo_id=reader.repo_id, file=first, reason="no_tensors")
    return component


def _optional_json(reader: RepoFiles, path: str) -> dict[str, JsonValue] | None:
    # None if its JSON is invalid. Raises HubUnreachable if the response contradicts the file list.
    try:
        return reader.json(path)
    except MalformedRepo:
        return None
