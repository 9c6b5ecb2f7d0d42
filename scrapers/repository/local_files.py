"""LocalFiles: the files of a checkpoint on this machine, with the interface for the Hub's files.

The safetensors library reads safetensors headers. Checkpoints are untrusted, so that the limits for
the Hub apply here as well.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from huggingface_hub import metadata_load
from safetensors import SafetensorError, safe_open
from yaml import YAMLError

from gpusizer.core.errors import MalformedRepo, ModelUnreadable, RepoFileNotFound, UnsupportedDtype
from gpusizer.core.loose_values import JsonObject, JsonValue
from gpusizer.core.units import KIB
from gpusizer.hub.tensors import Entries, group_entries
from scrapers.client.hub_api import RepoInfo, is_plain_path, parse_info
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.byte_window import Source
from scrapers.formats.safetensors_header import LENGTH_BYTES, header_end
from scrapers.formats.weight_sets import RepoFile
from scrapers.limits import Limits
from scrapers.readme.model_card import CARD
from scrapers.repository.header_turns import Header
from scrapers.repository.repo_files import RepoFiles

_CARD_BYTES = 64 * KIB  # YAML takes a second for each megabyte
_MAX_DEPTH = 6
# Words in the safetensors library's errors -> reason of MalformedRepo; the first match counts.
_SAFETENSORS_REASONS = {
    "recursion limit": "too_deep",
    "missing field": "tensor_entry",
    "invalid value": "tensor_entry",
    "overflow": "shape",
    "header too small": "truncated",
    "header too large": "header_length",
    "UTF-8": "not_utf8",
    "invalid JSON": "not_json",
    "offset": "data_offsets",
    "not fully covered": "beyond_end",
    "incomplete metadata": "beyond_end",
}
_UNKNOWN_DTYPE = re.compile(r"unknown variant `([^`]{1,40})`")


class LocalFiles(RepoFiles):
    """The files of a folder; `sha` is its commit, None if unknown.

    If `only` names a safetensors file at the root, other weights are left out of the file list;
    configurations stay.
    """

    def __init__(
        self, folder: Path, repo_id: str, sha: str | None, limits: Limits, only: str | None = None
    ) -> None:
        super().__init__(ReadBudget(repo_id, limits), repo_id, sha)
        self.folder = folder
        self._only = only
        self._info: RepoInfo | None = None
        self._sizes: dict[str, int] = {}

    def info(self) -> RepoInfo:
        """Return the model card's metadata and the file list."""
        if self._info is None:
            self._sizes = dict(self._listed())
            answer: JsonObject = {
                "id": self.repo_id,
                "sha": self.revision,
                "cardData": self._card(),
                "siblings": [{"rfilename": p, "size": size} for p, size in self._sizes.items()],
            }
            self._info = parse_info(answer, self.repo_id)
        return self._info

    def tree(self) -> Sequence[RepoFile]:
        return self.info().files or ()

    def _read_header(self, path: str) -> Header:
        file, size_bytes = self._file(path)
        with self._opening(path):
            with file.open("rb") as opened:
                start = opened.read(LENGTH_BYTES)
            end = header_end(start, size_bytes, self.repo_id, path, self.limits)
            self.budget.count("total_bytes", end)
            try:
                entries = _tensors(file)
            except SafetensorError as error:
                raise self._error_of(path, str(error)) from None
        groups = group_entries(entries)
        self.budget.count_groups(groups)
        return groups, size_bytes

    def _source(self, path: str, limit: str) -> Source:
        file, size_bytes = self._file(path)

        def source(start: int, stop: int) -> tuple[bytes, int | None]:
            with self._opening(path), file.open("rb") as opened:
                opened.seek(start)
                data = opened.read(stop - start)
            self.budget.count("total_bytes", len(data))
            return data, size_bytes

        return source

    def _listed(self) -> Iterator[tuple[str, int]]:
        for number, (path, entry) in enumerate(_walk(self.folder, self.limits.files)):
            if number >= self.limits.files:
                raise self.budget.exceeded("files")
            self.budget.seconds_left()
            size_bytes = _size(entry)
            if size_bytes is not None and is_plain_path(path) and self._belongs_to_model(path):
                yield path, size_bytes

    def _belongs_to_model(self, path: str) -> bool:
        # If one file is named, its neighbours do not.
        if self._only is None or not self._only.endswith(".safetensors"):
            return True
        return path == self._only or not path.endswith((".safetensors", ".safetensors.index.json"))

    def _card(self) -> JsonValue:
        if self._sizes.get(CARD, _CARD_BYTES) >= _CARD_BYTES:
            return None
        try:
            return metadata_load(self.folder / CARD)
        except (OSError, ValueError, YAMLError, RecursionError):
            return None

    def _whole(self, path: str, limit: str) -> bytes:
        file, size_bytes = self._file(path)
        if size_bytes > getattr(self.limits, limit):
            raise self.budget.exceeded(limit)
        self.budget.count("total_bytes", size_bytes)
        with self._opening(path):
            return file.read_bytes()

    def _file(self, path: str) -> tuple[Path, int]:
        self.budget.seconds_left()
        self.info()
        size = self._sizes.get(path)
        if size is None:
            raise RepoFileNotFound(repo_id=self.repo_id, file=path)
        return self.folder / path, size

    def _error_of(self, path: str, message: str) -> ModelUnreadable:
        dtype = _UNKNOWN_DTYPE.search(message)
        if dtype is not None:
            return UnsupportedDtype(repo_id=self.repo_id, dtype=dtype[1])
        reasons = [reason for words, reason in _SAFETENSORS_REASONS.items() if words in message]
        reason = reasons[0] if reasons else "tensor_entry"
        return MalformedRepo(repo_id=self.repo_id, file=path, reason=reason)

    @contextmanager
    def _opening(self, path: str) -> Iterator[None]:
        # Raises RepoFileNotFound if the system cannot open or read a file.
        try:
            yield
        except OSError:
            raise RepoFileNotFound(repo_id=self.repo_id, file=path) from None


def _walk(
    folder: Path, max_files: int, prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    # At most `max_files` + 1 of each folder. Hidden folders, links to folders and folders without
    # read permission are not entered.
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(islice(scanned, max_files + 1), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = prefix + entry.name
        if not entry.is_dir(follow_symlinks=False):
            yield path, entry
        elif depth < _MAX_DEPTH and not entry.name.startswith("."):
            yield from _walk(Path(entry.path), max_files, f"{path}/", depth + 1)


def _size(entry: os.DirEntry[str]) -> int | None:
    # None for a broken link and for anything but a regular file.
    try:
        status = entry.stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _tensors(file: Path) -> Entries:
    # In the order of the data.
    with safe_open(file, framework="numpy") as tensors:
        names = tensors.offset_keys()
        slices = [tensors.get_slice(name) for name in names]
        return names, [(part.get_dtype(), tuple(part.get_shape())) for part in slices]
