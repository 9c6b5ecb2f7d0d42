"""LocalRef: names of checkpoints on this machine, which the shell accepts as model IDs.

Only the shell uses this module. The page and its endpoints parse names with
`gpusizer.hub.model_ref` alone, which makes no LocalRef, so that they never open a path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpusizer.core.errors import InvalidModelId
from gpusizer.core.printable import printable
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from scrapers.formats.weight_files import PIPELINE_INDEX

_STARTS = ("/", "./", "../", "~")
_SUFFIXES = (".safetensors", ".gguf")
_CONFIGS = ("config.json", "adapter_config.json", PIPELINE_INDEX)
_MAX_ECHO_CHARS = 120
# Layout of huggingface_hub's cache: models--org--name/{refs/main, snapshots/<commit>/…}.
CACHED_MODEL = re.compile(r"models--(?P<id>[A-Za-z0-9_.-]+)")


@dataclass(frozen=True, slots=True)
class LocalRef(ModelRef):
    """A checkpoint on this machine."""

    # an existing folder or file. `repo_id` is the path as typed, or the ID of a folder in the Hub's
    # cache; `file` is the name of the GGUF file if the path is one.
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
            raise InvalidModelId(value=printable(typed[:_MAX_ECHO_CHARS]), reason="no_such_path")
        return _local_ref(typed, path)
    if path is not None and path.suffix in _SUFFIXES and path.is_file():
        return _local_ref(typed, path)
    try:
        return parse_model_ref(text)
    except InvalidModelId:
        if path is None or not _holds_checkpoint(path):
            raise
        return _local_ref(typed, path)


def _local_ref(typed: str, path: Path) -> LocalRef:
    file = path.name if path.is_file() and path.suffix == ".gguf" else None
    return LocalRef(_cached_id(path) or typed.rstrip("/") or "/", file=file, path=path)


def _path(typed: str) -> Path | None:
    # None if the text cannot be a path.
    try:
        path = Path(typed).expanduser()
        path.stat()
    except (OSError, ValueError, RuntimeError):
        return None
    return path


def _holds_checkpoint(path: Path) -> bool:
    if not path.is_dir():
        return False
    if any((path / name).is_file() for name in _CONFIGS) or (path / "snapshots").is_dir():
        return True
    return any(next(path.glob(f"*{suffix}"), None) for suffix in _SUFFIXES)


def _cached_id(path: Path) -> str | None:
    # This path or a parent of it is the model's folder in the Hub's cache.
    for folder in (path, *path.absolute().parents):
        match = CACHED_MODEL.fullmatch(folder.name)
        if match:
            return match["id"].replace("--", "/")
    return None
