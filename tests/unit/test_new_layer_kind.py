"""A kind of layer that the package does not know: a class and a reader are all that it takes.

Every engine below reads its parts, and none of their modules is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from gpusizer.memory.engines.base import Split
from gpusizer.memory.engines.llama_layers import sequence_bytes
from gpusizer.memory.engines.llama_versions import BUILDS
from gpusizer.memory.engines.vllm.pages import cache_of
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.kv_cache import kv_cache_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, layers
from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.conventions import CONVENTIONS, Kinds
from gpusizer.model.architecture.layer_kinds import Layer, LayerWord
from gpusizer.model.architecture.layer_kinds.parts import CachePart, TokenPart
from gpusizer.model.architecture.layer_source import LayerKind, LayerSource
from gpusizer.model.profile import build_profile
from gpusizer.speed.work import attention_flops
from gpusizer.usecases.derivation import derivation
from tests.asking import size
from tests.builders import tiny
from tests.documents import written
from tests.drafts import fetching

CONTEXT = 1000


@dataclass(frozen=True)
class NearAndFar(Layer):
    """Keeps all heads of the last `window` tokens, and one narrow head of every token."""

    word: ClassVar[LayerWord] = "sliding"
    key_width: int = 0
    value_width: int = 0
    kv_heads: int = 1
    window: int = 1
    far_width: int = 0

    def made_of(self) -> Iterator[CachePart]:
        yield TokenPart(self.key_width, self.value_width, self.kv_heads, self.window)
        yield TokenPart(self.far_width, self.far_width)

    def with_room(self, tokens: int) -> Layer:
        return replace(self, window=self.window + tokens)


def near_and_far(source: LayerSource) -> Layer:
    heads, cfg = source.heads(), source.cfg
    window, far = cfg.number("near_window") or 1, cfg.number("far_head_dim") or 0
    return NearAndFar(*heads.widths, heads.count or 1, window, far)


def every_layer(view: ConfigView, layer_count: int) -> Kinds | None:
    if view.number("near_window") is None:
        return None
    return [LayerKind(near_and_far)] * layer_count


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Keys of a model of four such layers, each with four heads of 64, all of 64 tokens, and one of
    32 for all."""
    monkeypatch.setattr(layers, "CONVENTIONS", (every_layer, *CONVENTIONS))
    return {"near_window": 64, "far_head_dim": 32}


@pytest.fixture
def arch(config: dict[str, int]) -> Architecture:
    found = build_profile(tiny(kv_heads=4, config=config)).architecture
    assert found is not None
    return found


def test_its_reader_is_asked(arch: Architecture) -> None:
    (run,) = arch.layer_plan
    assert (run.count, run.layer) == (4, NearAndFar(256, 256, 4, 64, 32))
    assert arch.confidence == "known"
    assert arch.growing_elements_per_token == 4 * (512 + 64)


def test_its_cache(arch: Architecture) -> None:
    """16 bits: 1,024 bytes of each of 64 tokens, 128 of each of 1,000. Two GPUs divide the heads;
    the narrow one is on both."""
    assert kv_cache_bytes(arch, CONTEXT, 1, "f16") == 4 * (64 * 1024 + CONTEXT * 128)
    two = kv_cache_bytes(arch, CONTEXT, 1, "f16", shards=2)
    assert two == 4 * (64 * 512 + CONTEXT * 128)


def test_its_pages_in_vllm(arch: Architecture) -> None:
    """Pages of 16 x 1,024 bytes: 63 of tokens in flight and one more, 8 of 128 narrow ones."""
    (cache,) = cache_of(arch, "bf16", Split(), 2048, vllm_release(None))
    assert cache.bytes_at(CONTEXT) == (63 + 1 + 8) * 4 * 16 * 1024
    (half,) = cache_of(arch, "bf16", Split(2), 2048, vllm_release(None))
    assert half.bytes_at(CONTEXT) == (63 + 1 + 16) * 4 * 16 * 512


def test_its_cells_in_llama_cpp(arch: Architecture) -> None:
    """Cells of 256: the window and a batch of 512 take 768, all tokens 1,024."""
    kept = sequence_bytes(arch, Workload(context=CONTEXT), BUILDS[-1], 1, CONTEXT)
    assert kept == 4 * (768 * 1024 + 1024 * 128)


def test_its_work(arch: Architecture) -> None:
    """Two products of 2 FLOP, four heads of 64, over the window of 64."""
    assert attention_flops(arch, CONTEXT) == 4 * 4 * 4 * 64 * 64


def test_its_derivation_and_its_facts(config: dict[str, int]) -> None:
    snapshot = tiny(kv_heads=4, config=config)
    fields = {"model": snapshot.repo_id, "context": CONTEXT, "kv_dtype": "bf16", "top": 0}
    report = size(fetching(snapshot), {**fields, "engine": "transformers"})
    steps = [step for step in derivation(report.estimates[0]) if step.part == "kv_cache"]
    assert [(step.rule, step.formula) for step in steps[:2]] == [
        ("window", "4 × (256 × 2 B + 256 × 2 B) × 64"),
        ("layers", "4 × (32 × 2 B + 32 × 2 B) × 1,000"),
    ]
    architecture = written(report)["model"]["architecture"]
    assert architecture is not None
    (stated,) = architecture["layer_plan"]
    assert (stated["attention"], stated["count"], stated["window"]) == ("sliding", 4, 64)
    assert "far_width" not in stated
