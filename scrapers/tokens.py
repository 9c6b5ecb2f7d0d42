"""Tokens: the access tokens of requests to the Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpusizer.core.errors import InvalidRequest
from scrapers.hub_api import RepoInfo

# Characters that a header's line may have. With others requests would raise an unclear error.
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")


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


def check_token(token: str | None) -> str | None:
    """Return the token, None for an empty one. Raises InvalidRequest, without the token in it."""
    if not token:
        return None
    if not _TOKEN.fullmatch(token):
        raise InvalidRequest(field="token", value="", reason="characters")
    return token
