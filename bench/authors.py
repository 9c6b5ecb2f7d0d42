"""Frequency of authors' claims above or below the need: claims with a source, judged as in answers.

`data/card_claims.jsonl` has one claim a line: the model, the address of the claim, and the claim as
a statement of a model card (docs/model_cards.md). Models are those with a snapshot. `python -m
bench.accuracy --write-docs` publishes the verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bench.measurements import load_profile
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.time_budget import TimeBudget
from gpusizer.gpus import load_catalogue
from gpusizer.hub.card_statements import ModelCardStatement
from gpusizer.usecases.model_card.asking import Asking
from gpusizer.usecases.model_card.verdicts import judge
from gpusizer.usecases.requests.request import SizeRequest

CLAIMS = DATA_DIR / "card_claims.jsonl"

# a claim keeps its facts, not the author's sentence
_FACTS = {"line": 0, "last_line": 0, "quote": "", "is_requirement": True}


def author_rows() -> list[dict[str, Any]]:
    """Return every claim with its verdict and the reason, as `accuracy.json` holds them."""
    catalogue = load_catalogue()
    rows = []
    for claim in _claims():
        statement = ModelCardStatement.from_json({**_FACTS, **claim["statement"]})
        request = SizeRequest(model=claim["repo_id"])
        profile = load_profile(claim["repo_id"])
        judged = judge(statement, Asking(profile, catalogue, request, TimeBudget()))
        rows.append(
            {
                "model": claim["repo_id"],
                "claim": claim_text(statement),
                "verdict": judged.verdict.value,
                "reason": judged.reason.to_json(),
                "source_url": claim["source_url"],
            }
        )
    return rows


def _claims() -> Iterator[dict[str, Any]]:
    for line in CLAIMS.read_text("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def claim_text(statement: ModelCardStatement) -> str:
    """Write a claim in figures, which need no language: "4 × H100, bf16"."""
    parts = []
    if statement.gpu is not None:
        parts.append(f"{statement.count or 1} × {statement.gpu}")
    elif statement.vram_gb_per_gpu is not None:
        parts.append(f"{statement.count or 1} × {statement.vram_gb_per_gpu:g} GB")
    elif statement.vram_gb is not None:
        high = f"–{statement.vram_gb_high:g}" if statement.vram_gb_high else ""
        parts.append(f"{statement.vram_gb:g}{high} GB")
    if statement.quant is not None:
        parts.append(statement.quant)
    if statement.bits is not None:
        parts.append(f"{statement.bits:g} bit")
    if statement.context is not None:
        parts.append(f"{statement.context:,} tokens")
    return ", ".join(parts)
