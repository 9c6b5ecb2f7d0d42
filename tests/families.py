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


gpt2 = partial(_published, "openai-community/gpt2")  #
gemma3_1b = partial(_published, "google/gemma-3-1b-it")  #

# Mixtral-8x7B: eight experts, two of them chosen
mixtral = partial(_published, "mistralai/Mixtral-8x7B-v0.1")

# Qwen3-30B-A3B: 128 experts, eight of them chosen
qwen3_moe = partial(_published, "Qwen/Qwen3-30B-A3B")
gpt_oss_20b = partial(_published, "openai/gpt-oss-20b")  #
qwen3_next = partial(_published, "Qwen/Qwen3-Coder-Next")  #
deepseek_r1 = partial(_published, "deepseek-ai/DeepSeek-R1")  #
