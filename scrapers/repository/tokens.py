"""Tokens: access tokens of requests to the Hub, and the places of the user's own token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpusizer.core.tokens import check_token
from scrapers.client.hub_api import RepoInfo


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens for reading one model; they are never printed or logged."""

    # the visitor's own token, used for all requests of that visitor
    visitor: str | None = field(default=None, repr=False)
    # the operator's token, used for its higher rate limit once a request has shown that the
    # repository is public and not gated. It must not open others.
    host: str | None = field(default=None, repr=False)
    # whether that request carries the host's token too. Then its response counts only if the
    # repository is public; any other is hidden.
    host_describes: bool = False

    @property
    def is_hosts_look(self) -> bool:
        """Whether the description is requested with the host's token."""
        return self.host_describes and self.host is not None and self.visitor is None

    def token_for(self, info: RepoInfo) -> str | None:
        """Return the token for the requests after the description."""
        return self.visitor or (self.host if is_open_to_all(info) else None)


def is_open_to_all(info: RepoInfo) -> bool:
    """Whether a repository's files are public."""
    return not (info.gated or info.private or info.disabled)


ANONYMOUS = Tokens()


_TRUE = frozenset({"1", "on", "true", "yes"})


def own_token(environment: Mapping[str, str], given: str | None = None) -> str | None:
    """Return the given token, else that of HF_TOKEN, else the saved login; None without one.

    HF_HUB_DISABLE_IMPLICIT_TOKEN leaves only the given one. Raises InvalidRequest for a malformed
    token, without the token itself.
    """
    # Variables and places are those of huggingface_hub 2.4 (`constants.py`, `utils/_auth.py`): a
    # login is saved as HF_TOKEN_PATH, by default `token` in HF_HOME.
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
