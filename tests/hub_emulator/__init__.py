"""An emulator of the Hugging Face Hub on loopback, for tests.

    with HubEmulator([llama_repo("org/model", shards=3)]) as hub:
        HfApi(endpoint=hub.endpoint).model_info("org/model")
        assert [request.path for request in hub.requests] == ["/api/models/org/model"]

The protocol is the Hub's as third-party captures and huggingface_hub show it, without
Xet: `X-Xet-Hash` would make clients leave HTTP.
"""

from __future__ import annotations

from tests.hub_emulator.faults import Fault
from tests.hub_emulator.files import FakeFile, literal_file, sparse_file
from tests.hub_emulator.gguf_files import gguf_file
from tests.hub_emulator.gguf_models import gguf_repo
from tests.hub_emulator.log import LoggedRequest
from tests.hub_emulator.models import llama_repo, moe_repo
from tests.hub_emulator.repos import FakeRepo, sharded_repo, single_file_repo
from tests.hub_emulator.safetensors_files import (
    raw_safetensors_file,
    safetensors_file,
    sparse_safetensors_file,
)
from tests.hub_emulator.server import HubEmulator

__all__ = [
    "FakeFile",
    "FakeRepo",
    "Fault",
    "HubEmulator",
    "LoggedRequest",
    "gguf_file",
    "gguf_repo",
    "literal_file",
    "llama_repo",
    "moe_repo",
    "raw_safetensors_file",
    "safetensors_file",
    "sharded_repo",
    "single_file_repo",
    "sparse_file",
    "sparse_safetensors_file",
]
