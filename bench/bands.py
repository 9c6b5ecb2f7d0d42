"""Writes `data/generated/bands.csv`: where measured values lie around the predicted ones.

    python -m bench.bands [--write]

One row per component and family of versions of vLLM: the 5th and 95th percentile of measured
less answered, as a share of the answer or in GiB. Left out are runs under circumstances that
no request can state (adapters, a trainer or other tenants beside the engine).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import pandas as pd

from bench import serving
from bench.errors import between_tails
from bench.first_contact import not_fitted_on
from bench.measurements import Row, load
from gpusizer.core.units import GIB
from gpusizer.memory.engines.bands import ANY, TABLE
from gpusizer.memory.engines.vllm.eras import era_of

UNITS = {"weights": "share", "activations": "gib", "non_torch": "gib", "graphs": "share"}
FEWEST = 8
"""Measurements that make a row of their own."""

_TAIL = 0.05
_NOISY_GRAPHS = ((0, 10, 0), (0, 18, 0))  # versions that printed a difference of free memory
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
        for comparison in serving.compare(row):
            component = comparison.component
            key = (component, comparison.dup_group)
            noisy = _NOISY_GRAPHS[0] <= era.since < _NOISY_GRAPHS[1] and component == "graphs"
            if component in UNITS and not noisy and key not in seen:
                seen.add(key)
                scale = comparison.predicted if UNITS[component] == "share" else GIB
                residual = comparison.measured - comparison.predicted
                yield era.family, component, residual / scale


if __name__ == "__main__":
    main()
