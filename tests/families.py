"""Published models whose tensors differ from Llama's, as they are embedded."""

from __future__ import annotations

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.stored import EmbeddedSnapshots

_EMBEDDED = EmbeddedSnapshots(SNAPSHOTS_DIR)


def _published(repo_id: str) -> RepoSnapshot:
    snapshot = _EMBEDDED.get(repo_id)
    assert snapshot is not None, repo_id
    return snapshot


def gpt2() -> RepoSnapshot:
    """GPT-2: [in, out] matrices, causal masks stored as buffers, no stored head."""
    return _published("openai-community/gpt2")


def gemma3_1b() -> RepoSnapshot:
    """Gemma 3 1B: five sliding layers for each full one, and no stored head."""
    return _published("google/gemma-3-1b-it")


def mixtral() -> RepoSnapshot:
    """Mixtral-8x7B: eight experts of which two are chosen."""
    return _published("mistralai/Mixtral-8x7B-v0.1")


def qwen3_moe() -> RepoSnapshot:
    """Qwen3-30B-A3B: 128 experts of which eight are chosen."""
    return _published("Qwen/Qwen3-30B-A3B")


def gpt_oss_20b() -> RepoSnapshot:
    """gpt-oss-20b: fused MXFP4 experts, attention sinks, alternating sliding windows."""
    return _published("openai/gpt-oss-20b")


def qwen3_next() -> RepoSnapshot:
    """Qwen3-Coder-Next: three gated-delta layers for each of full attention, 512 experts."""
    return _published("Qwen/Qwen3-Coder-Next")


def deepseek_r1() -> RepoSnapshot:
    """DeepSeek-R1: multi-head latent attention, 256 FP8 experts, a layer that drafts."""
    return _published("deepseek-ai/DeepSeek-R1")
