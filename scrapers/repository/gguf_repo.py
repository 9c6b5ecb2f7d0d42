"""Reads a GGUF repository: it chooses a quantization and reads the headers of its files."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from gpusizer.core.errors import MalformedRepo, RepoFileNotFound
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import Component, Variant, WeightFile
from gpusizer.hub.tensors import RawTensor, group_tensors
from scrapers.formats.gguf_files import choose_variant, first_incomplete, gguf_variants, is_gguf
from scrapers.formats.gguf_header import GgufHeader
from scrapers.formats.gguf_pieces import piece_of
from scrapers.formats.weight_files import ComponentPlan, Selection, gguf_selection
from scrapers.formats.weight_sets import RepoFile
from scrapers.repository.read_steps import ReadSteps
from scrapers.repository.repo_files import RepoFiles

SPLIT_COUNT = "split.count"
_SUGGESTIONS = 8


def listed_variants(reader: RepoFiles, files: Sequence[RepoFile]) -> tuple[Variant, ...]:
    """List all variants in the file list. Raises LimitsExceeded ("gguf_variants")."""
    variants = gguf_variants(files)
    if len(variants) > reader.limits.gguf_variants:
        raise reader.budget.exceeded("gguf_variants")
    return variants


def named_selection(files: Sequence[RepoFile], ref: ModelRef, repo_id: str) -> Selection | None:
    """Select the GGUF file or quantization that a reference names, None if it names none.

    Raises RepoFileNotFound, whose `suggestions` are names of the repository's variants.
    """
    file = ref.file if ref.file is not None and is_gguf(ref.file) else None
    if file is None and ref.tag is None:
        return None
    variants = gguf_variants(files)
    # A tag is ignored in a repository without GGUF files.
    if file is None and not variants:
        return None
    variant = choose_variant(variants, file, ref.tag)
    if variant is not None:
        return gguf_selection(variant)
    _refuse_incomplete(files, file, repo_id)
    raise RepoFileNotFound(
        repo_id=repo_id, file=file or ref.tag or "", suggestions=_suggestions(variants, file, ref)
    )


def gguf_component(reader: RepoFiles, plan: ComponentPlan, steps: ReadSteps) -> Component:
    """Read the metadata of a model's first file, and the tensors of all its files.

    Raises MalformedRepo with `reason` "missing_shard", "duplicate_tensor" or "no_tensors", and the
    errors of reading a header.
    """
    paths = [file.path for file in plan.files]
    _refuse_incomplete(plan.files, None, reader.repo_id)
    # Raw pieces are read as one file.
    joined = piece_of(paths[0]) is not None
    if joined:
        headers = [_header_of_pieces(reader, plan.files)]
        steps.headers_read(len(paths))
    else:
        headers = _headers(reader, paths, steps)
    tensors: list[RawTensor] = [tensor for header in headers for tensor in header.tensors]
    problem = None
    if headers[0].metadata.get(SPLIT_COUNT) not in (None, 0, len(headers)):
        problem = "missing_shard"
    elif not tensors:
        problem = "no_tensors"
    elif len({name for name, _, _ in tensors}) != len(tensors):
        problem = "duplicate_tensor"
    if problem is not None:
        raise MalformedRepo(repo_id=reader.repo_id, file=paths[0], reason=problem)
    if len(tensors) > reader.limits.gguf_tensors:
        raise reader.budget.exceeded("gguf_tensors")
    groups = group_tensors(tensors)
    if len(groups) > reader.limits.tensor_groups:
        raise reader.budget.exceeded("tensor_groups")
    # The first of raw pieces counts all tensors, and its header's file is the whole.
    told = [(None if joined else header.file_bytes, len(header.tensors)) for header in headers]
    told += [(None, 0)] * (len(paths) - len(told))
    files = tuple(
        WeightFile(file.path, file.size_bytes if size is None else size, count)
        for file, (size, count) in zip(plan.files, told, strict=True)
    )
    return Component(plan.name, headers[0].metadata, files, groups)


def _headers(reader: RepoFiles, paths: Sequence[str], steps: ReadSteps) -> list[GgufHeader]:
    for path in paths:
        reader.prefetch("gguf", path)
    headers = []
    for path in paths:
        headers.append(reader.gguf(path))
        steps.headers_read()
    return headers


def _header_of_pieces(reader: RepoFiles, pieces: Sequence[RepoFile]) -> GgufHeader:
    # The header is checked against the sum of sizes: the last piece may be missing.
    reader.expect_pieces(pieces)
    path = pieces[0].path
    try:
        return reader.gguf(path)
    except MalformedRepo as error:
        piece = piece_of(path)
        count_is_named = piece is not None and piece.count is not None
        if error.fields.get("reason") != "beyond_end" or count_is_named:
            raise
        raise MalformedRepo(repo_id=reader.repo_id, file=path, reason="missing_shard") from None


def _refuse_incomplete(files: Sequence[RepoFile], wanted_path: str | None, repo_id: str) -> None:
    listed = files if wanted_path is None else [file for file in files if file.path == wanted_path]
    path = first_incomplete(listed)
    if path is not None:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="missing_shard")


def _suggestions(variants: Sequence[Variant], file: str | None, ref: ModelRef) -> list[str]:
    # Files for a file and labels for a tag, closest first.
    models = [variant for variant in variants if variant.kind == "quantization"]
    names = [v.files[0].path for v in variants] if file else [v.name for v in models]
    wanted_name = (file or ref.tag or "").upper()
    spelled = {name.upper(): name for name in names}
    close = difflib.get_close_matches(wanted_name, spelled, n=_SUGGESTIONS, cutoff=0.5)
    return [spelled[name] for name in close] or names[:_SUGGESTIONS]
