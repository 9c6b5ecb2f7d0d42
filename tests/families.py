"""Published models whose tensors differ from Llama's, as they are embedded."""

from __future__ import annotations

from functools import partial

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.stored import EmbeddedSnapshots

_EMBEDDED = EmbeddedSnapshots(SNAPSHOTS_DIR)


def _published(repo_id: str) -> RepoSnapshot:
    snapshot = _EMBEDDED.get(repo_id)
    assert snapshot is not None, repo_id
    return snapshot


gpt2 = partial(_published, "openai-community/gpt2")
"""GPT-2: [in, out] matrices, causal masks stored as buffers, no stored head."""
gemma3_1b = partial(_published, "google/gemma-3-1b-it")
"""Gemma 3 1B: five sliding layers for each full one, and no stored head."""
mixtral = partial(_published, "mistralai/Mixtral-8x7B-v0.1")
"""Mixtral-8x7B: eight experts of which two are chosen."""
qwen3_moe = partial(_published, "Qwen/Qwen3-30B-A3B")
"""Qwen3-30B-A3B: 128 experts of which eight are chosen."""
gpt_oss_20b = partial(_published, "openai/gpt-oss-20b")
"""gpt-oss-20b: fused MXFP4 experts, attention sinks, alternating sliding windows."""
qwen3_next = partial(_published, "Qwen/Qwen3-Coder-Next")
"""Qwen3-Coder-Next: three gated-delta layers for each of full attention, 512 experts."""
deepseek_r1 = partial(_published, "deepseek-ai/DeepSeek-R1")
"""DeepSeek-R1: multi-head latent attention, 256 FP8 experts, a layer that drafts."""
