"""What to ask for before anything is known, by a model's name alone. Pure.

One request sent along with the first spares a round trip when it is the right one: the
header of `model.safetensors`, or all headers of a sharded model. Of 301 well-known
repositories, 163 of the 168 safetensors ones that name 4 billion parameters or more are
sharded; the other 5 name a quantization too.
"""

from __future__ import annotations

import re
from typing import Literal

from gpusizer.snapshot import RepoSnapshot

Guess = Literal["single", "sharded", "neither"]

_BILLIONS = re.compile(r"(?<![a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)b(?![a-z0-9])")
_OTHER_FORMATS = re.compile(r"gguf|(?<![a-z])(?:q?lora|adapter)(?![a-z])")
_QUARTER_SIZE = re.compile(r"[48][-_]?bit|int[48]|awq|gptq|bnb|w4a16|nvfp4|fp4|exl[23]")
# transformers cuts files at 5 GB unless told otherwise; 4 billion parameters have 8 GB in BF16.
_SHARDED_FROM = 4.0
_SHARDED_FROM_QUANTIZED = 14.0


def first_guess(repo_id: str) -> Guess:
    """How the weights are probably stored; "single" where the name says nothing."""
    name = repo_id.rpartition("/")[2].lower()
    if _OTHER_FORMATS.search(name):
        return "neither"
    sizes = [float(size) * int(times or 1) for times, size in _BILLIONS.findall(name)]
    threshold = _SHARDED_FROM_QUANTIZED if _QUARTER_SIZE.search(name) else _SHARDED_FROM
    return "sharded" if max(sizes, default=0.0) >= threshold else "single"


def guess_from(snapshot: RepoSnapshot) -> Guess:
    """How the weights were stored when this copy was made."""
    if snapshot.format != "safetensors" or len(snapshot.components) != 1:
        return "neither"
    return "sharded" if len(snapshot.components[0].files) > 1 else "single"
