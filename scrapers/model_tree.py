"""Lists the quantized repositories of a base model, most downloaded first."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from gpusizer.core.settings import Settings
from gpusizer.core.work_turns import TURNS
from gpusizer.hub.model_ref import DEFAULT_BRANCH, is_repo_id
from gpusizer.hub.quantized_repos import Lister, QuantizedRepo
from scrapers.cache.hub_access import HubAccess, open_access
from scrapers.cache.single_flight import SingleFlight
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.client.failures import HubResource
from scrapers.client.http import HubSession
from scrapers.client.http_response import HubRequest, HubResponse
from scrapers.client.hub_api import (
    next_cursor,
    parse_answer,
    parse_tree,
    read_count,
    tags_of,
    tree_url,
)
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.weight_files import weight_format
from scrapers.limits import Limits

MAX_REPOS = 30
_EXPANDED = ("downloads", "likes", "tags")
# Tags of the Hub and words of a repository's name that name the format of its weights.
_FORMS = (
    *("gguf", "awq", "gptq", "fp8", "nvfp4", "mxfp4", "mlx", "exl3", "exl2", "bitsandbytes"),
    *("compressed-tensors", "onnx", "openvino", "int8", "int4", "w8a8", "w4a16"),
)
_WORDS = {"bnb": "bitsandbytes"}
_COUNTED = ("safetensors", "gguf", "pickle")


def build_lister(
    settings: Settings,
    on_call: OnCall = ignore_call,
    access: HubAccess | None = None,
    *,
    limit: int = MAX_REPOS,
) -> Lister:
    """Return a function that lists a base model's quantized repositories, by these settings.

    A listing costs one request to the API, and with sizes one more for each repository; `on_call`
    is called for each. In offline mode the function raises HubUnreachable ("offline").
    """
    limits = Limits(model_seconds=settings.timeout_seconds)
    if settings.offline:
        return _offline
    session = (access or open_access(settings)).open_session(settings, on_call)

    def read(key: tuple[str, bool]) -> tuple[QuantizedRepo, ...]:
        repo_id, sizes = key
        budget = ReadBudget(repo_id, limits)
        url = listing_url(settings.endpoint, repo_id, min(limit, MAX_REPOS))
        answer = session.get(HubRequest(url, HubResource(repo_id), "info_bytes"), budget)
        listed = parse_listing(parse_answer(answer.body, budget), repo_id)[:limit]
        if not sizes:
            return listed
        with ThreadPoolExecutor(min(len(listed), limits.parallel_reads) or 1) as pool:
            pages = pool.map(lambda repo: _page(session, budget, repo), listed)
            # Parsed one after another, because each page may take json_memory_bytes.
            return tuple(
                _sized(repo, page, budget) for repo, page in zip(listed, pages, strict=True)
            )

    listings = SingleFlight[tuple[str, bool], tuple[QuantizedRepo, ...]](
        read, waiting=TURNS.reading
    )
    return lambda repo_id, sizes: listings((repo_id, sizes))


def listing_url(endpoint: str, repo_id: str, limit: int) -> str:
    """Return the URL of the listing, with the filter and order of the Hub's model tree pages."""
    query = [("filter", f"base_model:quantized:{repo_id}"), ("sort", "downloads")]
    query.append(("limit", str(limit)))
    query += [("expand", name) for name in _EXPANDED]
    return f"{endpoint}/api/models?{urlencode(query)}"


def parse_listing(answer: Any, repo_id: str) -> tuple[QuantizedRepo, ...]:
    """Parse the repositories, most downloaded first; entries without a valid ID are left out.

    Raises HubUnreachable ("unexpected_answer") if the answer is not a list.
    """
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    repos = [
        QuantizedRepo(
            repo_id=entry["id"],
            form=form_of(entry),
            downloads=read_count(entry.get("downloads")) or 0,
            likes=read_count(entry.get("likes")) or 0,
        )
        for entry in answer
        if _is_named(entry)
    ]
    return tuple(sorted(repos, key=lambda repo: (-repo.downloads, repo.repo_id)))[:MAX_REPOS]


def form_of(entry: Mapping[str, Any]) -> str:
    """Return the format of a repository's weights, from the words of its name, else its tags."""
    words = set(entry["id"].lower().replace("_", "-").replace("/", "-").split("-"))
    words |= {_WORDS[word] for word in words & _WORDS.keys()}
    tags = {tag.lower() for tag in tags_of(entry)}
    # The name first: a repository of FP8 weights is tagged "compressed-tensors" as well.
    for labels in (words, tags):
        form = next((form for form in _FORMS if form in labels), None)
        if form is not None:
            return form
    return "other"


def _page(session: HubSession, budget: ReadBudget, repo: QuantizedRepo) -> HubResponse | None:
    """Read the first page of the file list; return None if that fails."""
    url = tree_url(session.endpoint, repo.repo_id, DEFAULT_BRANCH)
    try:
        return session.get(HubRequest(url, HubResource(repo.repo_id), "page_bytes"), budget)
    except ModelUnreadable:
        return None


def _sized(repo: QuantizedRepo, page: HubResponse | None, budget: ReadBudget) -> QuantizedRepo:
    """Return the repository with the bytes of its weight files, unchanged if they are unknown."""
    if page is None:
        return repo
    try:
        files = parse_tree(parse_answer(page.body, budget), repo.repo_id)
        cursor = next_cursor(page.headers, repo.repo_id)
    except ModelUnreadable:
        return repo
    if cursor is not None:
        return repo  # the sum over a part of the file list would be too small
    by_format: dict[str, int] = {}
    for file in files:
        form = weight_format(file.path)
        if form in _COUNTED and file.size_bytes is not None:
            by_format[form] = by_format.get(form, 0) + file.size_bytes
    # Repositories may hold copies in several formats: count the one that libraries load first.
    weight_bytes = next((by_format[form] for form in _COUNTED if form in by_format), None)
    return replace(repo, weight_bytes=weight_bytes)


def _is_named(entry: Any) -> bool:
    """Whether an entry of the listing has a valid repository ID."""
    return isinstance(entry, dict) and isinstance(entry.get("id"), str) and is_repo_id(entry["id"])


def _offline(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
    raise HubUnreachable(repo_id=repo_id, reason="offline")
