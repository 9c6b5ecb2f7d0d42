"""Checkpoints on this machine: the shell takes a folder or file in place of a model ID.

Only the shell uses this module. The page and its endpoints parse names with
`gpusizer.hub.model_ref` alone, which makes no LocalRef, so that they never open a path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gpusizer.core.errors import InvalidModelId, RevisionNotFound
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.completion import Completion
from scrapers.hub import build_snapshot
from scrapers.limits import Limits
from scrapers.local_files import LocalFiles
from scrapers.weight_files import PIPELINE_INDEX

Fetch = Callable[[ModelRef], RepoSnapshot]

_STARTS = ("/", "./", "../", "~")
_SUFFIXES = (".safetensors", ".gguf")
_CONFIGS = ("config.json", "adapter_config.json", PIPELINE_INDEX)
_MAX_ECHO_CHARS = 120
# Layout of huggingface_hub's cache: models--org--name/{refs/main, snapshots/<commit>/…}.
_CACHED = re.compile(r"models--(?P<id>[A-Za-z0-9_.-]+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DEFAULT_BRANCH = "main"
_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class LocalRef(ModelRef):
    """A checkpoint on this machine.

    Attributes:
        path: an existing folder or file. `repo_id` is the path as typed, or the ID of a folder in
            the Hub's cache; `file` is the name of the GGUF file if the path is one.
    """

    path: Path = Path()


def parse_local_or_model_ref(text: str) -> ModelRef:
    """Parse the name of a checkpoint on disk or of a model of the Hub.

    A text that begins like a path is a path, and so is an existing `.safetensors` or `.gguf`
    file. An existing folder with a checkpoint is a path only if the text cannot be a model ID.
    Raises InvalidModelId, with the reason "no_such_path" for a path that does not exist.
    """
    typed = text.strip()
    path = _path(typed)
    if typed.startswith(_STARTS):
        if path is None or not (path.is_dir() or path.is_file()):
            raise InvalidModelId(value=_shown(typed), reason="no_such_path")
        return _local_ref(typed, path)
    if path is not None and path.suffix in _SUFFIXES and path.is_file():
        return _local_ref(typed, path)
    try:
        return parse_model_ref(text)
    except InvalidModelId:
        if path is None or not _holds_checkpoint(path):
            raise
        return _local_ref(typed, path)


def with_local_checkpoints(fetch: Fetch, limits: Limits = _LIMITS) -> Fetch:
    """Return a fetcher that reads checkpoints on disk, and calls `fetch` for all other models.

    For an adapter on disk it calls `fetch` with the base model.
    """
    complete = Completion(embedded=lambda ref: None, read=fetch)

    def read(ref: ModelRef) -> RepoSnapshot:
        if isinstance(ref, LocalRef):
            return complete(ref, read_checkpoint(ref, limits))
        return fetch(ref)

    return read


def read_checkpoint(ref: LocalRef, limits: Limits = _LIMITS) -> RepoSnapshot:
    """Read the facts of a checkpoint on disk.

    Raises RevisionNotFound for a commit that the Hub's cache does not have, and, like the reading
    of a repository, NoWeights, MalformedRepo, LimitsExceeded and UnsupportedDtype.
    """
    folder, sha = _commit_folder(ref) if ref.path.is_dir() else (ref.path.parent, None)
    only = None if ref.path.is_dir() else ref.path.name
    files = LocalFiles(folder, ref.repo_id, sha or _sha_of(folder), limits, only)
    snapshot = build_snapshot(files, ref).with_source("local")
    if ref.revision is None and sha is None and snapshot.sha is not None:
        return replace(snapshot, revision=snapshot.sha)  # the path is the folder of one commit
    return snapshot


def _local_ref(typed: str, path: Path) -> LocalRef:
    file = path.name if path.is_file() and path.suffix == ".gguf" else None
    return LocalRef(_cached_id(path) or typed.rstrip("/") or "/", file=file, path=path)


def _path(typed: str) -> Path | None:
    """Return the path of a text, None where a text cannot be a path."""
    try:
        path = Path(typed).expanduser()
        path.stat()
    except (OSError, ValueError, RuntimeError):
        return None
    return path


def _holds_checkpoint(path: Path) -> bool:
    """Whether this is a folder with weights or a configuration."""
    if not path.is_dir():
        return False
    if any((path / name).is_file() for name in _CONFIGS) or (path / "snapshots").is_dir():
        return True
    return any(next(path.glob(f"*{suffix}"), None) for suffix in _SUFFIXES)


def _cached_id(path: Path) -> str | None:
    """Return the ID of the model whose folder in the Hub's cache is this path or a parent of it."""
    for folder in (path, *path.absolute().parents):
        match = _CACHED.fullmatch(folder.name)
        if match:
            return match["id"].replace("--", "/")
    return None


def _commit_folder(ref: LocalRef) -> tuple[Path, str | None]:
    """Return the folder of the requested commit, and the commit.

    A folder outside of the Hub's cache is returned as it is, with None.
    """
    snapshots = ref.path / "snapshots"
    if not _CACHED.fullmatch(ref.path.absolute().name) or not snapshots.is_dir():
        if ref.revision is not None:
            raise RevisionNotFound(repo_id=ref.repo_id, revision=ref.revision)
        return ref.path, None
    revision = ref.revision or _DEFAULT_BRANCH
    branch = ref.path / "refs" / revision
    sha = revision
    if ".." not in revision.split("/") and branch.is_file():
        with branch.open(encoding="utf-8", errors="replace") as opened:
            sha = opened.read(64).strip()
    if not _COMMIT.fullmatch(sha) or not (snapshots / sha).is_dir():
        raise RevisionNotFound(repo_id=ref.repo_id, revision=revision)
    return snapshots / sha, sha


def _sha_of(folder: Path) -> str | None:
    """Return the commit of a folder of the Hub's cache, None for any other folder."""
    folder = folder.absolute()
    in_cache = folder.parent.name == "snapshots" and _CACHED.fullmatch(folder.parent.parent.name)
    return folder.name if in_cache and _COMMIT.fullmatch(folder.name) else None


def _shown(typed: str) -> str:
    """Shorten a typed path and remove what is not printable, for an error."""
    return "".join(c if c.isprintable() else "\ufffd" for c in typed[:_MAX_ECHO_CHARS])
