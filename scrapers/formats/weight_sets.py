"""WeightSet: files of one folder and format that make up one copy of the weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# `model-00001-of-00002`, `model_00001-of-00072`, `model.safetensors-00001-of-00004`, and the
# variant on either side: `name.fp16-00001-of-00002`, `name-00001-of-00002.fp16`.
_SHARD = re.compile(
    r"(?P<stem>.+?)[-_.](?P<number>\d{1,6})-of-(?P<count>\d{1,6})(?P<tail>(?:\.\w+)?)"
)
_INDEX = re.compile(r"(?P<stem>.+?)(?P<kind>\.\w+)\.index(?P<tail>(?:\.\w+)?)\.json")
SAFETENSORS = ".safetensors"

_VARIANTS = ("", "bf16", "fp16", "fp32", "int8", "fp8", "ema", "non_ema")
# Names that libraries load by default, in order; `transformers` tries the first one first.
_STEMS = ("model", "diffusion_pytorch_model", "pytorch_model", "gptq_model")
# Mistral's own format: chosen only if there is no other copy.
_LAST_STEM = "consolidated"
ADAPTER_STEMS = ("adapter_model", "pytorch_lora_weights", "lora")
_SIDE_STEMS = (*ADAPTER_STEMS, "adapter", "optimizer", "mm_projector")


@dataclass(frozen=True, slots=True)
class RepoFile:
    """One entry of the file list."""

    path: str
    size_bytes: int | None  # bytes of the file, None if the Hub did not give them
    # git's SHA-1 of a small file's content; None for a file in LFS, and if the Hub did not give it
    blob_id: str | None = None
    sha256: str | None = None  # SHA-256 of the content of a file in LFS, None for others


@dataclass(slots=True)
class WeightSet:
    """Files of one stem and variant, with the index that lists them if there is one."""

    stem: str
    variant: str
    sharded: bool
    files: list[RepoFile] = field(default_factory=list)
    index: str | None = None

    @property
    def size_bytes(self) -> int:
        """Sum of the files' bytes."""
        return sum(file.size_bytes or 0 for file in self.files)


def folder_of(path: str) -> str:
    """Return the folder of a path, "" for the root."""
    return path.rpartition("/")[0]


def weight_sets(
    files: Sequence[RepoFile], folder: str, suffix: str = SAFETENSORS
) -> list[WeightSet]:
    """List the copies of weights in one folder (not below it), by the names of its files."""
    sets_by_key: dict[tuple[str, str, bool], WeightSet] = {}
    for file in sorted(files, key=lambda file: file.path):
        parent, _, name = file.path.rpartition("/")
        identity = _identify(name, suffix) if parent == folder else None
        if identity is None:
            continue
        key = identity[1:]
        entry = sets_by_key.setdefault(key, WeightSet(*key))
        if identity[0]:
            entry.index = file.path
        else:
            entry.files.append(file)
    return list(sets_by_key.values())


def pick_set(sets: Sequence[WeightSet]) -> WeightSet | None:
    """Choose the copy that libraries load by default, else the largest; None without any."""
    usable = [entry for entry in sets if not entry.stem.startswith(_SIDE_STEMS)]
    return min(usable, key=_rank, default=None)


def is_complete(files: Sequence[RepoFile]) -> bool:
    """Whether no numbered file is missing; numbers may start at 0 or at 1."""
    shards = [_SHARD.fullmatch(file.path.rpartition(".")[0]) for file in files]
    return all(shard is None or len(files) - int(shard["count"]) in (0, 1) for shard in shards)


def is_numbered(files: Sequence[RepoFile]) -> bool:
    """Whether the files' names are numbered and show that no shard is missing."""
    shards = [_SHARD.fullmatch(file.path.removesuffix(SAFETENSORS)) for file in files]
    return bool(shards) and all(shards) and is_complete(files)


def _rank(entry: WeightSet) -> tuple[bool, int, int, bool, bool, int, str]:
    is_default_stem = entry.stem in _STEMS
    return (
        entry.stem.startswith(_LAST_STEM),
        _STEMS.index(entry.stem) if is_default_stem else len(_STEMS),
        _VARIANTS.index(entry.variant) if entry.variant in _VARIANTS else len(_VARIANTS),
        is_default_stem and entry.sharded,
        entry.index is None,
        -entry.size_bytes,
        entry.stem,
    )


def _identify(name: str, suffix: str) -> tuple[bool, str, str, bool] | None:
    # Whether it is an index, its stem and variant, whether it is one of shards.
    index = _INDEX.fullmatch(name)
    if index and index["kind"] == suffix:
        return True, *_split_variant(index["stem"], index["tail"]), True
    if not name.endswith(suffix):
        return None
    base = name.removesuffix(suffix)
    shard = _SHARD.fullmatch(base)
    if shard:
        return False, *_split_variant(shard["stem"].removesuffix(suffix), shard["tail"]), True
    return False, *_split_variant(base, ""), False


def _split_variant(stem: str, tail: str) -> tuple[str, str]:
    if tail:
        return stem, tail[1:]
    head, dot, last = stem.rpartition(".")
    return (head, last) if dot and last in _VARIANTS else (stem, "")
