"""Rebuild `data/models` from a folder of repositories' metadata.

    python -m scripts.build_snapshots FOLDER [--date 2026-11-20]

A developer's tool. FOLDER holds one folder per repository, as `tests.hub_emulator.corpus`
describes. It is served by the emulator and read by the real scraper, so that an embedded
snapshot is what the scraper would have said. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from gpusizer.hub_id import ModelRef
from gpusizer.paths import DATA_DIR
from gpusizer.snapshot import Component, RepoSnapshot
from scrapers.embedded import INDEX_FILE
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from scrapers.limits import Limits
from tests.hub_emulator import HubEmulator, corpus_repo

TOKEN = "hf_builder"
MAX_TOTAL_BYTES = 2_000_000

# Configuration that says nothing about memory or speed, and can be long.
CLUTTER = frozenset(
    {"id2label", "label2id", "auto_map", "task_specific_params", "_name_or_path"}
    | {"transformers_version", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens"}
    | {"forced_decoder_ids", "custom_pipelines"}
)
CLUTTER_SUFFIXES = ("_token_id", "_token_index")

# Organisations that took over the one-word IDs of the first models.
LEGACY_OWNERS = frozenset({"google-bert", "google-t5", "openai-community"})
RENAMED = {
    "meta-llama/Meta-Llama-3.1-8B": "meta-llama/Llama-3.1-8B",
    "meta-llama/Meta-Llama-3.1-8B-Instruct": "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Meta-Llama-3.1-405B": "meta-llama/Llama-3.1-405B",
    "THUDM/GLM-4-9B-0414": "zai-org/GLM-4-9B-0414",
    "THUDM/GLM-Z1-32B-0414": "zai-org/GLM-Z1-32B-0414",
    "THUDM/chatglm3-6b": "zai-org/chatglm3-6b",
    "zai-org/glm-4-9b-chat": "THUDM/glm-4-9b-chat",
}


def main() -> None:
    """Write the snapshots and their index; files of models no longer there are removed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.build_snapshots")
    parser.add_argument("folder", type=Path, help="holds one folder per repository")
    parser.add_argument("--date", default=date.today().isoformat(), help="retrieved_at")
    parser.add_argument("--output", type=Path, default=DATA_DIR / "models")
    arguments = parser.parse_args()
    metas = wanted(arguments.folder)
    snapshots = read_all(arguments.folder, metas, arguments.date)
    total_bytes = write(snapshots, arguments.output)
    print(f"{len(snapshots)} models, {total_bytes:,} bytes in {arguments.output}")
    if total_bytes >= MAX_TOTAL_BYTES:
        raise SystemExit(f"more than {MAX_TOTAL_BYTES:,} bytes")


def wanted(folder: Path) -> dict[str, dict[str, Any]]:
    """Descriptions of the repositories with checked safetensors headers, by folder name."""
    found = {}
    for path in sorted(folder.glob("*/meta.json")):
        meta = json.loads(path.read_text("utf-8"))
        if meta["verified"] is True and meta["header_json_bytes"]:
            found[path.parent.name] = meta
    return found


def read_all(folder: Path, metas: Mapping[str, Mapping[str, Any]], day: str) -> list[RepoSnapshot]:
    """Every wanted repository through the scraper, sorted by ID."""
    repos = [corpus_repo(folder / name) for name in metas]
    allowed = {TOKEN: [repo.repo_id for repo in repos]}
    with HubEmulator(repos, valid_tokens=allowed) as hub, HubSession(hub.endpoint) as session:
        limits = Limits(model_seconds=600.0)

        def read(meta: Mapping[str, Any]) -> RepoSnapshot:
            snapshot = fetch_snapshot(ModelRef(meta["id"]), session, limits, TOKEN)
            return as_embedded(snapshot, meta, day)

        with ThreadPoolExecutor(2) as pool:
            snapshots = list(pool.map(read, metas.values()))
    return sorted(snapshots, key=lambda snapshot: snapshot.repo_id)


def as_embedded(snapshot: RepoSnapshot, meta: Mapping[str, Any], day: str) -> RepoSnapshot:
    """The snapshot as it ships: with its evidence, without what only takes space."""
    evidence = list(meta["verification"])
    basis = str(meta["config_basis"])
    if basis != "mirror" and not basis.startswith("real config.json copied"):
        evidence.append("config_reconstructed")
    return replace(
        snapshot,
        sha=meta["revision"],
        source="snapshot",
        retrieved_at=day,
        components=tuple(map(_tidy, snapshot.components)),
        license=meta["license"],
        pipeline_tag=meta["pipeline_tag"],
        evidence=tuple(evidence),
    )


def write(snapshots: list[RepoSnapshot], output: Path) -> int:
    """Write one file per model and the index. Returns their bytes together."""
    output.mkdir(parents=True, exist_ok=True)
    files = {snapshot.repo_id: _file_name(snapshot.repo_id) for snapshot in snapshots}
    for snapshot in snapshots:
        _write_json(output / files[snapshot.repo_id], snapshot.to_json())
    index = {"models": files, "aliases": _aliases(files)}
    _write_json(output / INDEX_FILE, index)
    kept = {*files.values(), INDEX_FILE}
    for path in output.glob("*.json"):
        if path.name not in kept:
            path.unlink()
    return sum(path.stat().st_size for path in output.glob("*.json"))


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


def _aliases(files: Mapping[str, str]) -> dict[str, str]:
    legacy = {
        repo_id.partition("/")[2]: repo_id
        for repo_id in files
        if repo_id.partition("/")[0] in LEGACY_OWNERS
    }
    return legacy | {old: new for old, new in RENAMED.items() if new in files}


def _file_name(repo_id: str) -> str:
    return f"{repo_id.replace('/', '__')}.json"


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    path.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
