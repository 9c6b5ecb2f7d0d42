"""GPU cores of a chip that was sold with several numbers: "M4 Pro 24GB (16 cores)"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.tables import toml_of
from gpusizer.gpus.gpu import Gpu

_SOLD: Mapping[str, Sequence[int]] = toml_of(__file__)
_UNIT = r"(?:[- ]?cores?|c|[- ]?n[uú]cleos?|核心?)"
_CORES = re.compile(
    rf"\(? ?(?<![\w.])(?P<count>\d{{1,3}}){_UNIT}(?![a-z\d])(?P<part>[- ]?(?:gpu|cpu))? ?\)?",
    re.IGNORECASE,
)


def split_cores(text: str) -> tuple[str, tuple[int, ...]]:
    """Split a name into the rest and its numbers of cores, without CPU cores.

    >>> split_cores("M1 Max 10-core CPU 24-core GPU 32GB")
    ('M1 Max 32GB', (24,))
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    matches = list(_CORES.finditer(plain))
    counts = tuple(
        int(match["count"]) for match in matches if "cpu" not in (match["part"] or "").casefold()
    )
    return " ".join(_CORES.sub(" ", plain).split()) if matches else text, counts


def cores_sold(gpu: Gpu) -> tuple[int, ...]:
    """Return the numbers of GPU cores that a chip was sold with at this memory, () if unknown."""
    counts = _SOLD.get(gpu.slug) or _SOLD.get(gpu.slug.rpartition("-")[0])
    own = () if gpu.compute_units is None else (gpu.compute_units,)
    return own if counts is None else tuple(counts)


def with_cores(gpu: Gpu, count: int) -> Gpu:
    """Return the chip with `count` GPU cores: its rates scale, its bandwidth does not.

    Raises InvalidRequest for a number that the chip was not sold with.
    """
    sold, own = cores_sold(gpu), gpu.compute_units
    if own is None or count not in sold:
        raise InvalidRequest(
            field="gpu",
            value=f"{gpu.slug}: {count}",
            reason="gpu_cores_not_sold",
            gpu=gpu.name,
            cores=", ".join(map(str, sold)),
        )
    if count == own:
        return gpu
    share = count / own
    rates = {
        name: rate * share
        for name in ("fp32_flops", "fp16_vector_flops", "fp16_tensor_flops")
        if (rate := getattr(gpu, name)) is not None
    }
    shaders = None if gpu.shader_cores is None else round(gpu.shader_cores * share)
    name = f"{gpu.name} ({count} cores)"
    return replace(gpu, name=name, compute_units=count, shader_cores=shaders, **rates)


def taken_cores(gpu: Gpu) -> Note | None:
    """Return a note that the chip was also sold with fewer cores, or None."""
    own = gpu.compute_units or 0
    fewer = [count for count in cores_sold(gpu) if count < own]
    return Note("cores_taken", gpu=gpu.name, cores=own, fewer=fewer[-1]) if fewer else None
