"""Finds the model that a pasted command, program, address or sentence names.

    ollama run qwen3:8b                       qwen3:8b, a name of Ollama
    docker run … --model Qwen/Qwen3-8B        Qwen/Qwen3-8B
    AutoModel.from_pretrained("org/name")     org/name

The result is a text for `model_ref`, or None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from gpusizer.core.tables import toml_of
from gpusizer.hub.model_ref import HUB_HOSTS, is_repo_id

MAX_CHARS = 20_000  # characters of a pasted text that are searched
_MAX_TOKENS = 2_000
_MAX_TOKEN_CHARS = 500

_TABLE = toml_of(__file__)
_OPTIONS = frozenset(_TABLE["options"])
_FUNCTIONS = frozenset(_TABLE["functions"])
_FILES = frozenset(_TABLE["files"])
_PROGRAMS = {name: frozenset(words) for name, words in _TABLE["programs"].items()}
_LIBRARY: str = _TABLE["library"]
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "image", "apptainer", "singularity"})

_TOKEN = re.compile(r"[^\s\"'`“”‘’,;()\[\]{}<>=\\|]+")
_HOST = re.compile(r"(?:https?://)?(?:www\.)?([a-z0-9.-]+)/", re.IGNORECASE)
_OLLAMA = re.compile(
    r"(?:https?://)?(?:www\.)?(?:ollama\.com|registry\.ollama\.ai)/(?P<owner>[\w.-]+)"
    r"(?:/(?P<name>[\w.-]+(?::[\w.-]+)?))?",
    re.IGNORECASE,
)
_ID = re.compile(r"(?P<id>[\w.-]+/[\w.-]+)(?:@[\w./-]+)?(?::[\w.-]+)?")
_OLLAMA_NAME = re.compile(r"[a-z0-9][\w.-]*(?:/[\w.-]+)?(?::[\w.-]+)?", re.IGNORECASE)
_LOCAL = re.compile(r"(?:[./~]|[A-Za-z]:[\\/])")
_NUMBERED = re.compile(r"[\d_-]")


@dataclass(frozen=True, slots=True)
class PastedModel:
    """Name of a model found in a text."""

    text: str  # input of `parse_model_ref`
    of_ollama: bool = False  # whether it is a name of Ollama's library, with its tag


def pasted_model(text: str) -> PastedModel | None:
    """Return the model that a text names among other words, or None.

    None also for a text that is itself a name, and for a path of this machine.

    >>> pasted_model("vllm serve Qwen/Qwen3-8B --max-model-len 8192")
    PastedModel(text='Qwen/Qwen3-8B', of_ollama=False)
    """
    stripped = text[:MAX_CHARS].strip()
    if _LOCAL.match(stripped):
        return None
    tokens = [
        token[:_MAX_TOKEN_CHARS].rstrip(".:")
        for token in (match[0] for match in islice(_TOKEN.finditer(stripped), _MAX_TOKENS))
    ]
    tokens = [token for token in tokens if token]
    if not tokens:
        return None
    if len(tokens) == 1:
        return _of_ollama_address(tokens[0]) or (
            PastedModel(tokens[0]) if tokens[0] != stripped and _is_named(tokens[0]) else None
        )
    readings = (_option, _program, _address, _id)
    return next((found for read in readings for found in islice(read(tokens), 1)), None)


def _option(tokens: Sequence[str]) -> Iterator[PastedModel]:
    # Yields values of options, variables and functions, with the file that another option names.
    file = next((after for word, after in _pairs(tokens) if word in _FILES), "")
    for word, after in _pairs(tokens):
        function = word.rpartition(".")[2]
        if (word in _OPTIONS or function in _FUNCTIONS) and _is_named(after):
            is_file = file.lower().endswith(".gguf") and after.count("/") == 1
            yield PastedModel(f"{after}/{file}" if is_file and ":" not in after else after)


def _program(tokens: Sequence[str]) -> Iterator[PastedModel]:
    for place, token in enumerate(tokens[:-1]):
        name = token.lower().rpartition("/")[2].removesuffix(".exe")
        words = _PROGRAMS.get(name.partition(".")[0] if name.startswith("mlx_lm") else name)
        if words is None:
            continue
        rest = [other for other in tokens[place + 1 :][:40] if not other.startswith("-")]
        if rest and rest[0].lower() in words:
            rest = rest[1:]
        elif "" not in words:
            continue
        if not rest:
            continue
        if name == _LIBRARY and _host(rest[0]) not in HUB_HOSTS:
            yield from _of_ollama(rest[0])
        elif _is_named(rest[0]):
            yield PastedModel(rest[0])


def _address(tokens: Sequence[str]) -> Iterator[PastedModel]:
    for token in tokens:
        found = _of_ollama_address(token)
        if found:
            yield found
        elif _host(token) in HUB_HOSTS or token.lower().startswith("hf://"):
            yield PastedModel(token)


def _id(tokens: Sequence[str]) -> Iterator[PastedModel]:
    # Next to a container program the first ID is the image.
    ids = [
        token
        for token in tokens
        if (match := _ID.fullmatch(token))
        and is_repo_id(match["id"])
        and _NUMBERED.search(match["id"].partition("/")[2])
        and not match["id"].replace("/", "").isdecimal()
    ]
    is_contained = any(token.lower() in _CONTAINERS for token in tokens)
    yield from map(PastedModel, ids[1:] if is_contained else ids)


def _of_ollama_address(token: str) -> PastedModel | None:
    match = _OLLAMA.match(token)
    if match is None:
        return None
    if match["name"] is None or match["owner"].lower() == "library":
        return next(_of_ollama(match["name"] or match["owner"]), None)
    return PastedModel(f"{match['owner']}/{match['name']}", of_ollama=True)


def _of_ollama(name: str) -> Iterator[PastedModel]:
    # Without a tag the name means "latest".
    if _OLLAMA_NAME.fullmatch(name):
        yield PastedModel(name if ":" in name else f"{name}:latest", of_ollama=True)


def _pairs(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    for token, after in pairwise(tokens):
        yield token.lstrip("-").replace("-", "_").lower(), after


def _is_named(token: str) -> bool:
    if _host(token) in HUB_HOSTS or token.lower().startswith("hf://"):
        return True
    match = _ID.fullmatch(token)
    return match is not None and is_repo_id(match["id"])


def _host(token: str) -> str:
    match = _HOST.match(token)
    return match[1].lower() if match else ""
