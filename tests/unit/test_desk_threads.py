"""Desks that people described in public threads: what fitted together there fits here, what did not
does not, and a second vLLM that counts what the first holds receives more than it did there.

Two more are in `test_desk.py` (vllm issues 14376 and 10533). Left out are threads that do not name
the card or the models, and three where ours cannot be held against theirs: vllm issue 4242 (two
TinyLlama at 40 % of an A10 each: ours tells the first less, and then the second has room), tobi/qmd
issue 275 (models one after another on 2 GB: they measured 1.9 GB, our high end is above it) and
vllm-ascend issue 5917 (not our engines).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.requests.desk_request import DeskRequest
from tests.sizers import embedded_sizer

LLAMA, QWEN_7B, QWEN_14B = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen2.5-14B-Instruct",
)
BGE, WHISPER, TINY = "BAAI/bge-large-en-v1.5", "openai/whisper-large-v3", "Qwen/Qwen3-0.6B"
R1 = "deepseek-ai/DeepSeek-R1-Distill-Qwen"


@dataclass(frozen=True, slots=True)
class Thread:
    """A set-up and what came of it.

    Attributes:
        resident: models that were loaded at the same time.
        started: the largest shares with which servers started, in their order.
        refused: the share with which the second one did not start.
    """

    machine: str
    models: tuple[str, ...]
    resident: int
    started: tuple[float, ...] = ()
    refused: float | None = None


_V085 = "engine=vllm engine_version=0.8.5 quant=int8 context=4096"
_V090 = "engine=vllm engine_version=0.9.0 quant=bf16 context=32768"
_V082 = "engine=vllm engine_version=0.8.2 quant=bf16"
_NEW = "engine=vllm quant=bf16"
_OLLAMA = "engine=llama.cpp quant=q4_k_m context=4096"

THREADS = {
    "https://github.com/vllm-project/vllm/issues/17366": Thread(
        "A100 80GB", (f"{QWEN_14B} {_V085}",) * 2, 2, (0.3,), refused=0.3
    ),
    # The first held 3.5 GiB there; our likely amount is 3.7 GiB, the high end has room for none.
    "https://github.com/vllm-project/vllm/issues/19125": Thread(
        "4060 Ti 8GB", (f"Qwen/Qwen2.5-0.5B-Instruct {_V090}",) * 2, 1, (0.4,)
    ),
    # At 90 % on each of four cards, 160 GB together, the larger one left no room for the smaller.
    "https://github.com/vllm-project/vllm/issues/15682": Thread(
        "4x A100 40GB", (f"{R1}-32B {_V082}", f"{R1}-1.5B {_V082}"), 2, (0.89, 0.89)
    ),
    # Only one started at the default share; two of this size have room on a card of 24 GB.
    "https://github.com/ovg-project/kvcached/issues/181": Thread(
        "RTX 3090", (f"{TINY} {_NEW}",) * 2, 2, (0.5, 0.5)
    ),
    # One after the other both started; the shares are theirs, the models of the same sizes.
    "https://github.com/vllm-project/vllm/issues/55827": Thread(
        "5090", (f"Qwen/Qwen3-1.7B {_NEW}", f"{TINY} {_NEW}"), 2, (0.35, 0.2)
    ),
    # Out of memory where both landed on the first four cards, advised to take another one.
    "https://github.com/xorbitsai/inference/issues/3586": Thread(
        "8x L20",
        (
            "Qwen/Qwen3-32B engine=vllm quant=gptq-int8-g128 context=32768",
            f"{BGE} role=reranking engine=vllm",
        ),
        2,
        (0.95, 0.95),
    ),
    # Other programs held about 15 of 24 GiB: the 7B was in part in system memory, the 14B failed.
    "https://github.com/rwlove/home-ops/pull/11390": Thread(
        "P40 (9.6 GB free)", (f"{QWEN_7B} {_OLLAMA}", f"{QWEN_14B} {_OLLAMA}"), 1
    ),
    # The same card, 11.2 GiB of it in use: two 7B models leave about 2 GiB.
    "https://github.com/rwlove/home-ops/pull/13267": Thread(
        "P40 (13.7 GB free)",
        (f"{QWEN_7B} {_OLLAMA}", f"Qwen/Qwen2.5-Coder-7B-Instruct {_OLLAMA}"),
        2,
    ),
    # Unloaded by a scheduler though 2.3 GiB were free; BGE is as large as the embeddings there.
    "https://github.com/ollama/ollama/issues/12247": Thread(
        "RTX 3070", (f"{LLAMA} {_OLLAMA}", f"{BGE} engine=llama.cpp"), 2
    ),
    # Swapped by llama-swap, since only one fits; a model of that one's architecture and size.
    "https://github.com/Lyndeno/nix-config/pull/450": Thread(
        "RX 6700 XT",
        (
            "Qwen/Qwen3.5-9B quant=q5_k_m context=65536 kv_dtype=q8_0 resident=no",
            "google/gemma-4-E4B-it quant=q4_k_m context=16384 resident=no",
        ),
        0,
    ),
    # Preloaded together in about 11 GB; an encoder of 1.2 GB there, a model of that size here.
    "https://github.com/davealtena/homelab/pull/1984": Thread(
        "5060 Ti 16GB",
        (f"Qwen/Qwen3-14B {_OLLAMA}", f"{TINY} role=embeddings engine=llama.cpp quant=bf16"),
        2,
    ),
    # Said to be possible in FP16; Whisper was the base model there, the large one here.
    "https://github.com/lyuchenyang/Macaw-LLM/issues/7": Thread(
        "4090",
        ("meta-llama/Llama-2-7b-hf quant=bf16 context=2048", f"{WHISPER} quant=bf16"),
        2,
    ),
}


@pytest.fixture(params=THREADS.items(), ids=lambda item: item[0].partition(".com/")[2])
def thread(request: pytest.FixtureRequest) -> tuple[Thread, Desk]:
    """Return what a thread reports, and our answer to it."""
    _, told = request.param
    fields = {"models": told.models, "gpu": told.machine}
    return told, desk(embedded_sizer(), DeskRequest.from_fields(fields))


def test_a_desk_of_a_thread_comes_out_as_it_did(thread: tuple[Thread, Desk]) -> None:
    told, found = thread
    states = [model.state for model in found.models]
    assert states.count("resident") == told.resident
    servers = [model.server for model in found.in_starting_order if model.server]
    shares = [server.share for server in servers if server.share is not None]
    assert len(shares) >= len(told.started)
    assert all(share <= most for share, most in zip(shares, told.started, strict=False))
    if told.refused is not None:
        assert shares[1] > told.refused
    if told.resident == 0:
        assert states == ["on_demand"] * len(states)
