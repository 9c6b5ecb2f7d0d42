"""Repositories with long headers, and the memory that a process needs to read one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from tests.hub_emulator import FakeRepo, HubEmulator, raw_safetensors_file

TensorName = Callable[[int, int], str]
"""Name of a tensor, from the numbers of its shard and of itself."""


def usual_name(shard: int, number: int) -> str:
    return f"model.layers.{shard}.mlp.experts.{number}.down_proj.weight"


def odd_name(shard: int, number: int) -> str:
    """A name that has nothing in common with the others."""
    digits = f"{shard:03}{number:05}"
    return digits.translate(str.maketrans("0123456789", "abcdefghij")) + 400 * "x"


def tagged_repo(name: TensorName, shards: int, header_bytes: int) -> FakeRepo:
    """Shards with headers of so many bytes; at its tag headers are read from the files."""
    files = {}
    for shard in range(shards):
        entries, size = [], 0
        while size < header_bytes:
            at = len(entries)
            span = f'"data_offsets":[{at},{at + 1}]'
            entries.append(f'"{name(shard, at)}":{{"dtype":"U8","shape":[1],{span}}}')
            size += len(entries[-1]) + 1
        header = f"{{{','.join(entries)}}}".encode()
        path = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        files[path] = raw_safetensors_file(header, None, len(entries))
    repo = FakeRepo("org/name", files, parameters={"U8": 1})
    repo.revisions["v1"] = repo.sha
    return repo


def memory_of_reading(hub: HubEmulator, model: str = "org/name@v1") -> tuple[str, float]:
    """What ended reading a model in a process of its own ("" for nothing), and its peak in MB.

    That is the limit that was exceeded, or the reason of another error.
    """
    process = subprocess.run(
        [sys.executable, "-c", _READ, hub.endpoint, hub.cdn_endpoint, model],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answer = json.loads(process.stdout)
    return answer["limit"], answer["megabytes"]


_READ = """
import json, re, sys
from pathlib import Path
from gpusizer.core.errors import ModelUnreadable
from gpusizer.hub.model_ref import parse_model_ref
from scrapers.client.http import HubSession
from scrapers.repository.hub import fetch_snapshot
from scrapers.limits import Limits

# Bytes end the reading, not seconds, however busy the machine is.
limits = Limits(model_seconds=240.0, request_seconds=240.0)
with HubSession(sys.argv[1], cdn_origins=[sys.argv[2]]) as session:
    try:
        fetch_snapshot(parse_model_ref(sys.argv[3]), session, limits)
        limit = ""
    except ModelUnreadable as error:
        limit = error.fields.get("limit") or error.fields["reason"]
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps({"limit": limit, "megabytes": int(peak[1]) / 1000}))
"""
