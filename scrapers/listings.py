"""Listings of the Hub: trending models, and quantized repositories of a model.

The parameters are those of `HfApi.list_models` of huggingface_hub 2.4 (`filter`, `sort`, `expand`).
Values are untrusted and checked one by one; an entry without a usable ID is left out. A listing
counts once against the Hub's limit of 500 requests in 5 minutes for anonymous callers
(docs/hub/rate-limits), and its result serves all callers for ten minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import NoReturn
from urllib.parse import urlencode

from gpusizer.core.cpu_limiter import CPU_LIMITER
from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from gpusizer.core.loose_values import JsonObject, JsonValue, read_day
from gpusizer.core.settings import Settings
from gpusizer.hub.listed_models import ListedModel, Lister, Listing, ListTrending, QuantizedRepo
from gpusizer.hub.model_ref import DEFAULT_BRANCH, is_repo_id
from scrapers.cache.hub_access import HubAccess, open_own_access
from scrapers.cache.single_flight import SingleFlight
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.client.failures import HubResource
from scrapers.client.http import HubSession
from scrapers.client.http_response import HubRequest, HubResponse
from scrapers.client.hub_api import (
    MAX_COUNT,
    next_cursor,
    parse_answer,
    parse_info,
    parse_tree,
    read_count,
    tags_of,
    tree_url,
)
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.weight_files import weight_format
from scrapers.limits import Limits

LISTED_MODELS = 500
# Time for the trending models: the answer goes without them if the Hub is slow.
SECONDS = 10.0
# Replaces the ID of a repository in errors.
_LISTING = "models"
_TRENDING_FACTS = (
    *("downloads", "likes", "createdAt", "trendingScore", "pipeline_tag", "safetensors"),
    *("gated", "tags"),
)

MAX_REPOS = 30
_QUANTIZED_FACTS = ("downloads", "likes", "tags")
# Tags of the Hub and words of a repository's name that name the format of its weights.
_FORMS = (
    *("gguf", "awq", "gptq", "fp8", "nvfp4", "mxfp4", "mlx", "exl3", "exl2", "bitsandbytes"),
    *("compressed-tensors", "onnx", "openvino", "int8", "int4", "w8a8", "w4a16"),
)
_WORDS = {"bnb": "bitsandbytes"}
_COUNTED = ("safetensors", "gguf", "pickle")


def build_trending(
    settings: Settings,
    on_call: OnCall = ignore_call,
    access: HubAccess | None = None,
    today: Callable[[], date] | None = None,
) -> ListTrending:
    """Return a function that requests the trending models, in one request without retries.

    It raises HubUnreachable ("offline" in offline mode), HubRateLimited and LimitsExceeded.
    `on_call` is called for each request, `today` returns the day of a response.
    """
    if settings.offline:
        return lambda: _offline(_LISTING)
    limits = Limits(model_seconds=min(SECONDS, settings.timeout_seconds))
    session = (access or open_own_access(settings)).open_session(settings, on_call)
    url = listing_url(settings.endpoint, "trendingScore", LISTED_MODELS, _TRENDING_FACTS)

    def read(key: str) -> Listing:
        answer = _asked(session, url, ReadBudget(key, limits), attempts=1)
        return parse_trending(answer, today() if today else datetime.now(UTC).date())

    listings = SingleFlight[str, Listing](read, entries=1)
    return lambda: listings(_LISTING)


def build_lister(
    settings: Settings,
    on_call: OnCall = ignore_call,
    access: HubAccess | None = None,
    *,
    limit: int = MAX_REPOS,
) -> Lister:
    """Return a function that lists a base model's quantized repositories.

    A listing costs one request to the API, and with sizes one more for each repository; `on_call`
    is called for each. In offline mode the function raises HubUnreachable ("offline").
    """
    limits = Limits(model_seconds=settings.timeout_seconds)
    if settings.offline:
        return lambda repo_id, sizes: _offline(repo_id)
    session = (access or open_own_access(settings)).open_session(settings, on_call)

    def read(key: tuple[str, bool]) -> tuple[QuantizedRepo, ...]:
        repo_id, sizes = key
        budget = ReadBudget(repo_id, limits)
        url = listing_url(
            *(settings.endpoint, "downloads", min(limit, MAX_REPOS), _QUANTIZED_FACTS),
            f"base_model:quantized:{repo_id}",
        )
        listed = parse_quantized(_asked(session, url, budget), repo_id)[:limit]
        if not sizes:
            return listed
        with ThreadPoolExecutor(min(len(listed), limits.parallel_reads) or 1) as pool:
            pages = pool.map(lambda repo: _page(session, budget, repo), listed)
            # Parsed one after another, because each page may take json_memory_bytes.
            return tuple(
                _sized(repo, page, budget) for repo, page in zip(listed, pages, strict=True)
            )

    listings = SingleFlight[tuple[str, bool], tuple[QuantizedRepo, ...]](
        read, computing=CPU_LIMITER.reading, waiting=CPU_LIMITER.waiting
    )
    return lambda repo_id, sizes: listings((repo_id, sizes))


def listing_url(
    endpoint: str, sort: str, limit: int, facts: tuple[str, ...], tag: str | None = None
) -> str:
    """Return the URL of a listing of `facts`, optionally of models with a tag."""
    query = [("filter", tag)] if tag is not None else []
    query += [("sort", sort), ("limit", str(limit)), *(("expand", name) for name in facts)]
    return f"{endpoint}/api/models?{urlencode(query)}"


def parse_trending(answer: JsonValue, day: date) -> Listing:
    """Parse the listing; a repeated repository keeps its first place.

    Raises HubUnreachable ("unexpected_answer") if the response is not a list.
    """
    models: dict[str, ListedModel] = {}
    for repo_id, entry in _entries(answer, _LISTING, LISTED_MODELS):
        models.setdefault(repo_id.casefold(), _listed(entry, repo_id, day))
    return Listing(tuple(models.values()), day)


def parse_quantized(answer: JsonValue, repo_id: str) -> tuple[QuantizedRepo, ...]:
    """Parse the repositories, most downloaded first. Raises as `parse_trending` does."""
    repos = [
        QuantizedRepo(
            repo_id=named,
            form=form_of(entry),
            downloads=read_count(entry.get("downloads")) or 0,
            likes=read_count(entry.get("likes")) or 0,
        )
        for named, entry in _entries(answer, repo_id)
    ]
    return tuple(sorted(repos, key=lambda repo: (-repo.downloads, repo.repo_id)))[:MAX_REPOS]


def form_of(entry: JsonObject) -> str:
    """Return the format of a repository's weights, from the words of its name, else its tags."""
    words = set(str(entry["id"]).lower().replace("_", "-").replace("/", "-").split("-"))
    words |= {_WORDS[word] for word in words & _WORDS.keys()}
    tags = {tag.lower() for tag in tags_of(entry)}
    # The name first: a repository of FP8 weights is tagged "compressed-tensors" as well.
    for labels in (words, tags):
        form = next((form for form in _FORMS if form in labels), None)
        if form is not None:
            return form
    return "other"


def _offline(repo_id: str) -> NoReturn:
    raise HubUnreachable(repo_id=repo_id, reason="offline")


def _asked(
    session: HubSession, url: str, budget: ReadBudget, attempts: int | None = None
) -> JsonValue:
    request = HubRequest(url, HubResource(budget.repo_id), "info_bytes", attempts=attempts)
    return parse_answer(session.get(request, budget).body, budget)


def _entries(
    answer: JsonValue, repo_id: str, most: int | None = None
) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    # Only entries with a valid ID, of the first `most`.
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    for entry in answer[:most]:
        named = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(named, str) and is_repo_id(named):
            yield named, entry


def _listed(entry: dict[str, JsonValue], repo_id: str, day: date) -> ListedModel:
    info = parse_info(entry, repo_id)
    return ListedModel(
        repo_id=repo_id,
        created=read_day(entry.get("createdAt"), day),
        downloads=read_count(entry.get("downloads")),
        likes=read_count(entry.get("likes")),
        trending_score=_score(entry.get("trendingScore")),
        pipeline_tag=info.pipeline_tag,
        parameters=sum(info.parameters.values()) if info.parameters else None,
        license=info.license,
        gated=info.gated,
        base_relation=info.base_relation,
        base_models=info.base_models,
    )


def _score(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and 0 <= value < MAX_COUNT else None


def _page(session: HubSession, budget: ReadBudget, repo: QuantizedRepo) -> HubResponse | None:
    # None if the first page of the file list cannot be read.
    url = tree_url(session.endpoint, repo.repo_id, DEFAULT_BRANCH)
    try:
        return session.get(HubRequest(url, HubResource(repo.repo_id), "page_bytes"), budget)
    except ModelUnreadable:
        return None


def _sized(repo: QuantizedRepo, page: HubResponse | None, budget: ReadBudget) -> QuantizedRepo:
    # Unchanged if the bytes of its weight files are unknown.
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
