"""Writes `data/generated/bands.csv`: where measured values lie around the predicted ones.

    python -m bench.bands [--write]

One row per component and family of versions of vLLM: the 5th and 95th percentile of measured
less predicted, as a share of the prediction or in GiB. Left out are runs under circumstances that
no request can state (adapters, a trainer or other tenants beside the engine).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import pandas as pd

from bench import serving
from bench.errors import between_tails
from bench.first_contact import not_fitted_on
from bench.front_door import catalogue, gpu_of
from bench.measurements import Row, load, load_profile
from gpusizer.core.units import GB, GIB
from gpusizer.memory.engines.bands import ANY, TABLE
from gpusizer.memory.engines.vllm.eras import era_of

UNITS = {"weights": "share", "activations": "gib", "non_torch": "gib", "graphs": "share"}
FEWEST = 8
"""Measurements that make a row of their own."""

_TAIL = 0.05
_NOISY_GRAPHS = ((0, 10, 0), (0, 18, 0))  # versions that printed a difference of free memory
_TWO_SAMPLERS = ((0, 8, 0), (0, 11, 1))  # versions that took FlashInfer's where it was installed
_HEAD = ("engine", "family", "component", "unit", "low", "high", "n")


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(prog="python -m bench.bands")
    parser.add_argument("--write", action="store_true")
    text = table(load())
    if parser.parse_args().write:
        TABLE.write_text(text, "utf-8")
    else:
        print(text, end="")


def table(rows: Iterable[Row]) -> str:
    """The file's text."""
    residuals = pd.DataFrame(_residuals(rows), columns=["family", "component", "residual"])
    residuals = pd.concat([residuals, residuals.assign(family=ANY)])
    lines = []
    for (family, component), group in residuals.groupby(["family", "component"]):
        if len(group) >= FEWEST:
            low, high = between_tails(group["residual"], _TAIL)
            unit = UNITS[str(component)]
            ends = (f"{min(0.0, low):.4f}", f"{max(0.0, high):.4f}")
            lines.append(("vllm", family, component, unit, *ends, len(group)))
    return pd.DataFrame(lines, columns=_HEAD).to_csv(index=False, lineterminator="\n")


def _residuals(rows: Iterable[Row]) -> Iterator[tuple[str, str, float]]:
    """(family of versions, component, measured less predicted in the component's unit).

    Only of vLLM's rows that a request could have stated; repeats of a configuration count once.
    """
    seen = set()
    for row in rows:
        if row["kind"] != "serving" or row["engine"] != "vllm":
            continue
        if serving.apart(row) or row["id"] in not_fitted_on():
            continue
        era = era_of(serving.fields_of(row)["engine_version"])
        for comparison in serving.compare(completed(row)):
            component = comparison.component
            key = (component, comparison.dup_group)
            if component in UNITS and key not in seen and not _tells_nothing(row, component):
                seen.add(key)
                scale = comparison.predicted if UNITS[component] == "share" else GIB
                residual = comparison.measured - comparison.predicted
                yield era.family, component, residual / scale


def _tells_nothing(row: Row, component: str) -> bool:
    """Whether the amount says nothing of the formula: graphs of versions that printed noise, and
    peaks of versions in which either of two samplers may have run and no source says which."""
    era = era_of(serving.fields_of(row)["engine_version"])
    if component == "graphs":
        return _NOISY_GRAPHS[0] <= era.since < _NOISY_GRAPHS[1]
    either = _TWO_SAMPLERS[0] <= era.since < _TWO_SAMPLERS[1]
    return component == "activations" and either and "sampler" not in row


def completed(row: Row) -> Row:
    """The row with what its source left to the engine: the longest context; and a card of the size
    that it names."""
    return {
        **row,
        "gpu": gpu_of(row) or alike(row),
        "max_model_len": row.get("max_model_len") or load_profile(row["profile"]).max_context,
    }


def alike(row: Row) -> str | None:
    """A card like the one of a source that names a size only: NVIDIA's or AMD's data-center card
    with the nearest memory.

    vLLM's own limits go by the size of a card. None where the source names no size either.
    """
    wanted = row.get("gpu_memory_bytes") or row.get("gpu_class_gb", 0) * GB
    vendor = "AMD" if row.get("gpu", "").startswith("AMD") else "NVIDIA"
    cards = [
        gpu
        for gpu in catalogue().gpus
        if (gpu.vendor, gpu.segment, gpu.devices_per_board) == (vendor, "datacenter", 1)
        and "A100" not in gpu.name  # vLLM knows it by its name
    ]
    return min(cards, key=lambda gpu: abs(gpu.memory_bytes - wanted)).slug if wanted else None


if __name__ == "__main__":
    main()
