"""Writes `data/generated/bands.csv`: measured values relative to predicted ones.

    python -m bench.bands [--write]

One row per component and family of versions of vLLM: the 5th and 95th percentile of measured less
answered, as a share of the answer or in GiB. Left out are runs under circumstances that no request
can state (adapters, a trainer or other tenants next to the engine).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import pandas as pd

from bench import start_up_logs
from bench.errors import between_tails
from bench.first_contact import not_fitted_on
from bench.front_door import gpu_of
from bench.measurements import Row, load
from gpusizer.core.units import GIB
from gpusizer.memory.engines.bands import ANY, TABLE
from gpusizer.memory.engines.vllm.releases import vllm_release

UNITS = {"weights": "share", "activations": "gib", "non_torch": "gib", "graphs": "share"}
FEWEST = 8  # fewest measurements for a row of a family of versions

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
    """Return the text of the file."""
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
    counted_keys = set()
    for row in rows:
        if row["kind"] != "serving" or row["engine"] != "vllm":
            continue
        if start_up_logs.apart(row) or row["id"] in not_fitted_on() or _is_unnamed_amd_card(row):
            continue
        release = vllm_release(start_up_logs.fields_of(row)["engine_version"])
        for comparison in start_up_logs.compare(row):
            component = comparison.component
            key = (component, comparison.dup_group)
            is_new = component in UNITS and key not in counted_keys
            if is_new and not _is_uninformative(row, component):
                counted_keys.add(key)
                scale = comparison.predicted if UNITS[component] == "share" else GIB
                residual = comparison.measured - comparison.predicted
                yield release.family, component, residual / scale


def _is_unnamed_amd_card(row: Row) -> bool:
    # Without a card an answer assumes CUDA: HIP's libraries next to the weights are no error of
    # that formula.
    return row.get("gpu", "").startswith("AMD") and gpu_of(row) is None


def _is_uninformative(row: Row, component: str) -> bool:
    # Graphs of some versions were printed with noise, and in others either of two samplers may have
    # run without a source that names it.
    release = vllm_release(start_up_logs.fields_of(row)["engine_version"])
    if component == "graphs":
        return _NOISY_GRAPHS[0] <= release.since < _NOISY_GRAPHS[1]
    either = _TWO_SAMPLERS[0] <= release.since < _TWO_SAMPLERS[1]
    return component == "activations" and either and "sampler" not in row


if __name__ == "__main__":
    main()
