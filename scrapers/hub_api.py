"""The Hub's addresses, and what its API's answers mean.

huggingface_hub knows the shape of an answer (`ModelInfo`, `ModelCardData`, `RepoSibling`). It
trusts what it is told, and an answer may come from anybody: only the fields that are read below
are handed to it, and every value of theirs is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from huggingface_hub import ModelCardData, hf_hub_url
from huggingface_hub.hf_api import ModelInfo, RepoSibling
from requests.utils import parse_header_links

from gpusizer.core.dtypes import DTYPE_BITS
from gpusizer.core.errors import HubUnreachable
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.hub.snapshot import Config
from scrapers.json_files import deeper_than
from scrapers.weight_sets import RepoFile

MAX_PATH_CHARS = 1024
MAX_CURSOR_CHARS = 4096
_MAX_WORD_CHARS = 120
_MAX_BASE_MODELS = 16
_MAX_LANGUAGES = 200
_MAX_PARAMETERS = 10**15
_MAX_CONFIG_DEPTH = 16
_NO_CONFIG = ("tokenizer_config", "processor_config", "chat_template_jinja")
_RELATIONS = ("quantized", "finetune", "adapter", "merge")
# Fields of an answer, and of the model card in it, that are read; the type they must have, if one.
# ModelInfo would parse dates and evaluation results, which cost time and can be malformed.
_INFO_FIELDS: dict[str, type] = {
    "cardData": dict,
    "safetensors": dict,
    "siblings": list,
    **dict.fromkeys(("id", "sha", "gated", "private", "disabled", "tags", "config"), object),
    **dict.fromkeys(("pipeline_tag", "library_name", "baseModels", "downloads", "likes"), object),
}
_CARD_FIELDS = (
    *("license", "license_name", "base_model", "base_model_relation", "language"),
    *("pipeline_tag", "library_name"),
)
# What ModelInfo raises for entries of the file list in another shape than the Hub's.
_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)

_SHA = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,12}(?:[-_][A-Za-z]{2,8})*")


@dataclass(frozen=True, slots=True)
class RepoInfo:
    """What the API says about a repository; see RepoSnapshot for the other fields.

    Attributes:
        parameters: the Hub's own count of the safetensors files by dtype, public even where
            the files are behind a gate; None when it did not count.
        config: the few entries of `config.json` that the API repeats; public likewise.
        files: the file list with sizes; None when the answer does not carry it.
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
    return hf_hub_url(repo_id, path, revision=revision, endpoint=endpoint)


def headers_url(endpoint: str, repo_id: str, index: str) -> str:
    """Address of every shard's header in one answer; of the default branch alone."""
    return f"{endpoint}/api/models/{repo_id}/safetensors-metadata/{quote(index)}"


def next_cursor(headers: Mapping[str, str], repo_id: str) -> str | None:
    """Cursor of the next page, None on the last.

    Only the cursor is taken from the Link header: mirrors repeat the Hub's own address. A next
    page without one is HubUnreachable ("unexpected_answer"): the list would end too early.
    """
    links = parse_header_links(headers.get("Link", ""))
    following = [link["url"] for link in links if link.get("rel") == "next"]
    if not following:
        return None
    try:
        cursors = parse_qs(urlsplit(following[0]).query).get("cursor")
    except ValueError:
        cursors = None
    if not cursors or len(cursors[0]) > MAX_CURSOR_CHARS:
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    return cursors[0]


def parse_info(answer: Any, asked_repo_id: str) -> RepoInfo:
    """Facts of a repository. Raises HubUnreachable ("unexpected_answer") for anything else."""
    if not isinstance(answer, dict) or "id" not in answer:
        raise HubUnreachable(repo_id=asked_repo_id, reason="unexpected_answer")
    info = model_info(answer)
    card = info.card_data or ModelCardData()
    tags = tags_of(info)
    return RepoInfo(
        repo_id=info.id if isinstance(info.id, str) and is_repo_id(info.id) else asked_repo_id,
        sha=info.sha if isinstance(info.sha, str) and _SHA.fullmatch(info.sha) else None,
        gated=info.gated not in (None, False),
        private=info.private not in (None, False),
        disabled=info.disabled is True,
        license=_license(card, tags),
        base_models=_base_models(card, tags),
        pipeline_tag=_word(info.pipeline_tag) or _word(card.pipeline_tag),
        library=_word(info.library_name) or _word(card.library_name),
        base_relation=_base_relation(info, card, tags),
        languages=_languages(card),
        parameters=_parameters(info.safetensors.parameters if info.safetensors else None),
        config=_config(info.config),
        files=None if info.siblings is None else _files(info.siblings),
    )


def model_info(answer: Mapping[str, Any]) -> ModelInfo:
    """The fields of an answer about one model by their names; `answer` has an "id".

    The values are whatever was sent. A file list, a card or a parameter count in another shape
    than the Hub's is None, as if it had not been sent.
    """
    fields = {
        name: answer[name]
        for name, expected in _INFO_FIELDS.items()
        if name in answer and isinstance(answer[name], expected)
    }
    if "cardData" in fields:
        card = fields["cardData"]
        fields["cardData"] = {name: card[name] for name in _CARD_FIELDS if name in card}
    if "safetensors" in fields:
        fields["safetensors"] = {"parameters": None, "total": None, **fields["safetensors"]}
    try:
        return ModelInfo(**fields)
    except _UNREADABLE:
        del fields["siblings"]
        return ModelInfo(**fields)


def tags_of(info: ModelInfo) -> list[str]:
    """The tags of a model that are texts."""
    return [tag for tag in _items(info.tags) if isinstance(tag, str)]


def parse_tree(answer: Any, repo_id: str) -> list[RepoFile]:
    """Files of one page, each once; entries whose path no repository can have are left out.

    Raises HubUnreachable ("unexpected_answer") when the page is no list, or says two things of
    one file.
    """
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    listed = []
    for entry in answer:
        if not isinstance(entry, dict) or entry.get("type") != "file":
            continue
        path, size, lfs = entry.get("path"), entry.get("size"), entry.get("lfs")
        if isinstance(path, str) and is_plain_path(path):
            sha256 = lfs.get("oid") if isinstance(lfs, dict) else None
            size = size if _is_size(size) else None
            listed.append(_listed_file(path, size, entry.get("oid"), lfs is not None, sha256))
    files = each_once(listed)
    if files is None:
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    return files


def each_once(files: Sequence[RepoFile]) -> list[RepoFile] | None:
    """The files of a list that may repeat some; None where it contradicts itself."""
    by_path = {file.path: file for file in files}
    return list(by_path.values()) if len(by_path) == len(set(files)) else None


def is_plain_path(path: str) -> bool:
    """Whether this is a relative path that stays where it starts."""
    return (
        0 < len(path) <= MAX_PATH_CHARS
        and path.isprintable()
        and "\\" not in path
        and not any(part in ("", ".", "..") for part in path.split("/"))
    )


def _files(siblings: Sequence[RepoSibling]) -> tuple[RepoFile, ...] | None:
    """Files of the description; None unless each has its size, and only one."""
    if not all(_is_size(sibling.size) for sibling in siblings):
        return None
    listed = [
        _listed_file(
            sibling.rfilename,
            sibling.size,
            sibling.blob_id,
            sibling.lfs is not None,
            sibling.lfs.sha256 if sibling.lfs else None,
        )
        for sibling in siblings
        if isinstance(sibling.rfilename, str) and is_plain_path(sibling.rfilename)
    ]
    files = each_once(listed)
    return None if files is None else tuple(files)


def _listed_file(
    path: str, size_bytes: int | None, blob_id: Any, is_in_lfs: bool, sha256: Any
) -> RepoFile:
    """An entry of the file list, from whatever was sent as the names of its content.

    Git's name of a file in LFS is that of the pointer, which nobody is sent.
    """
    if is_in_lfs:
        usable = isinstance(sha256, str) and _SHA256.fullmatch(sha256)
        return RepoFile(path, size_bytes, sha256=sha256 if usable else None)
    usable = isinstance(blob_id, str) and _SHA.fullmatch(blob_id)
    return RepoFile(path, size_bytes, blob_id=blob_id if usable else None)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str | None:
    """A short printable text, None for anything else."""
    usable = isinstance(value, str) and 0 < len(value) <= _MAX_WORD_CHARS and value.isprintable()
    return value if usable else None


def _license(card: ModelCardData, tags: list[str]) -> str | None:
    """The card's license by name; "other" says less than `license_name` does."""
    stated: Any = card.license
    if isinstance(stated, list):
        stated = next(iter(stated), None)
    word = _word(stated) or next(
        (_word(tag.removeprefix("license:")) for tag in tags if tag.startswith("license:")), None
    )
    return (_word(card.license_name) or word) if word in (None, "other") else word


def _base_models(card: ModelCardData, tags: list[str]) -> tuple[str, ...]:
    stated = card.base_model
    named = [stated] if isinstance(stated, str) else _items(stated)
    # base_model:org/name and base_model:quantized:org/name
    tagged = [tag.rpartition(":")[2] for tag in tags if tag.startswith("base_model:")]
    usable = [name for name in named or tagged if isinstance(name, str) and is_repo_id(name)]
    return tuple(dict.fromkeys(usable))[:_MAX_BASE_MODELS]


def _base_relation(info: ModelInfo, card: ModelCardData, tags: list[str]) -> str | None:
    """How it was made from its base: the Hub's word, the card's, or the tag's."""
    related: Any = info.base_models  # the Hub sends an object where huggingface_hub says a list
    tagged = (tag.split(":")[1] for tag in tags if tag.startswith("base_model:"))
    candidates = [
        related.get("relation") if isinstance(related, dict) else None,
        card.get("base_model_relation"),
        *tagged,
    ]
    return next((word for word in candidates if word in _RELATIONS), None)


def _languages(card: ModelCardData) -> tuple[str, ...]:
    stated = card.language
    named = [stated] if isinstance(stated, str) else _items(stated)
    usable = [name for name in named if isinstance(name, str) and _LANGUAGE.fullmatch(name)]
    return tuple(dict.fromkeys(usable))[:_MAX_LANGUAGES]


def _config(value: Any) -> Config | None:
    """What the API repeats of config.json; the tokenizer's settings are none of it."""
    if not isinstance(value, dict) or deeper_than(value, _MAX_CONFIG_DEPTH):
        return None
    return {key: item for key, item in value.items() if key not in _NO_CONFIG} or None


def _parameters(counts: Any) -> dict[str, int] | None:
    """Parameters by dtype; None for anything that is not such a count."""
    if not isinstance(counts, dict) or not 0 < len(counts) <= len(DTYPE_BITS):
        return None
    usable = all(
        dtype in DTYPE_BITS and type(count) is int and 0 <= count < _MAX_PARAMETERS
        for dtype, count in counts.items()
    )
    return counts if usable and any(counts.values()) else None
