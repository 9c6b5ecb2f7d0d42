"""Removes tokens, addresses and user names in paths from text of a pasted log.

Every value that a rule reads passes through it, although rules read only a few words of a line.
"""

from __future__ import annotations

import re

from gpusizer.hub.model_ref import is_repo_id

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
    """The text without secrets, addresses and folders, printable and cut to MAX_TEXT_CHARS.

    >>> clean("from /home/ann/m/x.gguf at 10.0.0.7 with hf_abcdefghijklmnop")
    'from x.gguf at [address] with [secret]'
    """
    text = _SECRETS.sub("[secret]", text)
    text = _ADDRESSES.sub("[address]", text)
    text = _PATHS.sub(lambda match: file_name(match[0]), text)
    return _ODD.sub("?", text)[:MAX_TEXT_CHARS]


def file_name(path: str) -> str:
    """The last part of a path, with either kind of slash."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1][:MAX_TEXT_CHARS]


def hub_id_of(text: str) -> str | None:
    """The Hub ID that a model argument is or a cache path holds, None for other paths.

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
