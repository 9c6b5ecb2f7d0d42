"""Reasons why a named product is not in the catalogue: no GPU, not sold yet, or unpublished."""

from __future__ import annotations

import re
import unicodedata

from gpusizer.core.tables import toml_of

_WHY = {why: re.compile(rf"\b(?:{'|'.join(names)})\b") for why, names in toml_of(__file__).items()}
REASONS = tuple(_WHY)  # reasons of UnknownGpu, apart from ""
GPUS = ("unreleased", "unpublished")  # Reasons for actual GPUs, for which others are suggested.


def why_unlisted(text: str) -> str:
    """Return the reason, one of `REASONS`, for a listed name; "" for others.

    >>> why_unlisted("Cerebras CS-3"), why_unlisted("RTX 5080 SUPER"), why_unlisted("RTX 4090")
    ('accelerator', 'unreleased', '')
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = " ".join(re.sub(r"[^\w]|_", " ", plain).split())
    return next((why for why, names in _WHY.items() if names.search(plain)), "")
