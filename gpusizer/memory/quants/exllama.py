"""Architectures that ExLlamaV2 (EXL2) and ExLlamaV3 (EXL3) run.

`data/exllama_architectures.csv` lists the model types of the classes that each recognises, with its
source.
"""

from __future__ import annotations

from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.memory.quants.table import Quant
from gpusizer.model.profile import ModelProfile

_FORMATS = ("exl2", "exl3")
_PART = "_text"  # model types of the language part of a multimodal model


def exllama_runs(quant: Quant, profile: ModelProfile) -> bool:
    """Return whether an EXL quantization of the model would run; True for other formats.

    Also True for a checkpoint that exists in that format.
    """
    kind = quant.slug.partition("-")[0]
    stored = profile.quantization
    if kind not in _FORMATS or (stored is not None and stored.method in _FORMATS):
        return True
    # Any other is refused (ExLlamaV3) or taken for a Llama with a warning (ExLlamaV2,
    # `architecture.py`), which fails with experts or a latent attention.
    arch = profile.architecture
    return arch is not None and (kind, arch.model_type.removesuffix(_PART)) in recognised()


@cache
def recognised() -> frozenset[tuple[str, str]]:
    """Return format and model type of every row. Raise MalformedTable."""
    rows = read_table(
        DATA_DIR / "exllama_architectures.csv",
        lambda row: (row.text("format"), row.text("model_type")),
    )
    return frozenset(rows)
