"""Rebuild `data/measurements/models`: models that were measured but are not embedded.

    python -m scripts.build_measurement_models FOLDER [--date 2026-11-20]

A developer's tool. FOLDER is laid out as for `scripts.build_snapshots`. Written are the
repositories with a text model that `data/models` lacks: releases whose tensors were taken over
from a sibling of the same shapes, and repositories that hold only pickle files, whose tensors
`meta.json` lists. They serve the benchmark and its tests; no answer to a user comes from them.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from gpusizer.paths import DATA_DIR
from gpusizer.snapshot import Component, RepoSnapshot, WeightFile
from gpusizer.tensors import group_tensors
from scrapers.embedded import EmbeddedSnapshots
from scripts.build_snapshots import as_embedded, read_all, write

OUTPUT = DATA_DIR / "measurements" / "models"
MAX_TOTAL_BYTES = 1_500_000
PICKLE_SUFFIXES = (".bin", ".pt", ".pth")


def main() -> None:
    """Write the snapshots and their index."""
    parser = argparse.ArgumentParser(prog="python -m scripts.build_measurement_models")
    parser.add_argument("folder", type=Path, help="holds one folder per repository")
    parser.add_argument("--date", default=date.today().isoformat(), help="retrieved_at")
    arguments = parser.parse_args()
    metas = missing(arguments.folder)
    headers = {name: meta for name, meta in metas.items() if meta["header_json_bytes"]}
    snapshots = read_all(arguments.folder, headers, arguments.date)
    snapshots += [
        pickle_snapshot(arguments.folder / name, meta, arguments.date)
        for name, meta in metas.items()
        if name not in headers and meta.get("tensors")
    ]
    total_bytes = write(sorted(snapshots, key=lambda one: one.repo_id), OUTPUT)
    print(f"{len(snapshots)} models, {total_bytes:,} bytes in {OUTPUT}")
    if total_bytes >= MAX_TOTAL_BYTES:
        raise SystemExit(f"more than {MAX_TOTAL_BYTES:,} bytes")


def missing(folder: Path) -> dict[str, dict[str, Any]]:
    """Descriptions of the repositories that are not embedded, by folder name."""
    embedded = EmbeddedSnapshots(DATA_DIR / "models")
    found = {}
    for path in sorted(folder.glob("*/meta.json")):
        meta = json.loads(path.read_text("utf-8"))
        if embedded.get(meta["id"]) is None and read_config(path.parent):
            found[path.parent.name] = meta
    return found


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json`, plain or compressed; empty when there is none."""
    for path, unpack in (
        (folder / "config.json", bytes),
        (folder / "config.json.gz", gzip.decompress),
    ):
        if path.is_file():
            config: dict[str, Any] = json.loads(unpack(path.read_bytes()))
            return config
    return {}


def pickle_snapshot(folder: Path, meta: Mapping[str, Any], day: str) -> RepoSnapshot:
    """A repository without headers, from the list of its tensors."""
    tensors = [(name, dtype, tuple(shape)) for name, (dtype, shape) in meta["tensors"].items()]
    files = tuple(
        WeightFile(item["rfilename"], item.get("size"), 0)
        for item in meta["siblings"]
        if item["rfilename"].endswith(PICKLE_SUFFIXES)
    )
    model = Component("model", read_config(folder), files, group_tensors(tensors))
    snapshot = RepoSnapshot(
        repo_id=meta["id"],
        revision="main",
        sha=None,
        source="snapshot",
        retrieved_at=day,
        format="pickle",
        components=(model,),
        gated=bool(meta["gated"]),
        library=meta["library_name"],
    )
    return as_embedded(snapshot, meta, day)


if __name__ == "__main__":
    main()
