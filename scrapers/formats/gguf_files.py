"""Quantizations of a GGUF repository, found in its file list. Pure.

X.Q4_K_M.gguf    X-UD-Q4_K_XL-00001-of-00003.gguf    BF16/X-00001-of-00002.gguf
X.Q6_K.gguf-split-a and other raw pieces (`gguf_pieces`)
mmproj-F16.gguf is a projector, X-draft-Q8_0.gguf a draft model, imatrix.gguf no model at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from gpusizer.core.dtypes import bits_per_element, ggml_type_named
from gpusizer.hub.snapshot import Variant, VariantKind, WeightFile
from scrapers.formats.gguf_pieces import Piece, is_whole_set, piece_of
from scrapers.formats.weight_sets import RepoFile

SUFFIX = ".gguf"
USUAL = "Q4_K_M"
_USUAL_BITS = 4.5

_SHARD = re.compile(r"(?P<stem>.+?)-(?P<number>\d{1,6})-of-(?P<count>\d{1,6})")
# Labels of quantizations in file names, between separators. The last label in a name counts.
_LABEL = re.compile(
    r"(?<![A-Za-z0-9])(?P<dynamic>UD-)?"
    r"(?P<type>I?Q[1-8](?:_[A-Z0-9]{1,4})*|TQ[12]_0|BF16|FP?(?:16|32)|MXFP4(?:_MOE)?|NVFP4)"
    r"(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_SPELLINGS = {"FP16": "F16", "FP32": "F32"}
_NO_MODEL = re.compile(r"(?:^|[-._])imatrix(?:[-._]|$)|^ggml-vocab-", re.IGNORECASE)
_KINDS: tuple[tuple[VariantKind, re.Pattern[str]], ...] = (
    ("projector", re.compile(r"mmproj", re.IGNORECASE)),
    ("draft", re.compile(r"(?:^|[-._])(?:draft|mtp|eagle\d?)(?:[-._]|$)", re.IGNORECASE)),
)


def gguf_variants(files: Sequence[RepoFile]) -> tuple[Variant, ...]:
    """List quantizations from largest to smallest, then projectors and drafts."""
    # Sets with missing shards or pieces are left out. Variants with the same label are named after
    # their files' stems instead.
    sets = _file_sets(files)
    candidates = [(stem, label_of(stem), kind_of(stem), parts) for stem, parts in sets]
    if not any(kind == "quantization" for _, _, kind, _ in candidates):
        # In a repository that holds only a draft model, the draft is the model.
        candidates = [(s, n, "quantization" if k == "draft" else k, f) for s, n, k, f in candidates]
    uses = Counter((name.lower(), kind) for _, name, kind, _ in candidates if name)
    variants = [
        _variant(name if name and uses[name.lower(), kind] == 1 else _last(stem), kind, parts)
        for stem, name, kind, parts in candidates
    ]
    return tuple(sorted(_distinct(variants), key=_order))


def first_incomplete(files: Sequence[RepoFile]) -> str | None:
    """Return the first file of a set with missing parts, None if all sets are complete."""
    complete_paths = {file.path for _, parts in _file_sets(files) for file in parts}
    incomplete_paths = [f.path for f in files if _is_model(f.path) and f.path not in complete_paths]
    return min(incomplete_paths, default=None)


def choose_variant(
    variants: Sequence[Variant], file: str | None = None, tag: str | None = None
) -> Variant | None:
    """Choose the variant of a file's path or of a name (`tag`), None if it is missing."""
    if file is not None:
        with_file = (v for v in variants if any(file == part.path for part in v.files))
        return next(with_file, None)
    models = [variant for variant in variants if variant.kind == "quantization"]
    # Without either it is Q4_K_M, else the type nearest to 4.5 bits per weight, else the smallest.
    if tag is not None:
        return _by_name(models, tag)
    default = next((variant for variant in models if variant.name == USUAL), None)
    return default or min(models, key=_distance, default=None)


def label_of(stem: str) -> str | None:
    """Return the quantization in a path without suffix: from the name, else from the folder."""
    for part in reversed(stem.split("/")):
        labels = list(_LABEL.finditer(part))
        if labels:
            kind = labels[-1]["type"].upper()
            return ("UD-" if labels[-1]["dynamic"] else "") + _SPELLINGS.get(kind, kind)
    return None


def kind_of(stem: str) -> VariantKind:
    """Return by a file's name whether it is a model, a projector or a draft model."""
    name = _last(stem)
    return next((kind for kind, regex in _KINDS if regex.search(name)), "quantization")


def is_gguf(path: str) -> bool:
    """Whether a file is a GGUF file or a raw piece of one, by its name."""
    return path.endswith(SUFFIX) or piece_of(path) is not None


def _file_sets(files: Iterable[RepoFile]) -> list[tuple[str, list[RepoFile]]]:
    # The files of each model by its stem: the path without number and suffix.
    sets: dict[tuple[str, int], list[RepoFile]] = {}
    files = sorted(files, key=lambda file: file.path)
    for file in files:
        if not _is_model(file.path) or piece_of(file.path):
            continue
        stem = file.path.removesuffix(SUFFIX)
        shard = _SHARD.fullmatch(stem)
        # A repository may hold a model split in several ways, with different numbers of files.
        key = (shard["stem"], int(shard["count"])) if shard else (stem, 1)
        sets.setdefault(key, []).append(file)
    complete = [(stem, shards) for (stem, count), shards in sets.items() if len(shards) == count]
    return complete + _piece_sets(files)


def _piece_sets(files: Iterable[RepoFile]) -> list[tuple[str, list[RepoFile]]]:
    # Raw pieces, in the order of joining, by the path of the joined file.
    sets: dict[tuple[str, str], list[tuple[Piece, RepoFile]]] = {}
    for file in files:
        piece = piece_of(file.path) if _is_model(file.path) else None
        if piece is not None:
            sets.setdefault((piece.joined_path, piece.style), []).append((piece, file))
    complete = []
    for (joined_path, _), members in sets.items():
        members.sort(key=lambda member: member[0].number)
        if is_whole_set([piece for piece, _ in members]):
            complete.append((joined_path.removesuffix(SUFFIX), [file for _, file in members]))
    return complete


def _is_model(path: str) -> bool:
    return is_gguf(path) and not _NO_MODEL.search(_last(path))


def _variant(name: str, kind: VariantKind, files: Sequence[RepoFile]) -> Variant:
    sizes = [file.size_bytes for file in files]
    known_sizes = [size for size in sizes if size is not None]
    parts = tuple(WeightFile(file.path, file.size_bytes, 0) for file in files)
    size = sum(known_sizes) if len(known_sizes) == len(sizes) else None
    return Variant(name, kind, parts, size, raw_pieces=piece_of(files[0].path) is not None)


def _distinct(variants: Sequence[Variant]) -> list[Variant]:
    # Full paths replace stems that are not unique.
    uses = Counter((variant.slug, variant.kind) for variant in variants)
    return [
        variant
        if uses[variant.slug, variant.kind] == 1
        else _variant(
            variant.files[0].path.removesuffix(SUFFIX),
            variant.kind,
            [RepoFile(file.path, file.size_bytes) for file in variant.files],
        )
        for variant in variants
    ]


def _order(variant: Variant) -> tuple[int, int, str]:
    kinds: tuple[VariantKind, ...] = ("quantization", "projector", "draft")
    return kinds.index(variant.kind), -(variant.size_bytes or 0), variant.name


def _distance(variant: Variant) -> tuple[float, int]:
    kind = ggml_type_named(variant.name)
    bits = abs(bits_per_element(kind) - _USUAL_BITS) if kind else float("inf")
    return bits, variant.size_bytes or 2**62


def _by_name(models: Sequence[Variant], tag: str) -> Variant | None:
    # In any case of letters; Ollama's `latest` is the default variant.
    if tag.lower() == "latest":
        return choose_variant(models)
    label = label_of(tag) or tag
    exact = (v for v in models if v.slug == tag.lower() or v.name == label)
    # People name Unsloth's dynamic quantizations without their prefix "UD-".
    return next(exact, None) or next((v for v in models if v.name == f"UD-{label}"), None)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
