"""URLs of the Hub and parsers of its API's responses.

Responses are untrusted: every value that is used is checked here, unlike in the types of
huggingface_hub (`ModelInfo`, `ModelCardData`, `RepoSibling`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from huggingface_hub import hf_hub_url
from requests.utils import parse_header_links

from gpusizer.core.dtypes import DTYPE_BITS
from gpusizer.core.errors import HubUnreachable, MalformedRepo
from gpusizer.core.loose_values import JsonObject, JsonValue, list_in, object_in
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.hub.snapshot import Config, RepoFacts
from scrapers.client.published_results import index_results
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.json_files import deeper_than, load_json
from scrapers.formats.weight_sets import RepoFile

MAX_PATH_CHARS = 1024
MAX_CURSOR_CHARS = 4096
_MAX_WORD_CHARS = 120
_MAX_BASE_MODELS = 16
_MAX_LANGUAGES = 200
_MAX_PARAMETERS = 10**15
_MAX_CONFIG_DEPTH = 16
_NON_CONFIG_KEYS = ("tokenizer_config", "processor_config", "chat_template_jinja")
_RELATIONS = ("quantized", "finetune", "adapter", "merge")

_SHA = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,12}(?:[-_][A-Za-z]{2,8})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoInfo(RepoFacts):
    """The API's description of a repository."""

    private: bool
    disabled: bool
    # the Hub's own count of the safetensors files by dtype, public even for a gated repository;
    # None if the Hub has not counted
    parameters: Mapping[str, int] | None = None
    # the few entries of `config.json` that the API repeats; also public
    config: Config | None = None
    # the file list with sizes; None if the response does not include it
    files: tuple[RepoFile, ...] | None = None


def info_url(endpoint: str, repo_id: str, revision: str | None) -> str:
    """Return the URL of a repository's description, at its default branch or a revision."""
    # `blobs` adds sizes to the file list, which saves the request for the tree: a host reaches the
    # rate limit of the API first. The API does not accept it together with `expand`.
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    return f"{endpoint}/api/models/{repo_id}{at}?blobs=true"


def evaluations_url(endpoint: str, repo_id: str, revision: str | None) -> str:
    """Return the URL of the results of a repository's files `.eval_results/*.yaml`."""
    described = info_url(endpoint, repo_id, revision).partition("?")[0]
    return f"{described}?expand=evalResults"


def tree_url(endpoint: str, repo_id: str, revision: str, cursor: str | None = None) -> str:
    """Return the URL of one page of the file list."""
    query = {"recursive": "true"} | ({"cursor": cursor} if cursor else {})
    at = quote(revision, safe="")
    return f"{endpoint}/api/models/{repo_id}/tree/{at}?{urlencode(query)}"


def file_url(endpoint: str, repo_id: str, revision: str, path: str) -> str:
    """Return the URL of a file, which the Hub redirects to its CDN."""
    return hf_hub_url(repo_id, path, revision=revision, endpoint=endpoint)


def small_file_url(endpoint: str, repo_id: str, commit: str, path: str) -> str:
    """Return the URL of a file in git at a commit, the target of `file_url`'s redirect."""
    # The second address of "Resolve a file" in the Hub's OpenAPI specification
    # (https://huggingface.co/.well-known/openapi.json), for a repository with a namespace; the
    # revision has to be a commit.
    return f"{endpoint}/api/resolve-cache/models/{repo_id}/{commit}/{quote(path)}"


def headers_url(endpoint: str, repo_id: str, index: str) -> str:
    """Return the URL of the headers of all shards, which exists for the default branch only."""
    return f"{endpoint}/api/models/{repo_id}/safetensors-metadata/{quote(index)}"


def next_cursor(headers: Mapping[str, str], repo_id: str) -> str | None:
    """Return the cursor of the next page, None on the last page.

    Raises HubUnreachable ("unexpected_answer") for a next page without a cursor, because the list
    would end too early.
    """
    # Only the cursor is used from the Link header, because mirrors send the Hub's own host there.
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


def parse_info(answer: JsonValue, asked_repo_id: str) -> RepoInfo:
    """Parse a description. Raises HubUnreachable ("unexpected_answer") for any other JSON value."""
    if not isinstance(answer, dict) or "id" not in answer:
        raise HubUnreachable(repo_id=asked_repo_id, reason="unexpected_answer")
    card, tags = object_in(answer.get("cardData")), tags_of(answer)
    named, siblings = answer["id"], answer.get("siblings")
    return RepoInfo(
        repo_id=named if isinstance(named, str) and is_repo_id(named) else asked_repo_id,
        sha=_matching(_SHA, answer.get("sha")),
        gated=answer.get("gated") not in (None, False),
        private=answer.get("private") not in (None, False),
        disabled=answer.get("disabled") is True,
        license=_license(card, tags),
        base_models=_base_models(card, tags),
        pipeline_tag=_word(answer.get("pipeline_tag")) or _word(card.get("pipeline_tag")),
        library=_word(answer.get("library_name")) or _word(card.get("library_name")),
        base_relation=_base_relation(answer, card, tags),
        languages=_languages(card),
        published_results=index_results(answer.get("model-index") or card.get("model-index")),
        parameters=_parameters(object_in(answer.get("safetensors")).get("parameters")),
        config=_config(answer.get("config")),
        files=_files(siblings) if isinstance(siblings, list) else None,
    )


def tags_of(answer: JsonObject) -> list[str]:
    """Return the tags of a model, without those that are not strings."""
    return [tag for tag in list_in(answer.get("tags")) if isinstance(tag, str)]


def parse_tree(answer: JsonValue, repo_id: str) -> list[RepoFile]:
    """Parse the files of one page, each once; entries with an impossible path are left out.

    Raises HubUnreachable ("unexpected_answer") if the page is not a list, or has two different
    entries for one path.
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
            listed.append(
                _listed_file(path, _size(size), entry.get("oid"), lfs is not None, sha256)
            )
    files = unique_files(listed)
    if files is None:
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    return files


def unique_files(files: Sequence[RepoFile]) -> list[RepoFile] | None:
    """Remove repeated entries; return None if two entries of one path differ."""
    by_path = {file.path: file for file in files}
    return list(by_path.values()) if len(by_path) == len(set(files)) else None


def is_plain_path(path: str) -> bool:
    """Whether this is a relative path without `.`, `..`, empty parts or backslashes."""
    return (
        0 < len(path) <= MAX_PATH_CHARS
        and path.isprintable()
        and "\\" not in path
        and not any(part in ("", ".", "..") for part in path.split("/"))
    )


def _files(siblings: Sequence[JsonValue]) -> tuple[RepoFile, ...] | None:
    # None if any file is malformed, or entries of one path differ.
    listed = []
    for entry in map(object_in, siblings):
        path, size, lfs = entry.get("rfilename"), _size(entry.get("size")), entry.get("lfs")
        sha256 = object_in(lfs).get("sha256")
        if not isinstance(path, str) or size is None or (lfs and sha256 is None):
            return None
        if is_plain_path(path):
            listed.append(_listed_file(path, size, entry.get("blobId"), bool(lfs), sha256))
    files = unique_files(listed)
    return None if files is None else tuple(files)


def _listed_file(
    path: str, size_bytes: int | None, blob_id: JsonValue, is_in_lfs: bool, sha256: JsonValue
) -> RepoFile:
    # Hashes of a wrong form become None. The blob ID of a file in LFS is not used: it is the hash
    # of the pointer, not of the content.
    if is_in_lfs:
        return RepoFile(path, size_bytes, sha256=_matching(_SHA256, sha256))
    return RepoFile(path, size_bytes, blob_id=_matching(_SHA, blob_id))


def _matching(form: re.Pattern[str], value: JsonValue) -> str | None:
    return value if isinstance(value, str) and form.fullmatch(value) else None


def _size(value: JsonValue) -> int | None:
    return value if type(value) is int and 0 <= value < 2**63 else None


def _word(value: JsonValue) -> str | None:
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_WORD_CHARS:
        return None
    return value if value.isprintable() else None


def _license(card: JsonObject, tags: list[str]) -> str | None:
    # For "other" the name in `license_name`.
    license_value = card.get("license")
    if isinstance(license_value, list):
        license_value = next(iter(license_value), None)
    word = _word(license_value) or next(
        (_word(tag.removeprefix("license:")) for tag in tags if tag.startswith("license:")), None
    )
    return (_word(card.get("license_name")) or word) if word in (None, "other") else word


def _base_models(card: JsonObject, tags: list[str]) -> tuple[str, ...]:
    value = card.get("base_model")
    card_names = [value] if isinstance(value, str) else list_in(value)
    # base_model:org/name and base_model:quantized:org/name
    tagged = [tag.rpartition(":")[2] for tag in tags if tag.startswith("base_model:")]
    usable = [name for name in card_names or tagged if isinstance(name, str) and is_repo_id(name)]
    return tuple(dict.fromkeys(usable))[:_MAX_BASE_MODELS]


def _base_relation(answer: JsonObject, card: JsonObject, tags: list[str]) -> str | None:
    tagged = (tag.split(":")[1] for tag in tags if tag.startswith("base_model:"))
    candidates = [
        object_in(answer.get("baseModels")).get("relation"),
        card.get("base_model_relation"),
        *tagged,
    ]
    return next((word for word in candidates if word in _RELATIONS), None)


def _languages(card: JsonObject) -> tuple[str, ...]:
    value = card.get("language")
    names = [value] if isinstance(value, str) else list_in(value)
    usable = [name for name in names if isinstance(name, str) and _LANGUAGE.fullmatch(name)]
    return tuple(dict.fromkeys(usable))[:_MAX_LANGUAGES]


def _config(value: JsonValue) -> Config | None:
    # Without settings of the tokenizer.
    if not isinstance(value, dict) or deeper_than(value, _MAX_CONFIG_DEPTH):
        return None
    return {key: item for key, item in value.items() if key not in _NON_CONFIG_KEYS} or None


def _parameters(counts: JsonValue) -> dict[str, int] | None:
    # None if any count is invalid.
    if not isinstance(counts, dict) or not 0 < len(counts) <= len(DTYPE_BITS):
        return None
    usable = all(
        dtype in DTYPE_BITS and type(count) is int and 0 <= count < _MAX_PARAMETERS
        for dtype, count in counts.items()
    )
    return counts if usable and any(counts.values()) else None


# Above every count: JavaScript's integers, which the Hub writes, end here.
MAX_COUNT = 2**53


def parse_answer(body: bytes, budget: ReadBudget) -> JsonValue:
    """Return the JSON value of a response body.

    Raises HubUnreachable ("unexpected_answer") for a body that is not JSON, and LimitsExceeded
    ("json_memory_bytes") for values that would take too much memory.
    """
    try:
        return load_json(body, budget.repo_id, "")
    except MalformedRepo as error:
        if error.fields["reason"] == "crowded":
            raise budget.exceeded("json_memory_bytes") from None
        raise HubUnreachable(repo_id=budget.repo_id, reason="unexpected_answer") from None


def read_count(value: JsonValue) -> int | None:
    """Return a count of the API; None for another value."""
    return value if type(value) is int and 0 <= value < MAX_COUNT else None
