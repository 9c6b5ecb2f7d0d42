"""Parser of pasted model IDs and URLs. Pure; never touches the network.

It reads repository IDs and `hf://` URIs as huggingface_hub 1.x does (`validate_repo_id`,
`parse_hf_uri`), and also one-word IDs, mirrors, Ollama's tags, quotes and pages of the Hub's
website. Each refusal has a reason that can be translated.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn
from urllib.parse import parse_qs, unquote

from gpusizer.core.errors import InvalidModelId, InvalidRequest
from gpusizer.core.printable import printable

MAX_TEXT_CHARS = 512
MAX_PART_CHARS = 96
MAX_REVISION_CHARS = 200
MAX_FILE_CHARS = 400
_MAX_ECHO_CHARS = 120

DEFAULT_BRANCH = "main"  # of a reference without a revision

HUB_HOSTS = frozenset({"huggingface.co", "hf.co", "hf-mirror.com"})

_WRAPPERS = "\"'`“”‘’"
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?")
_PART_CHARACTERS = re.compile(r"[A-Za-z0-9_.-]*")
_PART = re.compile(r"(?!.*(?:--|\.\.|\.git$))\b[A-Za-z0-9_.-]+\b", re.ASCII)
_TAG = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# git-check-ref-format: characters no branch or tag has.
_NO_REVISION = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|^/|/$|//")
# Words after "refs" in a revision with slashes: pull requests, conversions, branches and tags.
_GIT_REFS = frozenset({"pr", "convert", "heads", "tags"})

_OTHER_KINDS = {"datasets": "dataset", "spaces": "space"}
# First path segments of the Hub's own pages, which no user or organisation can be named.
_PAGES = frozenset(
    {"blog", "collections", "docs", "join", "learn", "login", "organizations", "papers"}
    | {"posts", "pricing", "settings", "tasks"}
)
_PREFIXES = (("api", "models"), ("models",))
_FILE_ROUTES = frozenset({"blob", "resolve", "raw", "blame", "edit"})
_REVISION_ROUTES = _FILE_ROUTES | {"tree", "commit", "commits"}
_ROUTES = _REVISION_ROUTES | {"discussions", "settings", "community"}
_WEIGHT_ENDINGS = (".gguf", ".safetensors")

# Names the file whose header the Hub's website shows next to a model's page.
_FILE_PARAMETER = "show_file_info"


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Reference to a model, as a user wrote it."""

    repo_id: str  # `org/name`, or one word for the oldest models
    revision: str | None = None  # branch, tag or commit; None for the default branch
    file: str | None = None  # path of one file inside the repository, if the text names one
    tag: str | None = None  # quantization in Ollama's notation (`org/name:Q4_K_M`)
    reads_card: bool = field(default=True, repr=False)  # whether to read the model card too


ParseRef = Callable[[str], ModelRef]  # Parses a pasted text to a ModelRef. Raises InvalidModelId.


def parse_model_ref(text: str) -> ModelRef:
    """Return the model that a pasted ID or URL names.

    >>> parse_model_ref("https://hf.co/org/name/blob/v2/sub/file.gguf?download=true")
    ModelRef(repo_id='org/name', revision='v2', file='sub/file.gguf', tag=None)
    >>> parse_model_ref("hf://org/name@v2/sub/file.gguf") == _
    True

    Raises InvalidModelId; its `reason` is "empty", "too_long", "characters", "dataset",
    "space", "other_host" or "shape".
    """
    stripped = text.strip().strip(_WRAPPERS).strip()
    if not stripped:
        _refuse(text, "empty")
    if len(stripped) > MAX_TEXT_CHARS:
        _refuse(text, "too_long")
    _check_characters(text, stripped)
    path, scheme = _path_of(text, stripped)
    query = ""
    if scheme:
        path, _, query = path.partition("#")[0].partition("?")
    segments = [unquote(part) if scheme else part for part in path.strip("/").split("/")]
    _check_characters(text, "/".join(segments))
    for prefix in _PREFIXES:
        if tuple(segments[: len(prefix)]) == prefix and len(segments) > len(prefix):
            segments = segments[len(prefix) :]
            break
    if segments[0] in _OTHER_KINDS and len(segments) > 1:
        _refuse(text, _OTHER_KINDS[segments[0]])
    if segments[0] in _PAGES:
        _refuse(text, "shape")
    ref = _ref_of(text, segments, scheme)
    if ref.file and not scheme and path.startswith("/"):
        _refuse(text, "shape")  # a file of somebody's disk
    return replace(ref, file=ref.file or _shown_file(text, query))


def check_revision(revision: str) -> str:
    """Return `revision` if a branch, tag or commit can have that name.

    Raises InvalidRequest with reason "too_long" or "revision_characters".
    """
    problem = _revision_problem(revision)
    if problem is not None:
        reason = "revision_characters" if problem == "characters" else problem
        raise InvalidRequest(field="revision", value=_shown(revision), reason=reason)
    return revision


def is_repo_id(text: str) -> bool:
    """Return whether the Hub could have a repository named `text`."""
    parts = text.split("/")
    return len(parts) <= 2 and all(_part_problem(part) is None for part in parts)


def _path_of(text: str, stripped: str) -> tuple[str, str]:
    # Returns the part after scheme and host, and the scheme: "hf", "https" or "" for a bare ID.
    match = _SCHEME.fullmatch(stripped)
    if match and match["scheme"].lower() == "hf":
        return match["rest"], "hf"
    if match and match["scheme"].lower() not in ("http", "https"):
        _refuse(text, "other_host")
    address = match["rest"] if match else stripped
    host, _, path = address.partition("/")
    if host.lower().removesuffix(":443").removeprefix("www.") in HUB_HOSTS:
        return path, "https"
    # Without a scheme two words are an ID even if the first looks like a host.
    if match or (_DOMAIN.fullmatch(host) and "/" in path):
        _refuse(text, "other_host")
    return address, ""


def _ref_of(text: str, segments: Sequence[str], scheme: str) -> ModelRef:
    # Reads `[org/]name[@revision][:tag][/route/revision/path]`.
    name_at = 0 if len(segments) == 1 or segments[1] in _ROUTES else 1
    *owner, last = segments[: name_at + 1]
    further_segments = segments[name_at + 1 :]
    last, _, tag = last.partition(":")
    name, at, revision = last.partition("@")
    if at and not revision:
        _refuse(text, "shape")
    if further_segments and further_segments[0] not in _ROUTES:
        revision, file = _inside_uri(text, revision, further_segments, scheme)
    else:
        routed, file = _route(text, further_segments)
        revision = routed or revision
    problems = [_part_problem(part) for part in (*owner, name)]
    problems.append(_revision_problem(revision) if revision else None)
    problems.append("characters" if tag and not _TAG.fullmatch(tag) else None)
    for problem in filter(None, problems):
        _refuse(text, problem)
    return ModelRef("/".join((*owner, name)), revision or None, file, tag or None)


def _inside_uri(
    text: str, revision: str, further: Sequence[str], scheme: str
) -> tuple[str, str | None]:
    # Reads `org/name[@revision][/file]`, the notation of huggingface_hub. Without `hf://` only a
    # file of weights may follow: other slashes are more often a mistake.
    if revision == "refs" and further[0] in _GIT_REFS:
        revision, further = "/".join((revision, *further[:2])), further[2:]
    path = "/".join(further)
    if path and scheme != "hf" and not path.lower().endswith(_WEIGHT_ENDINGS):
        _refuse(text, "shape")
    return revision, _checked_file(text, path.split("/")) or None


def _route(text: str, segments: Sequence[str]) -> tuple[str, str | None]:
    # Reads the segments after the name: `/blob/main/config.json`.
    if len(segments) < 2 or segments[0] not in _REVISION_ROUTES:
        return "", None
    words = 3 if segments[1] == "refs" and len(segments) > 3 else 1
    revision, path = "/".join(segments[1 : words + 1]), segments[words + 1 :]
    file = _checked_file(text, path) if path else ""
    return revision, file if file and segments[0] in _FILE_ROUTES else None


def _shown_file(text: str, query: str) -> str | None:
    # Returns the file of weights that a page of the Hub's website shows.
    try:
        file = parse_qs(query, max_num_fields=20).get(_FILE_PARAMETER, [""])[0]
    except ValueError:  # more fields than any page of the Hub has
        return None
    if not file.lower().endswith(_WEIGHT_ENDINGS):
        return None
    _check_characters(text, file)
    return _checked_file(text, file.split("/"))


def _checked_file(text: str, path: Sequence[str]) -> str:
    # One empty segment is no file.
    if list(path) == [""]:
        return ""
    if any(part in ("", ".", "..") for part in path):
        _refuse(text, "shape")
    file = "/".join(path)
    if len(file) > MAX_FILE_CHARS:
        _refuse(text, "too_long")
    return file


def _revision_problem(revision: str) -> str | None:
    if len(revision) > MAX_REVISION_CHARS:
        return "too_long"
    if not revision or _NO_REVISION.search(revision) or not revision.isprintable():
        return "characters"
    return None


def _part_problem(part: str) -> str | None:
    if len(part) > MAX_PART_CHARS:
        return "too_long"
    bare = re.split("[@:]", part, maxsplit=1)[0]
    if not _PART_CHARACTERS.fullmatch(bare):
        return "characters"
    return None if _PART.fullmatch(part) else "shape"


def _check_characters(text: str, value: str) -> None:
    if "\\" in value or any(c.isspace() or unicodedata.category(c)[0] == "C" for c in value):
        _refuse(text, "characters")


def _refuse(value: str, reason: str) -> NoReturn:
    raise InvalidModelId(value=_shown(value), reason=reason)


def _shown(value: str) -> str:
    return printable(value[:_MAX_ECHO_CHARS])
