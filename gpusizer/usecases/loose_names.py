"""Models by loose names: Ollama's, spoken ones, IDs without an owner or within pasted text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from gpusizer.core.errors import InvalidModelId, UnknownQuant
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.printable import printable
from gpusizer.core.tables import read_table
from gpusizer.hub.model_ref import ModelRef, ParseRef
from gpusizer.hub.pasted_model import pasted_model
from gpusizer.memory.quants import find_quant
from gpusizer.usecases.near_models import Spelling, known_models, models_of, near_models

_MOST_CHARS = 120
_CHAT_WORDS = ("instruct", "it", "chat")
_BITS = re.compile(r"\b(\d)[ -]?bits?$", re.IGNORECASE)


def by_loose_names(parse: ParseRef) -> ParseRef:
    """Return a `parse` that also reads loose names and the first ID of a pasted text.

    IDs, addresses and paths are read as before. A name is looked up in `data/model_names.csv`, then
    among the models that come with gpusizer: it names the one with the same letters, or with these
    and a word for chat. Ambiguous names are left to `near_models`, which lists candidates; an
    organisation is refused with its models.
    """

    def parse_loosely(text: str) -> ModelRef:
        pasted = pasted_model(text)
        if pasted is not None and pasted.of_ollama:
            meant, tag = _of_ollama(pasted.text)
            return replace(parse(meant), tag=tag)
        named = text if pasted is None else pasted.text
        meant_id, tag = _spoken(named.strip()[:_MOST_CHARS])
        if meant_id is not None:
            return replace(parse(meant_id), tag=tag)
        return _no_organisation(_parsed(parse, named), text)

    return parse_loosely


def meant_model(name: str) -> str | None:
    """Return the ID of the model that a name without an owner means, or None if not unique."""
    if not name or "/" in name or "\\" in name:
        return None
    listed = _listed().get(name.casefold())
    if listed is not None:
        return listed
    letters = Spelling(name.replace(":", "-")).letters
    spelt = [model.repo_id for model in known_models() if model.letters == letters]
    spelt = spelt or _chats_of(letters)
    return spelt[0] if len(spelt) == 1 else None


def _chats_of(letters: str) -> list[str]:
    # Models with these letters and a word for chat.
    chats = {letters + word for word in _CHAT_WORDS}
    return [model.repo_id for model in known_models() if model.letters in chats]


def _spoken(name: str) -> tuple[str | None, str | None]:
    # The model of a name, and a quantization at its end if no model has the whole name.
    meant = meant_model(name)
    if meant is not None:
        return meant, None
    bare, tag = _without_quant(name)
    return (meant_model(bare) if tag else None), tag


def _of_ollama(name: str) -> tuple[str, str | None]:
    # The Hub's model behind a name of Ollama's library, and its stated quantization. A library's
    # models are tuned for chat unless a name says otherwise. Raises InvalidModelId with `reason`
    # "ollama_user" for a model outside of the library, "ollama_unknown" if its repository is not
    # known.
    bare, tag = _without_quant(name)
    library = bare.casefold().removeprefix("library/")
    if "/" in library:
        near = _near(library.partition("/")[2])
        raise InvalidModelId(value=printable(name), reason="ollama_user", suggestions=near)
    chats = _chats_of(Spelling(library.replace(":", "-")).letters)
    meant = _listed().get(library) or (chats[0] if len(chats) == 1 else meant_model(library))
    if meant is None:
        near = _near(library)
        raise InvalidModelId(value=printable(name), reason="ollama_unknown", suggestions=near)
    return meant, tag


def _near(name: str) -> list[str]:
    # Models of that size, else of that family.
    return near_models(name.replace(":", "-")) or near_models(name.partition(":")[0])


def _parsed(parse: ParseRef, named: str) -> ModelRef:
    # The error of a name with a quantization suggests models with it.
    try:
        return parse(named)
    except InvalidModelId as error:
        bare, tag = _without_quant(named.strip()[:_MOST_CHARS])
        near = near_models(bare) if tag else []
        if near:
            error.fields["suggestions"] = [f"{repo_id}:{tag}" for repo_id in near]
        raise


def _no_organisation(ref: ModelRef, text: str) -> ModelRef:
    # Raises InvalidModelId with the models of an organisation if `ref` names one.
    is_word = type(ref) is ModelRef and "/" not in ref.repo_id  # no folder of this machine
    own = models_of(ref.repo_id) if is_word else []
    if own:
        value = printable(text.strip()[:_MOST_CHARS])
        raise InvalidModelId(value=value, reason="organisation", suggestions=own)
    return ref


def _without_quant(text: str) -> tuple[str, str | None]:
    """Return a name and the quantization at its end, or None.

    >>> _without_quant("qwen3:32b-q4_K_M"), _without_quant("llama 3.1 8b 4-bit")
    (('qwen3:32b', 'q4_K_M'), ('llama 3.1 8b', 'q4'))
    """
    bitless = _BITS.sub(r"q\1", text)
    for sign in (" ", "-"):
        name, _, quant = bitless.rpartition(sign)
        if name and quant and "/" not in name and _is_quant(quant):
            return name.strip().removesuffix("-instruct").removesuffix("-it"), quant
    return text, None


def _is_quant(word: str) -> bool:
    try:
        find_quant(word)
    except UnknownQuant:
        return False
    return True


@cache
def _listed() -> Mapping[str, str]:
    rows = read_table(DATA_DIR / "model_names.csv", lambda row: row)
    return {row.text("name"): row.text("repo_id") for row in rows}
