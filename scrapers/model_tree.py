"""The quantized repositories published for a base model, most downloaded first."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from gpusizer.errors import HubUnreachable, ModelUnreadable
from gpusizer.hub_id import is_repo_id
from gpusizer.model_tree import Lister, QuantizedRepo
from gpusizer.settings import Settings
from scrapers.http import HubAnswer, HubSession, Wanted
from scrapers.hub_api import next_cursor, parse_tree, tree_url
from scrapers.json_files import load_json
from scrapers.limits import Limits
from scrapers.reading import Reading
from scrapers.recent import Recent
from scrapers.refusals import Asked
from scrapers.repo_reader import DEFAULT_BRANCH
from scrapers.weight_files import weight_format

MAX_REPOS = 30
_EXPANDED = ("downloads", "likes", "tags")
# A tag of the Hub's, or a word of the name, that says how the weights are stored.
_FORMS = ("gguf", "awq", "gptq", "fp8", "nvfp4", "mxfp4", "mlx", "exl3", "exl2", "bitsandbytes",
          "compressed-tensors", "onnx", "openvino", "int8", "int4", "w8a8", "w4a16")  # fmt: skip
_WORDS = {"bnb": "bitsandbytes"}
_COUNTED = ("safetensors", "gguf", "pickle")


def build_lister(settings: Settings, *, limit: int = MAX_REPOS) -> Lister:
    """A function that lists a base model's quantized repositories, by these settings.

    One API request, and with sizes one more for each repository, so that it is done only
    when asked for. Offline it raises HubUnreachable ("offline").
    """
    limits = Limits(model_seconds=settings.timeout_seconds)
    if settings.offline:
        return _offline
    session = HubSession(
        settings.endpoint, cdn_origins=settings.cdn_origins, ca_bundle=settings.ca_bundle
    )

    def read(asked: tuple[str, bool]) -> tuple[QuantizedRepo, ...]:
        repo_id, sizes = asked
        reading = Reading(repo_id, limits)
        url = listing_url(settings.endpoint, repo_id, min(limit, MAX_REPOS))
        answer = _get(session, reading, repo_id, url)
        listed = parse_listing(_value(answer, repo_id), repo_id)[:limit]
        if not sizes:
            return listed
        with ThreadPoolExecutor(min(len(listed), limits.parallel_reads) or 1) as pool:
            return tuple(pool.map(lambda repo: _sized(session, reading, repo), listed))

    recent = Recent[tuple[str, bool], tuple[QuantizedRepo, ...]](read)
    return lambda repo_id, sizes: recent((repo_id, sizes))


def listing_url(endpoint: str, repo_id: str, limit: int) -> str:
    """Address of the listing; filter and order as on the Hub's own model tree pages."""
    query = [("filter", f"base_model:quantized:{repo_id}"), ("sort", "downloads")]
    query += [("direction", "-1"), ("limit", str(limit))]
    query += [("expand", name) for name in _EXPANDED]
    return f"{endpoint}/api/models?{urlencode(query)}"


def parse_listing(answer: Any, repo_id: str) -> tuple[QuantizedRepo, ...]:
    """Repositories of one answer, most downloaded first; entries without a usable ID are left out.

    Raises HubUnreachable ("unexpected_answer") when it is no list.
    """
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    found = [
        QuantizedRepo(
            entry["id"], form_of(entry), _count(entry, "downloads"), _count(entry, "likes")
        )
        for entry in answer
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and is_repo_id(entry["id"])
    ]
    return tuple(sorted(found, key=lambda repo: (-repo.downloads, repo.repo_id)))[:MAX_REPOS]


def form_of(entry: Mapping[str, Any]) -> str:
    """How a repository stores its weights: by its tags, else by the words of its name."""
    tags = entry.get("tags")
    said = (
        {tag.lower() for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()
    )
    words = set(str(entry.get("id")).lower().replace("_", "-").replace("/", "-").split("-"))
    words |= {_WORDS[word] for word in words & _WORDS.keys()}
    # The name first: a repository of FP8 weights is tagged "compressed-tensors" as well.
    for known in (words, said):
        form = next((form for form in _FORMS if form in known), None)
        if form is not None:
            return form
    return "other"


def _sized(session: HubSession, reading: Reading, repo: QuantizedRepo) -> QuantizedRepo:
    """The repository with the bytes of its weight files; unchanged when it cannot be read."""
    url = tree_url(session.endpoint, repo.repo_id, DEFAULT_BRANCH)
    try:
        answer = _get(session, reading, repo.repo_id, url)
        files = parse_tree(_value(answer, repo.repo_id), repo.repo_id)
    except ModelUnreadable:
        return repo
    if next_cursor(answer.headers):
        return repo  # a part of the file list would be too small a size
    by_format: dict[str, int] = {}
    for file in files:
        form = weight_format(file.path)
        if form in _COUNTED and file.size_bytes is not None:
            by_format[form] = by_format.get(form, 0) + file.size_bytes
    # The copy a library loads first, never the sum over copies.
    chosen = next((by_format[form] for form in _COUNTED if form in by_format), None)
    return replace(repo, weight_bytes=chosen)


def _get(session: HubSession, reading: Reading, repo_id: str, url: str) -> HubAnswer:
    return session.get(Wanted(url, Asked(repo_id), "info_bytes"), reading)


def _value(answer: HubAnswer, repo_id: str) -> Any:
    try:
        return load_json(answer.body, repo_id, "")
    except ModelUnreadable:
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer") from None


def _count(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    return value if type(value) is int and 0 <= value < 2**53 else 0


def _offline(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
    raise HubUnreachable(repo_id=repo_id, reason="offline")
