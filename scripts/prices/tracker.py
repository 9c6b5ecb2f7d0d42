"""github.com/cherielilili/gpu-pricing-tracker, `data/observations.csv`: providers' price pages.

    date,provider,gpu_model,gpu_count,region,rental_type,price_min_usd,price_median_usd,
    price_max_usd,n_offers,source_url,fetched_at
    2026-05-29,lambda,H100_SXM,1,us,on_demand,3.99,4.19,4.29,4,https://lambda.ai/…,2026-…

Lines are added every day, 20 to 60 kB, in the order of days. Only the newest day counts, so that
the end of the file is read.
"""

from __future__ import annotations

import csv
import io

from scripts.prices.rows import PriceRow, readable

NAME = "gpu-pricing-tracker"
# Bytes of the file's end: a month or more.
TAIL_BYTES = 2_000_000
PATH = "/cherielilili/gpu-pricing-tracker/HEAD/data/observations.csv"

_PROVIDERS = {"lambda": "Lambda", "crusoe": "Crusoe", "sfcompute": "SF Compute"}
# The tracker's models, as data/rental_labels.csv names them; any other keeps its name.
_LABELS = {
    "A100_PCIE_40GB": "A100 PCIe 40GB",
    "A100_PCIE_80GB": "A100 PCIe 80GB",
    "A100_SXM_40GB": "A100 SXM 40GB",
    "A100_SXM_80GB": "A100 SXM 80GB",
    "B200": "B200 180GB",
    "B300": "B300 288GB",
    "GB200": "GB200 186GB",
    "GH200": "GH200 96GB",
    "H100_NVL": "H100 94GB",
    "H100_PCIE": "H100 PCIe 80GB",
    "H100_SXM": "H100 SXM 80GB",
    "H200": "H200 141GB",
    "L40": "L40 48GB",
    "L40S": "L40S 48GB",
    "MI300X": "MI300X 192GB",
    "MI325X": "MI325X 256GB",
    "MI355X": "MI355X 288GB",
    "RTX_4090": "RTX 4090 24GB",
    "RTX_5090": "RTX 5090 32GB",
    "RTX_PRO_6000": "RTX 6000 Pro 96GB",
}


def shape(body: bytes, today: str) -> list[PriceRow]:
    """Parse the rows of the newest day. Raises ValueError or KeyError for another format."""
    lines = list(csv.DictReader(io.StringIO(body.decode("utf-8"))))
    newest = max(line["date"] for line in lines)
    # A price of several GPUs is for one or for all, depending on the provider, so that only single
    # GPUs are read. Only three providers are read: the others are in the dashboard, and this file
    # lists Nebius' preemptible prices as on demand.
    read = [
        line
        for line in lines
        if line["date"] == newest and line["provider"] in _PROVIDERS and line["gpu_count"] == "1"
    ]
    return readable(read, _row)


def _row(line: dict[str, str]) -> PriceRow:
    return PriceRow(
        label=_LABELS.get(line["gpu_model"], line["gpu_model"]),
        provider=_PROVIDERS[line["provider"]],
        marketplace=False,
        offer=f"{line['rental_type'].replace('_', '-')}; {line['region']}",
        gpus=1,
        usd_per_gpu_hour=float(line["price_median_usd"]),
        spot=line["rental_type"] == "spot",
        date=line["date"],
        source=NAME,
    )
