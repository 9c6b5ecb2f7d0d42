"""The Hub's addresses, and what its API's answers mean."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from gpusizer.dtypes import DTYPE_BITS
from gpusizer.errors import HubUnreachable
from gpusizer.hub_id import is_repo_id
from gpusizer.snapshot import Config
from scrapers.gguf_guess import header_guess
from scrapers.json_files import deeper_than
from scrapers.weight_sets import RepoFile

MAX_PATH_CHARS = 1024
_MAX_WORD_CHARS = 120
_MAX_BASE_MODELS = 16
_MAX_LANGUAGES = 200
_MAX_PARAMETERS = 10**15
_MAX_CONFIG_DEPTH = 16
_NO_CONFIG = ("tokenizer_config", "processor_config", "chat_template_jinja")
_RELATIONS = ("quantized", "finetune", "adapter", "merge")

_SHA = re.compile(r"[0-9a-f]{40}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,12}(?:[-_][A-Za-z]{2,8})*")
_NEXT_LINK = re.compile(r'<([^>]*)>\s*;\s*rel="?next"?')


@dataclass(frozen=True, slots=True)
class RepoInfo:
    """What the API says about a repository; see RepoSnapshot for the other fields.

    Attributes:
        parameters: the Hub's own count of the safetensors files by dtype, public even where
            the files are behind a gate; None when it did not count.
        config: the few entries of `config.json` that the API repeats; public likewise.
        files: the file list with sizes; None when the answer does not carry it.
        gguf_header_bytes: length of its GGUF files' headers, as a guess.
    """

    repo_id: str
    sha: str | None
    gated: bool
    private: bool
    disabled: bool
    license: str | None
    base_models: tuple[str, ...]
    pipeline_tag: str | None
    library: str | None
    base_relation: str | None = None
    languages: tuple[str, ...] = ()
    parameters: Mapping[str, int] | None = None
    config: Config | None = None
    files: tuple[RepoFile, ...] | None = None
    gguf_header_bytes: int | None = None


def info_url(endpoint: str, repo_id: str, revision: str | None) -> str:
    """Address of a repository's description and files, at its default branch or a revision.

    `blobs` adds sizes to the file list, which spares the tree: the API's requests are what
    a host runs out of first. It cannot be had together with `expand`.
    """
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    return f"{endpoint}/api/models/{repo_id}{at}?blobs=true"


def tree_url(endpoint: str, repo_id: str, revision: str, cursor: str | None = None) -> str:
    """Address of one page of the file list."""
    query = {"recursive": "true"} | ({"cursor": cursor} if cursor else {})
    at = quote(revision, safe="")
    return f"{endpoint}/api/models/{repo_id}/tree/{at}?{urlencode(query)}"


def file_url(endpoint: str, repo_id: str, revision: str, path: str) -> str:
    """Address of a file; the Hub redirects it to where the bytes are."""
    return f"{endpoint}/{repo_id}/resolve/{quote(revision, safe='')}/{quote(path)}"


def cached_file_url(endpoint: str, repo_id: str, revision: str, commit: str, file: RepoFile) -> str:
    """Address that the Hub redirects to for a small file: one request instead of two."""
    asked = quote(f"/{repo_id}/resolve/{revision}/{file.path}", safe="")
    etag = quote(f'"{file.blob_id}"', safe="")
    at = f"/api/resolve-cache/models/{repo_id}/{commit}/{quote(file.path)}"
    return f"{endpoint}{at}?{asked}=&etag={etag}"


def headers_url(endpoint: str, repo_id: str, index: str) -> str:
    """Address of every shard's header in one answer; of the default branch alone."""
    return f"{endpoint}/api/models/{repo_id}/safetensors-metadata/{quote(index)}"


def next_cursor(headers: Mapping[str, str]) -> str | None:
    """Cursor of the next page, None on the last.

    Only the cursor is taken from the Link header: mirrors repeat the Hub's own address.
    """
    link = _NEXT_LINK.search(headers.get("Link", ""))
    if link is None:
        return None
    cursors = parse_qs(urlsplit(link[1]).query).get("cursor")
    return cursors[0] if cursors else None


def parse_info(answer: Any, asked_repo_id: str) -> RepoInfo:
    """Facts of a repository. Raises HubUnreachable ("unexpected_answer") for anything else."""
    if not isinstance(answer, dict) or "id" not in answer:
        raise HubUnreachable(repo_id=asked_repo_id, reason="unexpected_answer")
    repo_id, sha = answer.get("id"), answer.get("sha")
    card = answer.get("cardData")
    card = card if isinstance(card, dict) else {}
    tags = [tag for tag in _items(answer.get("tags")) if isinstance(tag, str)]
    return RepoInfo(
        repo_id=repo_id if isinstance(repo_id, str) and is_repo_id(repo_id) else asked_repo_id,
        sha=sha if isinstance(sha, str) and _SHA.fullmatch(sha) else None,
        gated=answer.get("gated") not in (None, False),
        private=answer.get("private") not in (None, False),
        disabled=answer.get("disabled") is True,
        license=_license(card, tags),
        base_models=_base_models(card, tags),
        pipeline_tag=_word(answer.get("pipeline_tag")) or _word(card.get("pipeline_tag")),
        library=_word(answer.get("library_name")) or _word(card.get("library_name")),
        base_relation=_base_relation(answer, card, tags),
        languages=_languages(card),
        parameters=_parameters(answer.get("safetensors")),
        config=_config(answer.get("config")),
        files=_siblings(answer.get("siblings")),
        gguf_header_bytes=header_guess(answer.get("gguf")),
    )


def parse_tree(answer: Any, repo_id: str) -> list[RepoFile]:
    """Files of one page; entries whose path no repository can have are left out.

    Raises HubUnreachable ("unexpected_answer") when the page is no list.
    """
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    files = []
    for entry in answer:
        if not isinstance(entry, dict) or entry.get("type") != "file":
            continue
        path, size = entry.get("path"), entry.get("size")
        if isinstance(path, str) and is_plain_path(path):
            blob_id = None if entry.get("lfs") else _blob_id(entry.get("oid"))
            files.append(RepoFile(path, size if _is_size(size) else None, blob_id))
    return files


def is_plain_path(path: str) -> bool:
    """Whether this is a relative path that stays where it starts."""
    return (
        0 < len(path) <= MAX_PATH_CHARS
        and path.isprintable()
        and "\\" not in path
        and not any(part in ("", ".", "..") for part in path.split("/"))
    )


def is_blob(data: bytes, blob_id: str | None) -> bool:
    """Whether this is the content of a git object."""
    name = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return name.hexdigest() == blob_id


def _siblings(entries: Any) -> tuple[RepoFile, ...] | None:
    """Files of the description; None unless each has its size."""
    if not isinstance(entries, list):
        return None
    files = []
    for entry in entries:
        if not isinstance(entry, dict) or not _is_size(entry.get("size")):
            return None
        path = entry.get("rfilename")
        if isinstance(path, str) and is_plain_path(path):
            blob_id = None if entry.get("lfs") else _blob_id(entry.get("blobId"))
            files.append(RepoFile(path, entry["size"], blob_id))
    return tuple(files)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _blob_id(value: Any) -> str | None:
    return value if isinstance(value, str) and _SHA.fullmatch(value) else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str | None:
    """A short printable text, None for anything else."""
    usable = isinstance(value, str) and 0 < len(value) <= _MAX_WORD_CHARS and value.isprintable()
    return value if usable else None


def _license(card: Mapping[str, Any], tags: list[str]) -> str | None:
    """The card's license by name; "other" says less than `license_name` does."""
    stated = card.get("license")
    if isinstance(stated, list):
        stated = next(iter(stated), None)
    word = _word(stated) or next(
        (_word(tag.removeprefix("license:")) for tag in tags if tag.startswith("license:")), None
    )
    return (_word(card.get("license_name")) or word) if word in (None, "other") else word


def _base_models(card: Mapping[str, Any], tags: list[str]) -> tuple[str, ...]:
    stated = card.get("base_model")
    named = [stated] if isinstance(stated, str) else _items(stated)
    # base_model:org/name and base_model:quantized:org/name
    tagged = [tag.rpartition(":")[2] for tag in tags if tag.startswith("base_model:")]
    usable = [name for name in named or tagged if isinstance(name, str) and is_repo_id(name)]
    return tuple(dict.fromkeys(usable))[:_MAX_BASE_MODELS]


def _base_relation(
    answer: Mapping[str, Any], card: Mapping[str, Any], tags: list[str]
) -> str | None:
    """How it was made from its base: the Hub's word, the card's, or the tag's."""
    said = answer.get("baseModels")
    tagged = (tag.split(":")[1] for tag in tags if tag.startswith("base_model:"))
    candidates = [
        said.get("relation") if isinstance(said, dict) else None,
        card.get("base_model_relation"),
        *tagged,
    ]
    return next((word for word in candidates if word in _RELATIONS), None)


def _languages(card: Mapping[str, Any]) -> tuple[str, ...]:
    stated = card.get("language")
    named = [stated] if isinstance(stated, str) else _items(stated)
    usable = [name for name in named if isinstance(name, str) and _LANGUAGE.fullmatch(name)]
    return tuple(dict.fromkeys(usable))[:_MAX_LANGUAGES]


def _config(said: Any) -> Config | None:
    """What the API repeats of config.json; the tokenizer's settings are none of it."""
    if not isinstance(said, dict) or deeper_than(said, _MAX_CONFIG_DEPTH):
        return None
    return {key: value for key, value in said.items() if key not in _NO_CONFIG} or None


def _parameters(said: Any) -> dict[str, int] | None:
    """Parameters by dtype; None for anything that is not such a count."""
    counts = said.get("parameters") if isinstance(said, dict) else None
    if not isinstance(counts, dict) or not 0 < len(counts) <= len(DTYPE_BITS):
        return None
    usable = all(
        dtype in DTYPE_BITS and type(count) is int and 0 <= count < _MAX_PARAMETERS
        for dtype, count in counts.items()
    )
    return counts if usable and any(counts.values()) else None
