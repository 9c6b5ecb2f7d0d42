"""github.com/hemgo-lexsi/gpu-price-dashboard, `data/prices.json`: providers' APIs and list prices.

    {"generated_at": "2026-08-25T02:21:11Z",
     "prices": [{"provider": "RunPod", "provider_type": "neocloud", "gpu": "RTX A2000",
                 "vram_gb": 6, "billing": "community", "region": "Global (lowest)",
                 "usd_per_hr": 0.12, "num_gpus": 1, "fetched_at": "…"}, …]}

`usd_per_hr` is for one GPU. Billing is on-demand, spot, or RunPod's community and secure clouds,
both on demand.
"""

from __future__ import annotations

import json

from gpusizer.core.loose_values import JsonObject
from scripts.prices.rows import PriceRow, readable

NAME = "gpu-price-dashboard"
PATH = "/hemgo-lexsi/gpu-price-dashboard/HEAD/data/prices.json"


def shape(body: bytes, today: str) -> list[PriceRow]:
    """Parse the rows; a few may lack a number.

    Raises ValueError, KeyError or TypeError for a file of another format.
    """
    data = json.loads(body)
    generated = data["generated_at"][:10]
    rows = readable(data["prices"], lambda entry: _row(entry, generated))
    lowest: dict[tuple[str, str, bool], PriceRow] = {}
    for row in rows:
        key = (row.provider, row.label, row.spot)
        if row.marketplace and (
            key not in lowest or row.usd_per_gpu_hour < lowest[key].usd_per_gpu_hour
        ):
            lowest[key] = row
    return [row for row in rows if not row.marketplace] + list(lowest.values())


def _row(entry: JsonObject, generated: str) -> PriceRow:
    region = " ".join(str(entry["region"]).replace(",", " ").split())
    return PriceRow(
        label=f"{entry['gpu']} {float(str(entry['vram_gb'])):g}GB",
        provider=str(entry["provider"]),
        marketplace=entry["provider_type"] == "marketplace",
        offer=f"{entry['billing']}; {region}",
        gpus=int(float(str(entry["num_gpus"]))),
        usd_per_gpu_hour=round(float(str(entry["usd_per_hr"])), 4),
        spot=entry["billing"] == "spot",
        date=str(entry.get("fetched_at") or generated)[:10],
        source=NAME,
    )
