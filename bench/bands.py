"""Writes `data/bands.csv`: where measured values lie around the predicted ones.

    python -m bench.bands [--write]

One row per component and family of versions of vLLM: the 5th and 95th percentile of measured
less predicted, as a share of the prediction or in GiB. Left out are runs under circumstances that
no request can state (adapters, a trainer or other tenants beside the engine).
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Iterator

from bench import serving
from bench.comparison import Comparison
from bench.measurements import Row, load
from gpusizer.engines.bands import ANY, TABLE
from gpusizer.engines.vllm.eras import era_of
from gpusizer.units import GIB

UNITS = {"weights": "share", "activations": "gib", "non_torch": "gib", "graphs": "share"}
FEWEST = 8
"""Measurements that make a row of their own."""

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
    residuals: dict[tuple[str, str], list[float]] = {}
    for family, one in _measured(rows):
        residual = one.measured - one.predicted
        scale = one.predicted if UNITS[one.component] == "share" else GIB
        for key in ((family, one.component), (ANY, one.component)):
            residuals.setdefault(key, []).append(residual / scale)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEAD)
    for (family, component), values in sorted(residuals.items()):
        if len(values) >= FEWEST:
            low, high = min(0.0, percentile(values, 5)), max(0.0, percentile(values, 95))
            unit = UNITS[component]
            writer.writerow(("vllm", family, component, unit, f"{low:.4f}", f"{high:.4f}",
                             len(values)))  # fmt: skip
    return out.getvalue()


def _measured(rows: Iterable[Row]) -> Iterator[tuple[str, Comparison]]:
    """Comparisons of vLLM's rows that a request could have stated, with their family.

    Repeats of a configuration count once.
    """
    seen = set()
    for row in rows:
        if row["kind"] != "serving" or row["engine"] != "vllm":
            continue
        if serving.UNASKABLE & set(row.get("flags", ())):
            continue
        era = era_of(serving.workload_of(row).engine_version)
        for one in serving.compare(row):
            key = (one.component, one.dup_group)
            noisy = _NOISY_GRAPHS[0] <= era.since < _NOISY_GRAPHS[1] and one.component == "graphs"
            if one.component in UNITS and not noisy and key not in seen:
                seen.add(key)
                yield era.family, one


def percentile(values: list[float], percent: int) -> float:
    """By nearest rank, rounded away from the middle: a value that occurred."""
    ordered = sorted(values)
    if percent < 50:
        return ordered[len(ordered) * percent // 100]
    return ordered[-(-len(ordered) * percent // 100) - 1]


if __name__ == "__main__":
    main()
