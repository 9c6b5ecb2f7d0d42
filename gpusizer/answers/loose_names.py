"""Models by the names that people use: Ollama's, spoken ones, IDs without an owner.

A name is looked up in `data/model_names.csv`, then among the models that come with gpusizer: it
means the one that is spelt with the same letters, or with these and a word for chat. What several
may mean is left to `near_models`, which lists them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from gpusizer.answers.near_models import Spelling, known_models
from gpusizer.core.errors import UnknownQuant
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.hub.model_ref import ModelRef, ParseRef
from gpusizer.memory.quants import find_quant

_CHAT_WORDS = ("instruct", "it", "chat")
_TAG = re.compile(r"(?P<name>[^\s:]+:[^\s:]+?)-(?P<quant>[^\s:-]+)")
"""A tag of Ollama that ends in a quantization: "qwen3:32b-q4_K_M"."""
_MOST_CHARS = 120


def by_loose_names(parse: ParseRef) -> ParseRef:
    """A `parse` that also reads loose names; IDs, addresses and paths are read as before."""

    def parse_loosely(text: str) -> ModelRef:
        name, tag = _without_quant(text.strip()[:_MOST_CHARS])
        meant = meant_model(name)
        return parse(text) if meant is None else replace(parse(meant), tag=tag)

    return parse_loosely


def meant_model(name: str) -> str | None:
    """The ID of the model that a name without an owner means; None for none and for several."""
    if not name or "/" in name or "\\" in name:
        return None
    listed = _listed().get(name.casefold())
    if listed is not None:
        return listed
    letters = Spelling(name.replace(":", "-")).letters
    spelt = [model.repo_id for model in known_models() if model.letters == letters]
    chats = {letters + word for word in _CHAT_WORDS}
    spelt = spelt or [model.repo_id for model in known_models() if model.letters in chats]
    return spelt[0] if len(spelt) == 1 else None


def _without_quant(text: str) -> tuple[str, str | None]:
    """A name of Ollama and the quantization that ends its tag."""
    match = _TAG.fullmatch(text)
    if match is None:
        return text, None
    try:
        find_quant(match["quant"])
    except UnknownQuant:
        return text, None
    return match["name"].removesuffix("-instruct").removesuffix("-it"), match["quant"]


@cache
def _listed() -> Mapping[str, str]:
    rows = read_table(DATA_DIR / "model_names.csv", lambda row: row)
    return {row.text("name"): row.text("repo_id") for row in rows}
