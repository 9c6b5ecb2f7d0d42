"""Models and shortcuts of the tests of vLLM's memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.memory.engines import ENGINES, Engine, Loaded, Placement, Split
from gpusizer.memory.engines.vllm import version_defaults
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.weight_sizes import WeightSizes, weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.profile import ModelProfile, build_profile
from scrapers.cache.stored import EmbeddedSnapshots
from tests.builders import llama
from tests.families import deepseek_r1, gemma3_1b, gpt_oss_20b, qwen3_next

VLLM = ENGINES["vllm"]
SNAPSHOTS = EmbeddedSnapshots(SNAPSHOTS_DIR)
NOW = vllm_release(None)
LLAMA_8B = build_profile(llama())
DEEPSEEK = build_profile(deepseek_r1())
GPT_OSS = build_profile(gpt_oss_20b())
BIG = version_defaults.BIG_CLASS


def architecture(profile: ModelProfile) -> Architecture:
    assert profile.architecture is not None
    return profile.architecture


def loaded(
    profile: ModelProfile, split: Split, version: str | None = None, card: int = 0
) -> tuple[int, int]:
    """Bytes on the fullest GPU and on all of them, at the width of the files."""
    quant = native_quant(profile)
    placement = Placement(profile, Workload(engine_version=version), split, card)
    bytes_loaded = load(placement, weight_sizes(profile, quant, native=True))
    return bytes_loaded.per_gpu.likely, bytes_loaded.all_gpus.likely


def load(
    placement: Placement, sizes: WeightSizes, engine: Engine = VLLM, *, native: bool = True
) -> Loaded:
    """Return weights of these sizes as an engine loads them."""
    loader = engine.loader(placement.profile, placement.workload)
    return loader(sizes, placement, native=native)


def embedded(repo_id: str) -> ModelProfile:
    snapshot = SNAPSHOTS.get(repo_id)
    assert snapshot is not None
    return build_profile(snapshot)


def sequence(arch: Architecture, context: int, version: str | None = None, **more: Any) -> int:
    workload = Workload(engine_version=version, **more)
    return VLLM.sequence_bytes(placed(arch, workload, device_class=BIG), context)


def placed(arch: Architecture, workload: Workload | None = None, **where: Any) -> Placement:
    """Return a placed model of this architecture."""
    return Placement(replace(LLAMA_8B, architecture=arch), workload or Workload(), **where)


def hybrid(*runs: LayerRun) -> Architecture:
    layers = sum(run.count for run in runs)
    return replace(architecture(LLAMA_8B), layers=layers, layer_plan=runs)


def peak(model: ModelProfile, card: int = 0, **workload: Any) -> int:
    placement = Placement(model, Workload(**workload), device_class=card)
    return VLLM.activations(placement).likely


MODELS = [LLAMA_8B, DEEPSEEK, GPT_OSS, build_profile(gemma3_1b()), build_profile(qwen3_next())]
