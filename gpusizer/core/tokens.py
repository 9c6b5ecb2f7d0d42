"""The form of an access token of the Hub."""

from __future__ import annotations

import re

from gpusizer.core.errors import InvalidRequest

# Characters that a header's line may have. With others requests would raise an unclear error.
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")


def check_token(token: object, field: str = "token") -> str | None:
    """Return a field's token, or None. The text of InvalidRequest never holds the token."""
    if token is None or token == "":
        return None
    if not isinstance(token, str):
        raise InvalidRequest(field=field, value="", reason="not_text")
    if not _TOKEN.fullmatch(token):
        raise InvalidRequest(field=field, value="", reason="no_token")
    return token
