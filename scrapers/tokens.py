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
            that a visitor may not see: it is used only after an anonymous request has shown that
            the repository is public and not gated.
    """

    visitor: str | None = field(default=None, repr=False)
    host: str | None = field(default=None, repr=False)

    def token_for(self, info: RepoInfo) -> str | None:
        """Return the token for the requests after the description."""
        open_to_all = not (info.gated or info.private or info.disabled)
        return self.visitor or (self.host if open_to_all else None)


ANONYMOUS = Tokens()


def check_token(token: str | None) -> str | None:
    """Return the token, None for an empty one. Raises InvalidRequest, without the token in it."""
    if not token:
        return None
    if not _TOKEN.fullmatch(token):
        raise InvalidRequest(field="token", value="", reason="characters")
    return token
