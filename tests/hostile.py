"""A repository whose every text field tries to break out of the page."""

from __future__ import annotations

from gpusizer.hub.published_results import PublishedResult
from gpusizer.hub.snapshot import Component, RepoSnapshot
from tests.builders import group, snapshot

SCRIPT = "<script>window.pwned=1</script>"
IMAGE = '"><img src=x onerror="window.pwned=1">'
TEMPLATES = "${window.pwned=1} {{window.pwned=1}} `${1}`"
LINK = "javascript:window.pwned=1"
HOSTILE_MODEL = "hostile/model"
BROKEN_MODEL = "broken/model"
LIMITED_MODEL = "limited/model"
LIMITED_SECONDS = 6.5
VISITORS_MODEL, VISITORS_TOKEN = "visitor/private-model", "hf_of_a_visitor"

ATTACKS = (SCRIPT, IMAGE, TEMPLATES, LINK)


def hostile_snapshot(repo_id: str = HOSTILE_MODEL) -> RepoSnapshot:
    """Return a tiny language model described with hostile words."""
    config = {
        "model_type": SCRIPT + TEMPLATES,
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "vocab_size": 128,
        "max_position_embeddings": 4096,
        "quantization_config": {"quant_method": IMAGE, "bits": 4},
    }
    tensors = (
        group("model.layers.{}.self_attn.q_proj.weight", (64, 64), range(2)),
        group("model.embed_tokens.weight", (128, 64)),
    )
    base = snapshot(tensors, config)
    return snapshot(
        tensors,
        config,
        repo_id=repo_id,
        revision=IMAGE,
        sha=SCRIPT,
        retrieved_at=TEMPLATES,
        license=IMAGE,
        library=TEMPLATES,
        pipeline_tag=SCRIPT,
        base_models=(LINK,),
        published_results=(
            PublishedResult(
                benchmark=SCRIPT,
                value=20.9,
                by="community",
                task=IMAGE,
                metric=TEMPLATES,
                source_name=SCRIPT,
                source_url=f"https://example.org/{IMAGE}",
                notes=LINK,
            ),
        ),
        uncounted_files=base.components[0].files,
        components=(
            base.components[0],
            Component(SCRIPT, None, base.components[0].files, tensors),
        ),
    )
