"""Embed models of the Hub in `data/generated/models`, or refresh the embedded ones.

    python -m scripts.add_model ORG/NAME [ORG/NAME …]
    python -m scripts.add_model --all

Models are read from the Hub at HF_ENDPOINT by the scrapers. The headers of their weights must be
readable: gated models are read with HF_TOKEN, private models and pickles are refused. If a model
cannot be read, its embedded copy stays. Equal responses of the Hub on one day give equal
bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from gpusizer.core.errors import GatedModel, GpusizerError, NoWeights
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from gpusizer.hub.snapshot import Component, RepoSnapshot
from gpusizer.text import say_error
from scrapers.cache.stored import INDEX_FILE, EmbeddedSnapshots
from scrapers.fetcher import Fetcher

MODELS = SNAPSHOTS_DIR
MAX_TOTAL_BYTES = 2_000_000
EVIDENCE = ("hub",)

# Keys of configurations that have no effect on memory or speed, and can be long.
CLUTTER = frozenset(
    {"id2label", "label2id", "auto_map", "task_specific_params", "_name_or_path"}
    | {"transformers_version", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens"}
    | {"forced_decoder_ids", "custom_pipelines"}
)
CLUTTER_SUFFIXES = ("_token_id", "_token_index")

# Organisations that now own the models whose IDs had one word, such as "gpt2".
LEGACY_OWNERS = frozenset({"google-bert", "google-t5", "openai-community"})


@dataclass(frozen=True, slots=True)
class AddedModel:
    """A model that was read."""

    asked_id: str  # the requested ID, which may be a former one of the repository
    snapshot: RepoSnapshot  # the snapshot to embed


def main(argv: Sequence[str]) -> int:
    """Write snapshots and index; return 1 if a model could not be read, else 0."""
    parser = argparse.ArgumentParser(prog="python -m scripts.add_model")
    parser.add_argument("models", nargs="*", metavar="ORG/NAME", help="models to embed")
    parser.add_argument("--all", action="store_true", help="read every embedded model again")
    parser.add_argument("--date", default=date.today().isoformat(), help="retrieved_at")
    parser.add_argument(
        "--output", type=Path, default=MODELS, help="default: data/generated/models"
    )
    arguments = parser.parse_args(argv)
    embedded = EmbeddedSnapshots(arguments.output).ids() if arguments.all else ()
    model_ids = list(dict.fromkeys((*embedded, *arguments.models)))
    if not model_ids:
        parser.error("name a model, or use --all")
    fetch = Fetcher(_live_settings(arguments.output))
    added, failures = [], 0
    for text in model_ids:
        try:
            added.append(read_model(text, fetch, os.environ.get("HF_TOKEN"), arguments.date))
        except GpusizerError as error:
            failures += 1
            print(f"{text}: {say_error(error)}", file=sys.stderr)
    total_bytes = write(added, arguments.output)
    print(f"{len(added)} models read, {total_bytes:,} bytes in {arguments.output}")
    return 1 if failures else 0


def read_model(text: str, fetch: Fetcher, token: str | None, day: str) -> AddedModel:
    """Read one model as it is embedded.

    Raises GatedModel, NoWeights (formats: pickle) and the errors of `fetch`.
    """
    # It is read anonymously first, so that a private model, which only the token opens, is never
    # published.
    asked_id = parse_model_ref(text).repo_id
    snapshot = fetch(ModelRef(asked_id))
    if snapshot.gated and _lacks_tensors(snapshot) and token:
        snapshot = fetch.for_visitor(token)(ModelRef(asked_id))
    if _lacks_tensors(snapshot):
        if snapshot.gated:
            raise GatedModel(repo_id=snapshot.repo_id)
        raise NoWeights(repo_id=snapshot.repo_id, formats=[snapshot.format])
    return AddedModel(asked_id, as_embedded(snapshot, day))


def as_embedded(snapshot: RepoSnapshot, day: str) -> RepoSnapshot:
    """Return the snapshot without keys in CLUTTER and without facts about this reading."""
    return replace(
        snapshot,
        source="snapshot",
        retrieved_at=day,
        components=tuple(map(_tidy, snapshot.components)),
        evidence=EVIDENCE,
        notes=tuple(note for note in snapshot.notes if note.code != "repo_renamed"),
    )


def write(added: Iterable[AddedModel], output: Path) -> int:
    """Write one file for each model and the index; return the bytes of the whole folder.

    Raises SystemExit before anything is written if the folder would become too large.
    """
    contents: dict[str, str] = {}
    models, aliases = _index(output)
    for model in added:
        repo_id = model.snapshot.repo_id
        if model.asked_id.casefold() != repo_id.casefold():
            models.pop(model.asked_id, None)
            aliases[model.asked_id] = repo_id
        models[repo_id] = f"{repo_id.replace('/', '__')}.json"
        contents[models[repo_id]] = _json_text(model.snapshot.to_json())
    index = {"models": dict(sorted(models.items())), "aliases": _aliases(models, aliases)}
    contents[INDEX_FILE] = _json_text(index)
    files = {*models.values(), INDEX_FILE}
    unchanged = [path for path in output.glob("*.json") if path.name in files - contents.keys()]
    total_bytes = sum(path.stat().st_size for path in unchanged)
    total_bytes += sum(len(text.encode()) for text in contents.values())
    if total_bytes >= MAX_TOTAL_BYTES:
        raise SystemExit(f"{total_bytes:,} bytes, more than {MAX_TOTAL_BYTES:,}")
    output.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (output / name).write_text(text, "utf-8")
    for path in output.glob("*.json"):
        if path.name not in files:
            path.unlink()
    return total_bytes


def _live_settings(output: Path) -> Settings:
    # No cache on disk and no embedded snapshots.
    settings = Settings.from_environment(os.environ)
    return replace(
        settings, offline=False, cache_folder=None, snapshots_folder=output / "no such folder"
    )


def _lacks_tensors(snapshot: RepoSnapshot) -> bool:
    return any(component.totals is not None for component in snapshot.components)


def _tidy(component: Component) -> Component:
    config = component.config
    return component if config is None else replace(component, config=_without_clutter(config))


def _without_clutter(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_clutter(item)
            for key, item in value.items()
            if key not in CLUTTER and not key.endswith(CLUTTER_SUFFIXES)
        }
    return value


def _index(output: Path) -> tuple[dict[str, str], dict[str, str]]:
    # File names by ID, and IDs by former ID; both are empty for a new folder.
    path = output / INDEX_FILE
    if not path.is_file():
        return {}, {}
    index = json.loads(path.read_text("utf-8"))
    return index["models"], index["aliases"]


def _aliases(models: Mapping[str, str], former: Mapping[str, str]) -> dict[str, str]:
    # One-word IDs of the oldest models, and former IDs.
    legacy = {
        repo_id.partition("/")[2]: repo_id
        for repo_id in models
        if repo_id.partition("/")[0] in LEGACY_OWNERS
    }
    aliases = legacy | dict(former)
    return {
        alias: repo_id
        for alias, repo_id in sorted(aliases.items())
        if repo_id in models and alias not in models
    }


def _json_text(value: Any) -> str:
    return f"{json.dumps(value, separators=(',', ':'), ensure_ascii=False)}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
