"""Catalog finds the repository and commit of a request and checks its rights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.hub_emulator import refusals
from tests.hub_emulator.messages import AnswerNow, Request, redirect
from tests.hub_emulator.options import Options
from tests.hub_emulator.repos import FakeRepo


class Catalog:
    """The repositories of one emulated Hub, with its rules of access."""

    def __init__(self, repos: Iterable[FakeRepo], options: Options) -> None:
        self.repos = {repo.repo_id: repo for repo in repos}
        self.options = options
        # entries of the leaderboards of benchmark datasets, by their ID
        self.leaderboards: dict[str, list[Any]] = {}

    def add(self, repo: FakeRepo) -> None:
        """Add a repository, or replace the one of that id."""
        self.repos[repo.repo_id] = repo

    def token(self, request: Request) -> str | None:
        """Return the token of the request, None without one; answer 401 for an invalid one."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if token and token not in self.options.valid_tokens:
            raise refusals.bad_token()
        return token or None

    def repo_of_api(self, request: Request, repo_id: str) -> FakeRepo:
        """Return the repository of an /api route; answer 307 for one of its former names."""
        self.token(request)
        name = self.options.renames.get(repo_id) or self._visible(request, repo_id).repo_id
        if name != repo_id:
            old_prefix, new_prefix = f"/api/models/{repo_id}", f"/api/models/{name}"
            raise AnswerNow(redirect(307, request.target.replace(old_prefix, new_prefix, 1)))
        return self.repos[name]

    def repo_of_files(self, request: Request, repo_id: str) -> FakeRepo:
        """Return the repository of a file route, by any of its names; refuse unreadable files."""
        name = repo_id
        for _ in self.options.renames:  # as many hops as the longest chain can have
            name = self.options.renames.get(name, name)
        repo = self._visible(request, name)
        self.check_files(request, repo)
        return repo

    def check_files(self, request: Request, repo: FakeRepo) -> None:
        """Refuse the files of a disabled repository, and those of a gated one without access."""
        if repo.disabled:
            raise refusals.disabled()
        token = self.token(request)
        if repo.gated and not self._granted(token, repo):
            raise refusals.gated(repo.repo_id, token is not None)

    @staticmethod
    def at(repo: FakeRepo, revision: str) -> FakeRepo:
        """Return the repository at a revision, or answer 404."""
        state = repo.at(revision)
        if state is None:
            raise refusals.revision_not_found(revision)
        return state

    def _visible(self, request: Request, repo_id: str) -> FakeRepo:
        token = self.token(request)
        repo = self.repos.get(repo_id) or self._other_case(repo_id)
        if repo is None or (repo.private and not self._granted(token, repo)):
            raise refusals.repo_not_found(token is not None, self.options.anon_401_code)
        return repo

    def _other_case(self, repo_id: str) -> FakeRepo | None:
        folded = repo_id.casefold()
        return next((repo for id_, repo in self.repos.items() if id_.casefold() == folded), None)

    def _granted(self, token: str | None, repo: FakeRepo) -> bool:
        return token is not None and repo.repo_id in self.options.valid_tokens[token]
