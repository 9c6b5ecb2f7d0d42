"""Kinds of models by one name: GGUF files spell some of them unlike configurations do.

Rows of data/gguf_architectures.csv, for the models that rules are about; most others have one
spelling or none that a rule knows.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache

from gpusizer.paths import DATA_DIR


@cache
def spellings() -> Mapping[str, str]:
    """`general.architecture` of GGUF files -> model_type of configurations."""
    with (DATA_DIR / "gguf_architectures.csv").open(encoding="utf-8", newline="") as file:
        return {row["architecture"]: row["model_type"] for row in csv.DictReader(file)}


def model_type_of(name: str) -> str:
    """The model_type that a name of either kind means; itself where it has one spelling.

    >>> model_type_of("gptneox"), model_type_of("gpt_neox")
    ('gpt_neox', 'gpt_neox')
    """
    return spellings().get(name, name)
