"""Models that engines have code for, where that is a closed list.

Servers on PyTorch are not listed: they run a class that they do not know by Transformers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.memory.quants.exllama import recognised

READ_AT: Mapping[str, str] = {
    "gguf": "llama.cpp 0c1e570",
    "mlx": "mlx-lm 0.32",
    "exllama": "ExLlamaV2 0.3.2, ExLlamaV3 1.5.0",
}
"""Release in which the list of a reader was read."""


@cache
def known_models() -> Mapping[str, frozenset[str]]:
    """Return names by reader: classes of a file format, model types of an engine."""
    by_reader: defaultdict[str, set[str]] = defaultdict(set)
    for reader, name in read_table(
        DATA_DIR / "engine_models.csv", lambda row: (row.text("reader"), row.text("name"))
    ):
        by_reader[reader].add(name)
    by_reader["exllama"] = {model_type for _, model_type in recognised()}
    return {reader: frozenset(names) for reader, names in by_reader.items()}
