"""github.com/sipeed/llmdev.guide, `docs/data/devices.json`: devices for models, with prices.

    [{"id": "nvidia-rtx-5090-32gb", "name": "NVIDIA GeForce RTX 5090", "device_type": "GPU",
      "memory_capacity_gb": 32, "price_usd": 3999, "date": "2026-03-28",
      "_source_file": "nvidia-rtx-5090-32gb.md", …}, …]

A price is its author's reference, of the day of the entry; the file does not say whether the
device was new. Entries without a price are skipped.
"""

from __future__ import annotations

import json

from gpusizer.core.loose_values import JsonObject
from scripts.prices.rows import PurchaseRow

NAME = "llmdev.guide"
PATH = "/sipeed/llmdev.guide/HEAD/docs/data/devices.json"
_PAGE = "https://github.com/sipeed/llmdev.guide/blob/main/devices/"


def shape(body: bytes, today: str) -> list[PurchaseRow]:
    """Parse the devices with a price. Raises ValueError, KeyError or TypeError for other files."""
    return [_row(entry) for entry in json.loads(body) if entry.get("price_usd") is not None]


def _row(entry: JsonObject) -> PurchaseRow:
    return PurchaseRow(
        label=str(entry["id"]),
        usd=round(float(str(entry["price_usd"])), 2),
        date=str(entry["date"])[:10],
        source=NAME,
        address=_PAGE + str(entry["_source_file"]),
    )
