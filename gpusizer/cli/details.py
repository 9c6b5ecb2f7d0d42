"""Full answers for a terminal: all values of the contract by name, with the notes' sentences.

docs/contract.md explains each name.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from gpusizer.api.base import Document
from gpusizer.cli.output import UNKNOWN, gib, lines_text, padded
from gpusizer.core.printable import printable
from gpusizer.core.units import format_gib

_UNSAID = frozenset({"answer", "schema_version", "code", "fields"})
_NOTE = {"code", "message", "fields"}
_CAVEATS = frozenset({"notes", "reasons", "caveats"})  # lists of sentences that need no title
_BYTES = "_bytes"

# texts of several lines, all of them ours
_SCRIPTS = frozenset({"command", "compose", "kubernetes", "llama_swap"})
_MOST_LINES = 20  # lines shown of such a text; JSON has all

_RANKED = (
    "rank",
    "kind",
    "count",
    "gpu_name",
    "quant",
    "method",
    "sharding",
    "engine",
    "quality.label",
    "verdict",
    "headroom_bytes",
    "max_context",
    "decode_tokens_per_second_per_user",
    "serving_tokens_per_second",
    "tokens_per_second",
    "read_tokens_per_second",
    "audio_seconds_per_second",
    "picture_seconds",
    "hours",
    "energy_kwh",
    "price.usd",
    "price.buy_usd",
    "price.buy_as_of",
    "price.rent_usd_per_hour",
    "price.as_of",
)

# Columns of a table by the name of its list, in order, named as in the contract. Columns without a
# value are left out, as is a second one of the same name; other lists show all values that fit a
# cell.
_COLUMNS: Mapping[str, Sequence[str]] = {
    "estimates": (
        "quant",
        "method",
        "native",
        "asked",
        "bits_per_weight",
        "trainable_parameters",
        "quality.label",
        "quality.perplexity_increase",
        "weights_bytes",
        "kv_cache_bytes",
        "activations_bytes",
        "overhead_bytes",
        "draft.total_bytes",
        "per_gpu.weights_bytes",
        "per_gpu.gradients_bytes",
        "per_gpu.optimizer_bytes",
        "per_gpu.activations_bytes",
        "per_gpu.logits_bytes",
        "per_gpu.buffers_bytes",
        "per_gpu.needed_bytes",
        "bytes_per_parameter.total",
        "bytes_per_parameter.frozen",
        "total_bytes",
        "low_bytes",
        "high_bytes",
        "peak_phase",
        "engine",
    ),
    "ranking": _RANKED,
    "alternatives": _RANKED,
    "cheapest": _RANKED,
    "rows": (
        "gpus",
        "gpu_name",
        "replicas",
        "gpus_per_replica",
        "quant",
        "quality.label",
        "engine",
        "time_to_first_token_seconds",
        "tokens_per_second_per_user",
        "users_per_replica",
        "most_users_per_replica",
        "buy_usd",
        "rent_usd_per_hour",
        "token_prices.usd_per_million",
    ),
    "models": (
        "rank",
        "repo_id",
        "task",
        "parameters",
        "created",
        "downloads",
        "family.downloads",
        "kind",
        "quant",
        "quality.label",
        "engine",
        "verdict",
        "how",
        "headroom_bytes",
        "max_context",
        "decode_tokens_per_second",
        "disk.most_tokens_per_second",
    ),
    "published_results": (
        "benchmark",
        "task",
        "metric",
        "value",
        "by",
        "date",
        "source_name",
        "notes",
    ),
    "plans": (
        "kind",
        "verdict",
        "count",
        "gpu",
        "nodes",
        "quant",
        "engine",
        "parallelism.tensor",
        "parallelism.pipeline",
        "parallelism.data",
        "parallelism.expert",
        "interconnect.name",
        "headroom_bytes",
        "ram_bytes",
        "decode_tokens_per_second",
        "notes",
    ),
}

# Lists whose rows are shown one by one, as is a place on a GPU that the request names.
_WHOLE = frozenset({"gpus"})


def details_text(document: Document, *, copies: bool = False) -> str:
    """Write a full answer; with `copies` a family's other repositories below each model."""
    if copies:
        models = document["models"]
        document = {**document, "models": [row for it in models for row in (it, *it["copies"])]}
    answer = document["answer"]
    first = lines_text(
        [answer["sentence"], *(f"- {note['message']}" for note in answer["weighed"])]
    )
    return "\n\n".join((first, *("\n".join(part) for part in _parts(document))))


def _parts(document: Document) -> Iterator[list[str]]:
    # First values without parts, then objects and lists by name.
    alone = {name: value for name, value in document.items() if not _is_part(value)}
    if lines := list(_lines(alone, "")):
        yield lines
    for name, value in document.items():
        if _is_part(value) and (lines := list(_named(name, value, ""))):
            yield lines


def _is_part(value: object) -> bool:
    is_rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    return is_rows or (isinstance(value, dict) and not _is_band(value))


def _lines(values: Document, margin: str) -> Iterator[str]:
    # A line for each known value, and the parts below their names.
    known = {name: value for name, value in values.items() if name not in _UNSAID}
    for name, value in known.items():
        if value is None or value in ("", [], {}):
            continue
        yield from _named(name, value, margin)


def _named(name: str, value: Any, margin: str) -> Iterator[str]:
    if name in _UNSAID:
        return
    deeper, title = f"{margin}  ", printable(f"{margin}{_heading(name)}")
    if name in _SCRIPTS and isinstance(value, str):
        yield title
        lines = list(_shell_lines(value.replace(" \\\n  ", " ")))
        yield from (printable(f"{deeper}{line}") for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"{deeper}… --json has all of it"
    elif not _is_part(value):
        yield printable(f"{title:<32}  {_shown(name, value)}")
    elif isinstance(value, dict):
        if lines := list(_lines(value, deeper)):
            yield from (title, *lines)
    elif value[0].keys() <= _NOTE:
        said = name in _CAVEATS
        yield from () if said else (title,)
        margin = margin if said else deeper
        yield from (printable(f"{margin}! {note['message']}") for note in value)
    else:
        yield title
        if name not in _WHOLE:
            table = padded(*_table(value, _COLUMNS.get(name)))
            yield from (f"{deeper}{line}" for line in table.split("\n"))
        for row in value:
            if name in _WHOLE or "largest" in row:
                yield printable(f"{deeper}{row.get('gpu_name') or row.get('name')}")
                yield from _lines(row, f"{deeper}  ")


def _table(
    rows: Sequence[Document], paths: Sequence[str] | None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    # Headings and cells.
    if paths is None:
        every = dict.fromkeys(name for row in rows for name in row if name not in _UNSAID)
        paths = [path for path in every if not any(_has_rows(row.get(path)) for row in rows)]
    told: dict[str, Sequence[str]] = {}
    for path in paths:
        values = [_at(row, path) for row in rows]
        unit = " GiB" if path.endswith(_BYTES) else ""
        if any(value not in _NOTHING for value in values):
            cells = [_cell(path, value) for value in values]
            told.setdefault(f"{_heading(path)}{unit}", cells)
    return tuple(told), list(zip(*told.values(), strict=True))


_NOTHING: tuple[object, ...] = (None, "", [], {})


def _has_rows(value: object) -> bool:
    # An object, or a list of objects that are not notes, takes more than a cell.
    return _is_part(value) and not (isinstance(value, list) and "message" in value[0])


def _at(row: Document, path: str) -> object:
    # "" if the row has no such name.
    value: object = row
    for name in path.split("."):
        value = value.get(name, "") if isinstance(value, dict) else value
    return value


def _cell(path: str, value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, int | float) and path.endswith(_BYTES):
        return gib(value)
    return _shown(path, value)


def _heading(path: str) -> str:
    return path.removeprefix("per_gpu.").removesuffix(_BYTES).replace("_", " ").replace(".", " ")


def _is_band(value: object) -> TypeGuard[Document]:
    return isinstance(value, dict) and {"low", "likely", "high"} <= value.keys()


def _shown(name: str, value: object) -> str:
    # Bytes in GiB, a likely number with its band, lists with commas.
    if _is_band(value):
        low, likely, high = (_shown(name, value[end]) for end in ("low", "likely", "high"))
        return f"{likely} ({low}-{high})"
    if isinstance(value, list):
        return ", ".join(item["message"] if isinstance(item, dict) else str(item) for item in value)
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if name.endswith(_BYTES):
        return format_gib(value)
    return format(value, ".12g" if abs(value) < 10_000 else ",.12g")  # a year has no comma


def _shell_lines(script: str) -> Iterator[str]:
    # A line end inside quotes belongs to a stranger's name.
    command = ""
    for line in script.split("\n"):
        command = f"{command}\n{line}" if command else line
        try:
            shlex.split(command)
        except ValueError:  # a quotation goes on
            continue
        yield command
        command = ""
    if command:
        yield command
