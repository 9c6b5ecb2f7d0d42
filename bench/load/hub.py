"""A Hub of distinct models in a process of its own, told by lines of JSON how to fail.

`python -m bench.load.hub MODELS` prints its addresses, then answers each line on its standard
input: `{"do": "count"}`, `{"do": "reset"}`, `{"do": "faults", "faults": [{"kind": …}, …]}`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpusizer.core.paths import DATA_DIR
from tests.hub_emulator.faults import Fault
from tests.hub_emulator.models import llama_repo
from tests.hub_emulator.repos import FakeRepo
from tests.hub_emulator.server import HubEmulator

PRIVATE_MODEL = "load/private-model-of-a-visitor"
PRIVATE_TOKEN = "hf_" + "loadvisitor" * 3
_SHAPES = tuple((layers, heads) for heads in (16, 24, 32, 40) for layers in range(16, 40))
"""Layers and heads of 128 dimensions: 96 models of 1 to 11 billion parameters, so that what is kept
by architecture has many to keep."""


def model_id(number: int) -> str:
    """The ID of a model of this Hub."""
    return f"load/model-{number:05}"


class Hub:
    """A running Hub: its addresses, and what it can be told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        addresses = self._answer()
        self.endpoint: str = addresses["endpoint"]
        self.cdn: str = addresses["cdn"]

    def requests(self) -> int:
        """Requests since the last `reset`, those to the CDN and redirected ones among them."""
        count: int = self._tell(do="count")["requests"]
        return count

    def reset(self) -> None:
        """Count from zero."""
        self._tell(do="reset")

    def fail(self, *faults: dict[str, Any]) -> None:
        """Fail in these ways (`tests.hub_emulator.faults.Fault`), or in none."""
        self._tell(do="faults", faults=faults)

    def _tell(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the emulated Hub ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def hub_process(models: int) -> Iterator[Hub]:
    """Run a Hub of so many models."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.load.hub", str(models)],
        cwd=DATA_DIR.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Hub(process)
        finally:
            process.terminate()


def _repositories(models: int) -> list[FakeRepo]:
    """Repositories that share the files of a few shapes, and one that is private."""
    shapes = [
        llama_repo(
            f"load/shape-{layers}-{heads}",
            layers=layers,
            hidden=heads * 128,
            intermediate=heads * 448,
            heads=heads,
            kv_heads=8,
            vocab=128_256,
            shards=2,
        ).files
        for layers, heads in _SHAPES
    ]
    public = [FakeRepo(model_id(number), shapes[number % len(shapes)]) for number in range(models)]
    return [*public, FakeRepo(PRIVATE_MODEL, shapes[0], private=True)]


def main() -> None:
    """Serve, and obey lines until there are no more."""
    from_visitor = {PRIVATE_TOKEN: [PRIVATE_MODEL]}
    with HubEmulator(_repositories(int(sys.argv[1])), valid_tokens=from_visitor) as hub:
        print(json.dumps({"endpoint": hub.endpoint, "cdn": hub.cdn_endpoint}), flush=True)
        for line in sys.stdin:
            print(json.dumps(_obey(hub, json.loads(line))), flush=True)


def _obey(hub: HubEmulator, command: dict[str, Any]) -> dict[str, Any]:
    if command["do"] == "count":
        return {"requests": len(hub.requests)}
    if command["do"] == "reset":
        hub.reset_log()
        return {}
    hub.faults.clear()
    for fault in command["faults"]:
        hub.faults.add(Fault(**fault))
    return {}


if __name__ == "__main__":
    main()
