"""Models that older releases of vLLM run and newer ones refuse."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table


@cache
def last_releases() -> Mapping[str, str]:
    """Return the last release that runs a class of models, by its name in configurations.

    Classes that newer releases run by Transformers are not among them.
    """
    rows = read_table(
        DATA_DIR / "vllm_dropped_models.csv",
        lambda row: (row.text("class"), row.text("last_release")),
    )
    return dict(rows)
