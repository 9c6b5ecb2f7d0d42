"""The clients compared: each reads one model and says how many tensors it found."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.utils import disable_progress_bars

from gpusizer.hub_id import ModelRef
from gpusizer.profile import build_profile
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from scrapers.limits import Limits

Client = Callable[[str, str], int]
"""From an endpoint and a repository to the number of tensors, -1 where it is not told."""


def ours(endpoint: str, repo_id: str) -> int:
    """A cold session, and everything up to the profile."""
    return _ours(endpoint, ModelRef(repo_id))


def ours_at_revision(endpoint: str, repo_id: str) -> int:
    """The same at a tag, where headers are read from the files."""
    return _ours(endpoint, ModelRef(repo_id, "v1"))


def _ours(endpoint: str, ref: ModelRef) -> int:
    with HubSession(endpoint) as session:
        return build_profile(fetch_snapshot(ref, session, Limits())).tensor_count


def hub_client(endpoint: str, repo_id: str) -> int:
    """huggingface_hub, shard by shard: what it does unless asked otherwise."""
    disable_progress_bars()
    found = HfApi(endpoint, token=False).get_safetensors_metadata(repo_id)
    return sum(len(file.tensors) for file in found.files_metadata.values())


def our_process(endpoint: str, repo_id: str) -> int:
    """`python -m gpusizer size`, with an empty cache: memory, fit and ranking included."""
    with tempfile.TemporaryDirectory() as cache:
        answer = _run(
            [sys.executable, "-m", "gpusizer", "size", repo_id, "--json"],
            {"HF_ENDPOINT": endpoint, "GPUSIZER_CACHE_DIR": cache},
        )
    count: int = json.loads(answer)["model"]["tensor_count"]
    return count


# hf-mem knows one address of the Hub: in its own process, that address is replaced.
HF_MEM = """
import sys, httpx2
endpoint, *options = sys.argv[1:]
send = httpx2.AsyncClient.request
async def request(self, method, url, **kwargs):
    url = str(url).replace("https://huggingface.co", endpoint)
    return await send(self, method, url, **kwargs)
httpx2.AsyncClient.request = request
sys.argv = ["hf-mem", *options]
from hf_mem.cli import main
main()
"""
"""Program of hf-mem's interpreter: an endpoint, then hf-mem's own options."""


def hf_mem_process(python: Path) -> Client:
    """hf-mem's command line, run by the interpreter of an environment that has it."""

    def run(endpoint: str, repo_id: str) -> int:
        options = ["--model-id", repo_id, "--json-output"]
        _run([str(python), "-c", HF_MEM, endpoint, *options], {})
        return -1

    return run


def _run(command: list[str], variables: dict[str, str]) -> str:
    import_path = {"PATH": "/usr/bin:/bin", "NO_PROXY": "*", **variables}
    done = subprocess.run(command, env=import_path, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return done.stdout
