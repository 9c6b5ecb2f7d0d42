"""Repositories from folders that hold the configs and tensor headers of real models."""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import yaml

from tests.hub_emulator.files import FakeFile, goes_to_lfs, literal_file
from tests.hub_emulator.repos import FakeRepo, Files
from tests.hub_emulator.safetensors_files import LENGTH_BYTES, header_json

META = "meta.json"
HEADERS = "headers.json.gz"


def corpus_repos(folder: Path) -> list[FakeRepo]:
    """Every repository below `folder`; tensor headers are read on first use."""
    return [corpus_repo(meta.parent) for meta in sorted(folder.glob(f"*/{META}"))]


def corpus_repo(folder: Path) -> FakeRepo:
    """The repository one folder describes.

    `meta.json` lists siblings and sizes, `headers.json.gz` the safetensors headers; the
    folder's other files are served as they are (`.gz` unpacked), and siblings that are
    not there as zeros.
    """
    meta = json.loads((folder / META).read_text(encoding="utf-8"))
    files = _sparse_siblings(folder, meta) | _small_files(folder)
    card_data = _front_matter(files.get("README.md"))
    if meta["license"]:
        card_data.setdefault("license", meta["license"])
    return FakeRepo(
        meta["id"],
        dict(sorted(files.items())),
        sha=meta["revision"] or "",
        gated="auto" if meta["gated"] else False,
        tags=list(meta["tags"] or ()),
        pipeline_tag=meta["pipeline_tag"],
        library_name=meta["library_name"],
        card_data=card_data,
        parameters=dict(meta["params_by_dtype"]),
    )


def _sparse_siblings(folder: Path, meta: dict[str, Any]) -> Files:
    lengths = meta["header_json_bytes"]
    files = {}
    for sibling in meta["siblings"]:
        path, size = sibling["rfilename"], sibling.get("size") or 0
        head = partial(_shard_head, folder, path, lengths[path]) if path in lengths else b""
        made_up = hashlib.sha256(f"{meta['id']}/{path}".encode()).hexdigest()
        sha256 = sibling.get("lfs_sha256", made_up)
        files[path] = FakeFile(head, size, goes_to_lfs(path, size), sha256)
    return files


def _small_files(folder: Path) -> Files:
    files = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or name in (META, HEADERS):
            continue
        data = path.read_bytes()
        if path.suffix == ".gz":
            name, data = name.removesuffix(".gz"), gzip.decompress(data)
        files[name] = literal_file(data)
    return files


@lru_cache(maxsize=8)
def _headers(folder: Path) -> dict[str, Any]:
    headers: dict[str, Any] = json.loads(gzip.decompress((folder / HEADERS).read_bytes()))
    return headers


@lru_cache(maxsize=1024)
def _shard_head(folder: Path, path: str, length: int) -> bytes:
    return length.to_bytes(LENGTH_BYTES, "little") + header_json(_headers(folder)[path], length)


def _front_matter(readme: FakeFile | None) -> dict[str, Any]:
    """The YAML between the first two `---` lines of a model card."""
    if readme is None:
        return {}
    start, _, rest = readme.head_bytes().decode().partition("---\n")
    return {} if start else yaml.safe_load(rest.partition("\n---")[0]) or {}
