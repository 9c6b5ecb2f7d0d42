"""Tokens: with whose rights the Hub is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpusizer.errors import InvalidRequest
from scrapers.hub_api import RepoInfo

# What fits into a header's line; anything else would be refused without saying what was wrong.
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one reading; neither is ever shown.

    Attributes:
        visitor: the asker's own: all of their reading is done with it.
        host: the operator's, for its higher rate limits. It must not open what strangers
            may not see, so that it is used only once the Hub, asked anonymously, has
            described the repository as public and not gated.
    """

    visitor: str | None = field(default=None, repr=False)
    host: str | None = field(default=None, repr=False)

    def after(self, info: RepoInfo) -> str | None:
        """The token for the requests that follow the description."""
        open_to_all = not (info.gated or info.private or info.disabled)
        return self.visitor or (self.host if open_to_all else None)


ANONYMOUS = Tokens()


def check_token(token: str | None) -> str | None:
    """The token, None for an empty one. Raises InvalidRequest, without repeating it."""
    if not token:
        return None
    if not _TOKEN.fullmatch(token):
        raise InvalidRequest(field="token", value="", reason="characters")
    return token
