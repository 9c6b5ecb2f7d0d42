"""Published measurements of exactly one model, card, quantization and engine.

They are rows of `data/measurements`, whose README describes the fields. An estimate is shown with a
run only if the source names the same model, card, number of cards, quantization and engine; its
settings may differ from those of the request, and are shown with it.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusizer.core.loose_values import StoredObject
from gpusizer.core.paths import DATA_DIR
from gpusizer.fit.fit import Fit
from gpusizer.gpus import Catalogue, Gpu, load_catalogue
from gpusizer.memory.engines import abilities_of
from gpusizer.model.profile import ModelProfile

FOLDER = DATA_DIR / "measurements"

# measured speeds: of one user, of one prompt, of all users together
SPEEDS = (
    "decode_tokens_per_second",
    "prefill_tokens_per_second",
    "serving_tokens_per_second",
)
MEMORY = ("weights_bytes", "total_used_bytes")  # measured bytes of one GPU

Row = StoredObject

# Model in small letters, quantization, slug of the card, number of cards, slug of the engine.
Key = tuple[str, str, str, int, str]

_FILES = ("throughput.jsonl", "serving.jsonl", "llama_cpp.jsonl")
_FIRST_CONTACT = "first_contact.csv"
_NAMES_THE_MODEL = ("id", "file_name")
_NATIVE = "native"

# settings of a run that an answer shows
SETTINGS = (
    "engine_version",
    "backend",
    "context",
    "prompt_tokens",
    "generated_tokens",
    "concurrency",
    "scenario",
)


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One run that its source measured and published."""

    # tokens per second, or bytes of one GPU, by the names of SPEEDS and MEMORY
    measured: Mapping[str, float]
    # stated settings, by the names of `data/measurements/README.md`
    settings: Mapping[str, str | int]
    gpu: str  # the card as the source writes it
    source_url: str  # address of the publication
    source: str  # author of the measurement
    date: str  # as precise as the source, or ""
    # Whether constants of the estimate may be fitted to it, so that it is no blind check; None if
    # unknown.
    used_in_fit: bool | None


RunIndex = Mapping[Key, Sequence[PublishedRun]]


def runs_on(profile: ModelProfile, fit: Fit) -> tuple[PublishedRun, ...]:
    """Return the published runs of a model in this quantization, on these cards and this engine."""
    return find_runs(published_runs(), profile, fit)


def find_runs(index: RunIndex, profile: ModelProfile, fit: Fit) -> tuple[PublishedRun, ...]:
    """Return the runs of an index that match a fit exactly.

    A quantized repository has the runs of its original in its quantization.
    """
    estimate = fit.estimate
    models = [profile.repo_id]
    if profile.base_relation == "quantized" or profile.format == "gguf":
        models += profile.base_models
    quants = [estimate.quant.slug, *([_NATIVE] if estimate.native else [])]
    place = (fit.gpu.slug, fit.count, estimate.engine.slug)
    keys: list[Key] = [(model.lower(), quant, *place) for model in models for quant in quants]
    return tuple(run for key in keys for run in index.get(key, ()))


@cache
def published_runs() -> RunIndex:
    """Return the index over `data/measurements`, read once per process."""
    rows = (row for name in _FILES for row in _read(FOLDER / name))
    with (FOLDER / _FIRST_CONTACT).open(encoding="utf-8", newline="") as lines:
        unfitted = frozenset(line["id"] for line in csv.DictReader(lines))
    return build_index(rows, load_catalogue(), unfitted)


def build_index(rows: Iterable[Row], catalogue: Catalogue, unfitted: frozenset[str]) -> RunIndex:
    """Return runs by configuration, one of each: speeds first, then the newest.

    `unfitted` are the IDs of rows that no constant is fitted to.
    """
    index: defaultdict[Key, list[PublishedRun]] = defaultdict(list)
    seen = set()
    card = cache(catalogue.match)
    for row in rows:
        key = _key(row, card)
        run = None if key is None else _run(row, unfitted)
        if key is not None and run is not None and (row["kind"], row["dup_group"]) not in seen:
            seen.add((row["kind"], row["dup_group"]))
            index[key].append(run)
    for runs in index.values():  # those with a speed, and of these the newest
        runs.sort(
            key=lambda run: (not run.measured.keys().isdisjoint(SPEEDS), run.date), reverse=True
        )
    return dict(index)


def _read(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _key(row: Row, card: Callable[[str], Gpu | None]) -> Key | None:
    # None if the source leaves a part of the key open.
    gpu, count = _cards(row, card)
    quant = _quant(row)
    engine = row.get("engine") or row.get("program")
    if not (gpu and quant and engine and count):
        return None
    named = row["profile_basis"] in _NAMES_THE_MODEL
    return (row["profile"] if named else row["repo"]).lower(), quant, gpu, count, engine


def _cards(row: Row, card: Callable[[str], Gpu | None]) -> tuple[str, int]:
    # "" for no card or different ones.
    if "gpu_slug" in row:
        return row["gpu_slug"], row["gpu_count"]
    names = row.get("gpus") or ([row["gpu"]] * row.get("gpu_count", 1) if "gpu" in row else [])
    if len(set(names)) != 1:
        return "", 0
    gpu = card(names[0])
    return ("", 0) if gpu is None else (gpu.slug, len(names))


def _quant(row: Row) -> str | None:
    # Files of models released in MXFP4 have one recipe.
    quant: str | None = row.get("quant")
    if quant == "mxfp4":
        return "mxfp4_moe" if abilities_of(row.get("engine")).reads == "gguf" else _NATIVE
    return None if quant is None else quant.lower()


def _run(row: Row, unfitted: frozenset[str]) -> PublishedRun | None:
    # None if the row measured nothing that an answer shows.
    kind = row["kind"]
    is_speed = kind == "throughput"
    # Buffers are only a part of a card's memory, and layers elsewhere make another run.
    is_whole = is_speed or kind == "serving" or row.get("offload") == "all"
    names = SPEEDS if is_speed else MEMORY
    measured = {name: row["measured"][name] for name in names if row["measured"].get(name)}
    if not measured or not is_whole or row.get("outcome") == "failed" or row.get("flags"):
        return None
    fitted = False if row["id"] in unfitted else (True if is_speed else None)
    build = {"engine_version": row["build"]} if "build" in row else {}
    context = {"context": row["max_model_len"]} if "max_model_len" in row else {}
    return PublishedRun(
        measured=measured,
        settings={name: row[name] for name in SETTINGS if name in row} | build | context,
        gpu=row.get("gpu") or (row.get("gpus") or [""])[0],
        source_url=row["source_url"],
        source=row["source_group"],
        date=row.get("date", ""),
        used_in_fit=fitted,
    )
