"""Published parameter counts of checkpoints whose tensors are packed in every usual way."""

from __future__ import annotations

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.model.profile import build_profile
from scrapers.embedded import EmbeddedSnapshots
from tests.each import each

# The truth set of huggingface.js, packages/hub/src/lib/parse-safetensors-metadata.spec.ts.
COUNTS = {
    "openai/gpt-oss-120b": 116_829_156_672,
    "openai/gpt-oss-20b": 20_914_757_184,
    "unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit": 8_030_261_248,
    "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16": 70_553_706_496,
    "bigscience/bloom": 176_247_271_424,
}


@each("repo_id", COUNTS)
def test_published_counts(repo_id: str) -> None:
    snapshot = EmbeddedSnapshots(SNAPSHOTS_DIR).get(repo_id)
    assert snapshot is not None
    assert build_profile(snapshot).parameters == COUNTS[repo_id]
