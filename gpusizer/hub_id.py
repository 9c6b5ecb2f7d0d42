"""ModelRef: which model of the Hub a pasted text means. Pure; never touches the network."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import unquote

from gpusizer.errors import InvalidModelId, InvalidRequest

MAX_TEXT_CHARS = 512
MAX_PART_CHARS = 96
MAX_REVISION_CHARS = 200
MAX_FILE_CHARS = 400
_MAX_ECHO_CHARS = 120

HUB_HOSTS = frozenset({"huggingface.co", "hf.co", "hf-mirror.com"})

_WRAPPERS = "\"'`“”‘’"
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?")
# huggingface_hub.utils.validate_repo_id, in ASCII: the Hub accepts nothing else.
_PART = re.compile(r"(?![.-])[A-Za-z0-9_.-]{1,96}(?<![.-])")
_PART_CHARACTERS = re.compile(r"[A-Za-z0-9_.-]*")
_TAG = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# git-check-ref-format: characters no branch or tag has.
_NO_REVISION = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|^/|/$|//")

_OTHER_KINDS = {"datasets": "dataset", "spaces": "space"}
# First words of the Hub's own pages, which nobody can have as a name.
_PAGES = frozenset(
    {"blog", "collections", "docs", "join", "learn", "login", "organizations", "papers"}
    | {"posts", "pricing", "settings", "tasks"}
)
_PREFIXES = (("api", "models"), ("models",))
_FILE_ROUTES = frozenset({"blob", "resolve", "raw", "blame", "edit"})
_REVISION_ROUTES = _FILE_ROUTES | {"tree", "commit", "commits"}
_ROUTES = _REVISION_ROUTES | {"discussions", "settings", "community"}


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model as somebody named it.

    Attributes:
        repo_id: `org/name`, or one word for the oldest models.
        revision: branch, tag or commit; None for the default branch.
        file: path of one file inside the repository, when the text named one.
        tag: quantization asked for the way Ollama writes it (`org/name:Q4_K_M`).
    """

    repo_id: str
    revision: str | None = None
    file: str | None = None
    tag: str | None = None


def parse_model_ref(text: str) -> ModelRef:
    """The model a pasted ID or URL means.

    >>> parse_model_ref("https://hf.co/org/name/blob/v2/sub/file.gguf?download=true")
    ModelRef(repo_id='org/name', revision='v2', file='sub/file.gguf', tag=None)

    Raises InvalidModelId; its `reason` is "empty", "too_long", "characters", "dataset",
    "space", "other_host" or "shape".
    """
    stripped = text.strip().strip(_WRAPPERS).strip()
    if not stripped:
        _refuse(text, "empty")
    if len(stripped) > MAX_TEXT_CHARS:
        _refuse(text, "too_long")
    _check_characters(text, stripped)
    path, is_url = _path_of(text, stripped)
    if is_url:
        path = re.split(r"[?#]", path, maxsplit=1)[0]
    segments = [unquote(part) if is_url else part for part in path.strip("/").split("/")]
    _check_characters(text, "/".join(segments))
    for prefix in _PREFIXES:
        if tuple(segments[: len(prefix)]) == prefix and len(segments) > len(prefix):
            segments = segments[len(prefix) :]
            break
    if segments[0] in _OTHER_KINDS and len(segments) > 1:
        _refuse(text, _OTHER_KINDS[segments[0]])
    if segments[0] in _PAGES:
        _refuse(text, "shape")
    return _ref_of(text, segments)


def check_revision(revision: str) -> str:
    """The revision itself, when a branch, tag or commit can have that name.

    Raises InvalidRequest with reason "too_long" or "revision_characters".
    """
    problem = _revision_problem(revision)
    if problem is not None:
        reason = "revision_characters" if problem == "characters" else problem
        raise InvalidRequest(field="revision", value=_shown(revision), reason=reason)
    return revision


def is_repo_id(text: str) -> bool:
    """Whether the Hub could have a repository of that name."""
    parts = text.split("/")
    return len(parts) <= 2 and all(_part_problem(part) is None for part in parts)


def _path_of(text: str, stripped: str) -> tuple[str, bool]:
    """What follows the host, and whether there was one."""
    match = _SCHEME.fullmatch(stripped)
    if match and match["scheme"].lower() == "hf":
        return match["rest"], True
    if match and match["scheme"].lower() not in ("http", "https"):
        _refuse(text, "other_host")
    rest = match["rest"] if match else stripped
    host, _, path = rest.partition("/")
    if host.lower().removesuffix(":443").removeprefix("www.") in HUB_HOSTS:
        return path, True
    # Without a scheme two words are an ID even when the first looks like a host.
    if match or (_DOMAIN.fullmatch(host) and "/" in path):
        _refuse(text, "other_host")
    return rest, False


def _ref_of(text: str, segments: list[str]) -> ModelRef:
    """Split `[org/]name[@revision][:tag][/route/revision/path]`."""
    name_at = 0 if len(segments) == 1 or segments[1] in _ROUTES else 1
    *owner, last = segments[: name_at + 1]
    rest = segments[name_at + 1 :]
    if rest and rest[0] not in _ROUTES:
        rest = _inline_revision(text, last, rest)
    last, _, tag = last.partition(":")
    name, at, revision = last.partition("@")
    if at and not revision:
        _refuse(text, "shape")
    routed, file = _route(text, rest)
    revision = routed or revision
    problems = [_part_problem(part) for part in (*owner, name)]
    problems.append(_revision_problem(revision) if revision else None)
    problems.append("characters" if tag and not _TAG.fullmatch(tag) else None)
    for problem in filter(None, problems):
        _refuse(text, problem)
    return ModelRef("/".join((*owner, name)), revision or None, file, tag or None)


def _inline_revision(text: str, last: str, rest: list[str]) -> list[str]:
    """`name@refs/pr/1` was split at its slashes: make it a route."""
    revision = "/".join((last.partition("@")[2], *rest))
    if not re.fullmatch(r"refs/(?:pr|convert|heads|tags)/[^/]+", revision):
        _refuse(text, "shape")
    return ["tree", *revision.split("/")]


def _route(text: str, rest: list[str]) -> tuple[str, str | None]:
    """Revision and file of what follows the name: `/blob/main/config.json`."""
    if len(rest) < 2 or rest[0] not in _REVISION_ROUTES:
        return "", None
    words = 3 if rest[1] == "refs" and len(rest) > 3 else 1
    revision, path = "/".join(rest[1 : words + 1]), rest[words + 1 :]
    if any(part in ("", ".", "..") for part in path):
        _refuse(text, "shape")
    file = "/".join(path)
    if len(file) > MAX_FILE_CHARS:
        _refuse(text, "too_long")
    return revision, file if file and rest[0] in _FILE_ROUTES else None


def _revision_problem(revision: str) -> str | None:
    """Why no branch, tag or commit has this name, None when one could."""
    if len(revision) > MAX_REVISION_CHARS:
        return "too_long"
    if not revision or _NO_REVISION.search(revision) or not revision.isprintable():
        return "characters"
    return None


def _part_problem(part: str) -> str | None:
    """Why this is no owner or repository name, None when it is one."""
    if len(part) > MAX_PART_CHARS:
        return "too_long"
    bare = re.split("[@:]", part, maxsplit=1)[0]
    if not _PART_CHARACTERS.fullmatch(bare):
        return "characters"
    if not _PART.fullmatch(part) or "--" in part or ".." in part or part.endswith(".git"):
        return "shape"
    return None


def _check_characters(text: str, value: str) -> None:
    if "\\" in value or any(c.isspace() or unicodedata.category(c)[0] == "C" for c in value):
        _refuse(text, "characters")


def _refuse(value: str, reason: str) -> NoReturn:
    raise InvalidModelId(value=_shown(value), reason=reason)


def _shown(value: str) -> str:
    """Short and printable."""
    return "".join(c if c.isprintable() else "\ufffd" for c in value[:_MAX_ECHO_CHARS])
