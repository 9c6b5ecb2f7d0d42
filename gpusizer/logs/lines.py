"""Lines of pasted text: bounded, without terminal codes, with ranks; and text without secrets.

Log text is untrusted: it is not stored, and text beyond the bounds is not read. Prefixes (docker,
journald, kubectl, time stamps) stay, because rules search for words inside a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpusizer.hub.model_ref import is_repo_id

MAX_CHARS = 2 * 2**20
MAX_LINES = 50_000
# vLLM prints its whole configuration on one line of some 5,000 characters.
MAX_LINE_CHARS = 20_000

_HEAD_CHARS = 160  # characters of a line in which prefixes are looked for
_TERMINAL = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]|\x1b[@-Z\\-_]")
_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if code != 9}
_DOCKER_JSON = '{"log":'
# vLLM V1: "(Worker_PP0_TP1 pid=7)", "(VllmWorker rank=1 pid=7)"; V0: "(VllmWorkerProcess pid=7)";
# SGLang: "[2025-01-01 00:00:00 DP0 TP1]".
_RANK = re.compile(
    r"Worker_((?:PP\d{1,3}_)?(?:DP\d{1,3}_)?TP\d{1,3})|\b((?:PP\d{1,3} )?TP\d{1,3})\b"
    r"|\b(rank=\d{1,3})\b|(?:VllmWorkerProcess|RayWorkerWrapper) (pid=\d{1,9})"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number from 1, its text, and the rank that printed it ("" for one process)."""

    number: int
    text: str
    rank: str


@dataclass(frozen=True, slots=True)
class LogText:
    """The lines read of a paste; `cut` when it was longer than the bounds."""

    lines: tuple[Line, ...]
    cut: bool


def read_text(text: str) -> LogText:
    """Return the lines of a pasted log within the bounds."""
    cut = len(text) > MAX_CHARS
    parts = text[:MAX_CHARS].split("\n", MAX_LINES)
    if len(parts) > MAX_LINES:
        cut, parts = True, parts[:MAX_LINES]
    return LogText(tuple(_lines(parts)), cut)


def _lines(parts: list[str]) -> Iterator[Line]:
    for number, part in enumerate(parts, start=1):
        text = part[:MAX_LINE_CHARS]
        if text.startswith(_DOCKER_JSON):
            text = _docker_text(text)
        text = _TERMINAL.sub("", text).translate(_CONTROL)
        if text.strip():
            yield Line(number, text, _rank(text))


def _docker_text(text: str) -> str:
    # The message in a line of docker's json-file driver; any other line unchanged.
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return text
    message = entry.get("log") if isinstance(entry, dict) else None
    return message if isinstance(message, str) else text


def _rank(text: str) -> str:
    match = _RANK.search(text, 0, _HEAD_CHARS)
    return next((group for group in match.groups() if group), "") if match else ""


MAX_TEXT_CHARS = 120

_SECRETS = re.compile(
    r"\b(?:hf|sk|ghp|gho|github_pat|glpat|xox[a-z]|nvapi|AKIA)[_-]?[A-Za-z0-9_-]{12,200}"
    r"|\beyJ[A-Za-z0-9_.-]{20,400}"
    r"|(?i:\b(?:api[_-]?key|token|password|secret)['\"]?[=:] ?['\"]?[^\s,'\"]{1,200})"
)
_ADDRESSES = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d{1,5})?|\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b"
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}|\bGPU-[0-9a-f-]{8,40}"
)
_PATHS = re.compile(r"(?:[A-Za-z]:)?(?:[\\/]+[^\s\\/,'\"()]{1,200}){2,40}|~[\\/]\S{1,200}")
_CACHED = re.compile(r"models--([A-Za-z0-9_.-]{1,96}?)--([A-Za-z0-9_.-]{1,96})")
_ODD = re.compile(r"[^\w .,:;=+\-/()\[\]#%*'\"|]", re.ASCII)


def clean(text: str) -> str:
    """Return the text without secrets, addresses and folders, cut to MAX_TEXT_CHARS.

    >>> clean("from /home/ann/m/x.gguf at 10.0.0.7 with hf_abcdefghijklmnop")
    'from x.gguf at [address] with [secret]'
    """
    # Every value that a rule reads passes through here, although rules read few words of a line.
    # The result is printable.
    text = _SECRETS.sub("[secret]", text)
    text = _ADDRESSES.sub("[address]", text)
    text = _PATHS.sub(lambda match: file_name(match[0]), text)
    return _ODD.sub("?", text)[:MAX_TEXT_CHARS]


def file_name(path: str) -> str:
    """Return the last part of a path, with either kind of slash."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1][:MAX_TEXT_CHARS]


def hub_id_of(text: str) -> str | None:
    """Return the Hub ID that a model argument is or a cache path holds, None for other paths.

    >>> hub_id_of("/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/1a")
    'Qwen/Qwen3-8B'
    >>> hub_id_of("/models/llama"), hub_id_of("org/name:Q4_K_M")
    (None, 'org/name:Q4_K_M')
    """
    cached = _CACHED.search(text)
    if cached is not None:
        repo_id = f"{cached[1]}/{cached[2]}"
        return repo_id if is_repo_id(repo_id) else None
    name, colon, tag = text.partition(":")
    if colon and not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tag):
        return None
    return text if is_repo_id(name) and not _SECRETS.search(text) else None
