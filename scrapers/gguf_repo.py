"""A GGUF repository: which of its quantizations is read, and what its files say."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from gpusizer.errors import MalformedRepo, RepoFileNotFound
from gpusizer.hub_id import ModelRef
from gpusizer.snapshot import Component, Variant, WeightFile
from gpusizer.tensors import RawTensor, group_tensors
from scrapers.gguf_files import choose_variant, first_incomplete, gguf_variants, is_gguf
from scrapers.gguf_header import GgufHeader
from scrapers.gguf_pieces import piece_of
from scrapers.repo_reader import RepoReader
from scrapers.weight_files import ComponentPlan, Selection, gguf_selection
from scrapers.weight_sets import RepoFile

SPLIT_COUNT = "split.count"
_SUGGESTIONS = 8


def listed_variants(reader: RepoReader, files: Sequence[RepoFile]) -> tuple[Variant, ...]:
    """Everything the file list offers. Raises LimitsExceeded ("gguf_variants")."""
    variants = gguf_variants(files)
    if len(variants) > reader.limits.gguf_variants:
        raise reader.reading.exceeded("gguf_variants")
    return variants


def asked_selection(files: Sequence[RepoFile], ref: ModelRef, repo_id: str) -> Selection | None:
    """The GGUF file or quantization that a reference names, None when it names none.

    A tag means nothing in a repository without GGUF files. Raises RepoFileNotFound whose
    `suggestions` are what the repository has.
    """
    file = ref.file if ref.file is not None and is_gguf(ref.file) else None
    if file is None and ref.tag is None:
        return None
    variants = gguf_variants(files)
    if file is None and not variants:
        return None
    chosen = choose_variant(variants, file, ref.tag)
    if chosen is not None:
        return gguf_selection(chosen)
    _refuse_incomplete(files, file, repo_id)
    raise RepoFileNotFound(
        repo_id=repo_id, file=file or ref.tag or "", suggestions=_suggestions(variants, file, ref)
    )


def gguf_component(reader: RepoReader, plan: ComponentPlan) -> Component:
    """The chosen model: the metadata of its first file, the tensors of all.

    Raw pieces are read as the one file they make.

    Raises MalformedRepo with `reason` "missing_shard", "duplicate_tensor" or "no_tensors"
    besides what reading a header raises.
    """
    paths = [file.path for file in plan.files]
    _refuse_incomplete(plan.files, None, reader.repo_id)
    joined = piece_of(paths[0]) is not None
    headers = [_header_of_pieces(reader, plan.files)] if joined else _headers(reader, paths)
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
        raise reader.reading.exceeded("gguf_tensors")
    files = _piece_files(plan.files, headers[0]) if joined else _files(plan.files, headers)
    return Component(plan.name, headers[0].metadata, files, group_tensors(tensors))


def _headers(reader: RepoReader, paths: Sequence[str]) -> list[GgufHeader]:
    for path in paths:
        reader.prefetch("gguf", path)
    return [reader.gguf(path) for path in paths]


def _header_of_pieces(reader: RepoReader, pieces: Sequence[RepoFile]) -> GgufHeader:
    """The header, checked against the sum of sizes: names do not always tell the last piece."""
    reader.expect_pieces(pieces)
    path = pieces[0].path
    try:
        return reader.gguf(path)
    except MalformedRepo as error:
        named = piece_of(path)
        told = named is not None and named.count is not None
        if error.fields.get("reason") != "beyond_end" or told:
            raise
        raise MalformedRepo(repo_id=reader.repo_id, file=path, reason="missing_shard") from None


def _files(files: Sequence[RepoFile], headers: Sequence[GgufHeader]) -> tuple[WeightFile, ...]:
    return tuple(
        WeightFile(
            file.path,
            file.size_bytes if header.file_bytes is None else header.file_bytes,
            len(header.tensors),
        )
        for file, header in zip(files, headers, strict=True)
    )


def _piece_files(files: Sequence[RepoFile], header: GgufHeader) -> tuple[WeightFile, ...]:
    """All tensors are told by the first piece."""
    counts = [len(header.tensors), *[0] * (len(files) - 1)]
    return tuple(
        WeightFile(file.path, file.size_bytes, count)
        for file, count in zip(files, counts, strict=True)
    )


def _refuse_incomplete(files: Sequence[RepoFile], wanted: str | None, repo_id: str) -> None:
    listed = files if wanted is None else [file for file in files if file.path == wanted]
    path = first_incomplete(listed)
    if path is not None:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="missing_shard")


def _suggestions(variants: Sequence[Variant], file: str | None, ref: ModelRef) -> list[str]:
    """Names of the kind that was asked for, the closest first."""
    models = [variant for variant in variants if variant.kind == "quantization"]
    names = [v.files[0].path for v in variants] if file else [v.name for v in models]
    asked = (file or ref.tag or "").upper()
    spelled = {name.upper(): name for name in names}
    close = difflib.get_close_matches(asked, spelled, n=_SUGGESTIONS, cutoff=0.5)
    return [spelled[name] for name in close] or names[:_SUGGESTIONS]
