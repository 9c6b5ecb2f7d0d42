"""Tokens: the access tokens of requests to the Hub, and where the shell finds the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpusizer.core.tokens import check_token
from scrapers.client.hub_api import RepoInfo


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens for reading one model; they are never printed or logged.

    Attributes:
        visitor: the visitor's own token, which all requests of that visitor use.
        host: the operator's token, used for its higher rate limit. It must not open repositories
            that a visitor may not see: it is used only after a request has shown that the
            repository is public and not gated.
        host_describes: whether that request carries the host's token, too. Then its answer counts
            only if it says so; any other is hidden, because it may tell of a private repository.
    """

    visitor: str | None = field(default=None, repr=False)
    host: str | None = field(default=None, repr=False)
    host_describes: bool = False

    @property
    def is_hosts_look(self) -> bool:
        """Whether the description is asked for with the host's token."""
        return self.host_describes and self.host is not None and self.visitor is None

    def token_for(self, info: RepoInfo) -> str | None:
        """Return the token for the requests after the description."""
        return self.visitor or (self.host if is_open_to_all(info) else None)


def is_open_to_all(info: RepoInfo) -> bool:
    """Whether everybody may read a repository's files."""
    return not (info.gated or info.private or info.disabled)


ANONYMOUS = Tokens()


_TRUE = frozenset({"1", "on", "true", "yes"})


def own_token(environment: Mapping[str, str], given: str | None = None) -> str | None:
    """Return the token that was given, else that of HF_TOKEN, else the saved login; None without.

    HF_HUB_DISABLE_IMPLICIT_TOKEN leaves only the given one. Variables and places are those of
    huggingface_hub 2.4 (`constants.py`, `utils/_auth.py`): a login is saved as HF_TOKEN_PATH, by
    default `token` in HF_HOME. Raises InvalidRequest for a malformed token, without it in there.
    """
    if given:
        return check_token(given.strip())
    if environment.get("HF_HUB_DISABLE_IMPLICIT_TOKEN", "").strip().lower() in _TRUE:
        return None
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if value := environment.get(variable, "").strip():
            return check_token(value)
    try:
        return check_token(_login_path(environment).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError, RuntimeError):  # none saved, or a user without a home
        return None


def _login_path(environment: Mapping[str, str]) -> Path:
    named = environment.get("HF_TOKEN_PATH")
    if named:
        return Path(named).expanduser()
    caches = Path(environment.get("XDG_CACHE_HOME") or "~/.cache")
    home = Path(environment.get("HF_HOME") or caches / "huggingface")
    return home.expanduser() / "token"
