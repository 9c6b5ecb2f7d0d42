"""HubSite answers requests by a table of routes."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from tests.hub_emulator import refusals
from tests.hub_emulator.catalog import Catalog
from tests.hub_emulator.cdn import CdnSite
from tests.hub_emulator.files import FakeFile
from tests.hub_emulator.info import base_model_tags, model_info
from tests.hub_emulator.messages import Answer, AnswerNow, Request, json_answer, redirect
from tests.hub_emulator.options import Options
from tests.hub_emulator.repos import FakeRepo, Files
from tests.hub_emulator.safetensors_files import MALFORMED, read_header
from tests.hub_emulator.serving import compressed, file_answer
from tests.hub_emulator.tree import tree_page

Parts = dict[str, str]  #

Route = Callable[["HubSite", Request, Parts], Answer]

WINDOW_SECONDS = 300


class HubSite:
    """The site of the Hub: API, file tree, and small files."""

    def __init__(self, catalog: Catalog, cdn: CdnSite) -> None:
        self.catalog = catalog
        self.cdn = cdn
        self.endpoint = ""
        self.headers_answers: dict[tuple[str, str], tuple[Files, Answer]] = {}
        self._used: Counter[tuple[str, bool]] = Counter()
        self._lock = threading.Lock()

    @property
    def options(self) -> Options:
        """The current options."""
        return self.catalog.options

    def answer(self, request: Request) -> Answer:
        """Answer any request, with the headers of its rate limit."""
        bucket, route, parts = _route_of(request.path)
        quota, remaining = self._count(request, bucket)
        try:
            if remaining < 0 and self.options.enforce_rate_limits:
                raise refusals.too_many_requests(WINDOW_SECONDS)
            answer = route(self, request, parts)
        except AnswerNow as early:
            answer = early.answer
        limits = {
            "RateLimit": f'"{bucket}";r={max(remaining, 0)};t={WINDOW_SECONDS - 5}',
            "RateLimit-Policy": f'"fixed window";"{bucket}";q={quota};w={WINDOW_SECONDS}',
        }
        return replace(answer, headers=answer.headers | limits)

    def _count(self, request: Request, bucket: str) -> tuple[int, int]:
        """Return the quota of the bucket, and the requests left after this one."""
        authenticated = "authorization" in request.headers
        quota = self.options.rate_limits[bucket][authenticated]
        with self._lock:
            if self.options.enforce_rate_limits:
                self._used[bucket, authenticated] += 1
            else:
                self._used[bucket, authenticated] = 1
            return quota, quota - self._used[bucket, authenticated]


def _route_of(path: str) -> tuple[str, Route, Parts]:
    for pattern, bucket, route in ROUTES:
        match = pattern.fullmatch(path)
        if match:
            groups = match.groupdict().items()
            return bucket, route, {name: unquote(text or "") for name, text in groups}
    return "pages", _no_route, {}


def _safetensors_metadata(site: HubSite, request: Request, parts: Parts) -> Answer:
    """Every shard's header in one answer, as huggingface_hub 2.4.0 reads it."""
    status = site.options.safetensors_metadata_status
    if status != 200:
        raise refusals.refuse(status, "Not available")
    repo, path = site.catalog.repo_of_api(request, parts["repo_id"]), parts["path"]
    site.catalog.check_files(request, repo)
    files, answer = site.headers_answers.get((repo.repo_id, path), ({}, Answer(0)))
    if files and files == repo.files:  # cached: 163 headers take half a second to write as JSON
        return answer
    index_file = _file(repo, path)
    try:
        answer = json_answer(_index_and_headers(repo, path, index_file))
    except MALFORMED as error:
        raise refusals.refuse(400, f"Cannot read the headers: {error}") from None
    site.headers_answers[repo.repo_id, path] = (dict(repo.files), answer)
    return answer


def _index_and_headers(repo: FakeRepo, path: str, index_file: FakeFile) -> dict[str, Any]:
    index = json.loads(index_file.head_bytes())
    folder = path[: path.rfind("/") + 1]
    shards = dict.fromkeys(index.pop("weight_map").values())
    headers = {shard: read_header(repo.files[folder + shard]) for shard in shards}
    return {"index": index, "headers": headers}


def _file(repo: FakeRepo, path: str) -> FakeFile:
    file = repo.files.get(path)
    if file is None:
        raise refusals.entry_not_found(repo.sha)
    return file


def _no_route(site: HubSite, request: Request, parts: Parts) -> Answer:
    raise refusals.route_not_found()


_SORTS: dict[str, Callable[[FakeRepo], float]] = {
    "downloads": lambda repo: repo.downloads,
    "likes": lambda repo: repo.likes,
    "trendingScore": lambda repo: repo.trending_score,
}


def _listing(site: HubSite, request: Request, parts: Parts) -> Answer:
    """Repositories with a tag and a word in their name, in the requested order, most first.

    Private ones are left out.
    """
    tags, words = request.values("filter"), request.values("search")
    repos = [
        repo
        for repo in site.catalog.repos.values()
        if not repo.private
        and set(tags) <= {*repo.tags, *base_model_tags(repo)}
        and all(word.casefold() in repo.repo_id.casefold() for word in words)
    ]
    for name in request.values("sort"):
        if name not in _SORTS:
            raise refusals.refuse(400, f"sort: invalid option {name!r}")
        repos.sort(key=lambda repo: -_SORTS[name](repo))
    limit = int((request.values("limit") or ["1000"])[0])
    return json_answer([model_info(repo, request) for repo in repos[:limit]])


def _info(site: HubSite, request: Request, parts: Parts) -> Answer:
    repo = site.catalog.repo_of_api(request, parts["repo_id"])
    state = site.catalog.at(repo, parts.get("revision") or "main")
    return json_answer(model_info(state, request))


def _tree(site: HubSite, request: Request, parts: Parts) -> Answer:
    repo = site.catalog.repo_of_api(request, parts["repo_id"])
    state = site.catalog.at(repo, parts["revision"])
    folder = parts["path"].strip("/")
    return tree_page(state, folder, request, site.options, site.endpoint)


def _resolve(site: HubSite, request: Request, parts: Parts) -> Answer:
    """Redirect to a file: to the CDN for LFS, to the Hub's own cache for others."""
    repo = site.catalog.repo_of_files(request, parts["repo_id"])
    state = site.catalog.at(repo, parts["revision"])
    path = parts["path"]
    file = _file(state, path)
    headers = {
        "X-Repo-Commit": state.sha,
        "X-Linked-Size": str(file.size),
        "X-Linked-Etag": f'"{file.etag}"',
    }
    if file.lfs:
        return redirect(302, site.cdn.sign(state, path, file), headers)
    if site.options.resolve_cache_status != 200:
        return file_answer(file, path, request, headers)
    cached = f"/api/resolve-cache/models/{state.repo_id}/{state.sha}/{quote(path, safe='')}"
    query = f"{quote(request.path, safe='')}=&etag={quote(headers['X-Linked-Etag'])}"
    return redirect(307, f"{cached}?{query}", headers)


def _resolve_cache(site: HubSite, request: Request, parts: Parts) -> Answer:
    """Return a file that git holds; the revision has to be a commit."""
    if site.options.resolve_cache_status != 200:
        raise refusals.refuse(site.options.resolve_cache_status, "Not available")
    if not _SHA.fullmatch(parts["revision"]):
        raise refusals.refuse(400, "Invalid commit")
    repo = site.catalog.repo_of_files(request, parts["repo_id"])
    state = site.catalog.at(repo, parts["revision"])
    path = parts["path"]
    file = _file(state, path)
    headers = {"ETag": f'"{file.oid}"', "X-Repo-Commit": state.sha}
    answer = file_answer(file, path, request, headers)
    return compressed(answer, request) if site.options.gzip_text else answer


def _leaderboard(site: HubSite, request: Request, parts: Parts) -> Answer:
    """Return the entries of a benchmark; the default leaves out models with a base model."""
    if parts["repo_id"] not in site.catalog.leaderboards:
        raise refusals.refuse(404, "No leaderboard")
    entries = site.catalog.leaderboards[parts["repo_id"]]
    if request.values("base_model") != ["false"]:
        entries = []
    return json_answer(entries)


_SHA = re.compile(r"[0-9a-f]{40}")
_REPO = r"(?P<repo_id>[^/]+(?:/[^/]+)?)"
_REVISION = r"(?P<revision>refs/(?:pr|convert)/[^/]+|[^/]+)"
_PATH = r"(?P<path>.+)"
_API = f"/api/models/{_REPO}"

# (pattern of the whole path, bucket of the rate limit, function that answers)
ROUTES: tuple[tuple[re.Pattern[str], str, Route], ...] = tuple(
    (re.compile(pattern), bucket, route)
    for pattern, bucket, route in (
        ("/api/models", "api", _listing),
        (f"/api/datasets/{_REPO}/leaderboard", "api", _leaderboard),
        (f"/api/resolve-cache/models/{_REPO}/{_REVISION}/{_PATH}", "resolvers", _resolve_cache),
        (f"{_API}/revision/{_REVISION}", "api", _info),
        (rf"{_API}/tree/{_REVISION}(?P<path>/.*)?", "api", _tree),
        (f"{_API}/safetensors-metadata/{_PATH}", "api", _safetensors_metadata),
        (_API, "api", _info),
        (f"/{_REPO}/resolve/{_REVISION}/{_PATH}", "resolvers", _resolve),
    )
)
