"""The accuracy in the documents equals that of the benchmark now."""

from __future__ import annotations

import json

from bench.accuracy_table import (
    load_accuracy,
)
from bench.authors import CLAIMS
from bench.publication import (
    DOCUMENT,
    README,
    document,
    with_headline,
)

STALE = "run: python -m bench.accuracy --write-docs"


def test_the_documents_show_the_published_table() -> None:
    readme = README.read_text("utf-8")
    assert readme == with_headline(readme, load_accuracy()), STALE
    assert DOCUMENT.read_text("utf-8") == document(load_accuracy()), STALE


def test_claims_of_authors_are_facts_with_an_address() -> None:
    claims = [json.loads(line) for line in CLAIMS.read_text("utf-8").splitlines()]
    assert all(claim["source_url"].startswith("https://") for claim in claims)
    assert not [claim for claim in claims if "quote" in claim["statement"]]
    assert len(load_accuracy().authors) == len(claims)
