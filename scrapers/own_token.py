"""The Hub token of the user whom the shell answers: as huggingface_hub finds it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scrapers.tokens import check_token

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
