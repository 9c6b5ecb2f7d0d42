"""github.com/skypilot-org/skypilot-catalog, `catalogs/v9/lambda/vms.csv`: Lambda's instances.

    InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
    gpu_4x_a6000,A6000,4.0,56.0,400.0,4.36,us-east-1,"{'Gpus': [{… 'SizeInMiB': 49152}}], …}",

A price is for the machine and repeats for every region. The file has no date: rows get the day
it was read. Only cards that the tracker's page does not list are read.
"""

from __future__ import annotations

import csv
import io
import re

from scripts.prices.rows import PriceRow, readable

NAME = "skypilot-catalog"
PATH = "/skypilot-org/skypilot-catalog/HEAD/catalogs/v9/lambda/vms.csv"

_READ = frozenset({"A6000", "V100"})
_MEMORY = re.compile(r"'SizeInMiB': (\d{1,7})\b")


def shape(body: bytes, today: str) -> list[PriceRow]:
    """Parse one row for each kind of machine. Raises ValueError or KeyError for another format."""
    lines = csv.DictReader(io.StringIO(body.decode("utf-8")))
    read = [line for line in lines if line["AcceleratorName"] in _READ]
    rows: dict[tuple[str, int], PriceRow] = {}
    for row in readable(read, lambda line: _row(line, today)):
        rows.setdefault((row.label, row.gpus), row)
    return list(rows.values())


def _row(line: dict[str, str], today: str) -> PriceRow:
    memory = _MEMORY.search(line["GpuInfo"])
    if memory is None:
        raise ValueError(f"no memory in {line['GpuInfo'][:80]!r}")
    gpus = int(float(line["AcceleratorCount"]))
    return PriceRow(
        label=f"{line['AcceleratorName']} {int(memory[1]) // 1024}GB",
        provider="Lambda",
        marketplace=False,
        offer=line["InstanceType"],
        gpus=gpus,
        usd_per_gpu_hour=round(float(line["Price"]) / gpus, 4),
        spot=False,
        date=today,
        source=NAME,
    )
