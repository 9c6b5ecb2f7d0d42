"""A repository with a model card that says something of every kind."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.readme.model_card import read_card
from tests.sizers import embedded_sizer

CARDED_MODEL = "carded/Qwen3-8B"
CARD = """\
---
license: apache-2.0
---
# Qwen3-8B <img src=x onerror=alert(1)>

- **Context length:** 40,960 tokens
- It fits on a single RTX 4090 <script>alert(1)</script>.

It requires at least 90 GB of GPU memory. ![picture](http://elsewhere.example/x.png)

The model was trained on 64 A100.

```bash
vllm serve carded/Qwen3-8B --tensor-parallel-size 2 --max-model-len 32768
```
"""


def carded_snapshot() -> RepoSnapshot:
    """Return an embedded model with that card."""
    url = f"https://huggingface.co/{CARDED_MODEL}/blob/main/README.md"
    snapshot = embedded_sizer().fetch(ModelRef("Qwen/Qwen3-8B"))
    card = read_card(CARD.encode(), CARDED_MODEL, url)
    return replace(snapshot, repo_id=CARDED_MODEL, card=card)
