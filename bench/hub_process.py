"""HubProcess: the emulated Hub in a process of its own, so that its work is not the client's."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from tests.hub_emulator import FakeRepo, HubEmulator, llama_repo, moe_repo
from tests.hub_emulator.gguf_models import gguf_repo


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the Hub saw: requests (redirects and CDN included), bytes of bodies, round trips."""

    requests: int
    body_bytes: int
    round_trips: int


_GGUF_LABELS = (
    "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0", "Q4_K_M", "Q4_K_S", "Q4_K_L",
    "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS", "Q3_K_L", "Q3_K_M", "Q3_K_S", "IQ3_M", "IQ3_S", "IQ3_XXS",
    "Q2_K", "Q2_K_S", "IQ2_M", "IQ2_S", "IQ2_XXS",
)  # fmt: skip


def synthetic_repos() -> list[FakeRepo]:
    """Llamas of 1, 4 and 30 shards, a mixture of experts like DeepSeek-R1, 25 GGUF files."""
    sizes = {"hidden": 4096, "intermediate": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
    expert = {"hidden": 7168, "expert_size": 2048, "heads": 128, "kv_heads": 128, "vocab": 129280}
    repos = [
        llama_repo("synth/llama-1shard", layers=16, shards=1, **sizes),
        llama_repo("synth/llama-4shard", layers=32, shards=4, **sizes),
        llama_repo("synth/llama-30shard", layers=80, shards=30, **sizes),
        moe_repo("synth/moe-671B-163shard", layers=61, experts=499, shards=163, **expert),
        llama_repo("synth/gated-4shard", layers=32, shards=4, gated="auto", **sizes),
        gguf_repo("synth/gguf-25files", _GGUF_LABELS, vocab=128256, merges=280147),
    ]
    for repo in repos:
        repo.revisions["v1"] = repo.sha
        repo.parameters = repo.counted_parameters() or None  # the Hub counts at the upload
    return repos


class HubProcess:
    """Starts the Hub, changes its latency, and reads its log, from outside."""

    def __init__(self, repos: Any = synthetic_repos) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, repos), daemon=True)
        self._process.start()
        self.endpoint: str = self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pipe.send(("stop", None))
        self._process.join()

    def reset(self, **options: Any) -> None:
        """Start the log anew, with these options of the emulator."""
        self._pipe.send(("reset", options))
        self._pipe.recv()

    def traffic(self) -> Traffic:
        """What was asked since the last reset."""
        self._pipe.send(("traffic", None))
        found: Traffic = self._pipe.recv()
        return found


def _serve(pipe: Connection, repos: Any) -> None:
    with HubEmulator(repos()) as hub:
        pipe.send(hub.endpoint)
        while True:
            command, options = pipe.recv()
            if command == "stop":
                return
            if command == "reset":
                for name, value in options.items():
                    setattr(hub.options, name, value)
                hub.reset_log()
                pipe.send(None)
            else:
                bodies = sum(request.body_bytes_sent for request in hub.requests)
                pipe.send(Traffic(len(hub.requests), bodies, hub.round_trips))
