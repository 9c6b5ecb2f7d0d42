"""The refresher of rental prices: parsers on fixtures, checks on bad rows, one run on loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.gpus.costs.rental import read_labels as slugs_of_labels
from gpusizer.gpus.costs.rental import read_offers
from gpusizer.gpus.purchase import read_listed_offers
from scrapers.client.http import HubSession
from scrapers.limits import Limits
from scripts.prices import dashboard, llmdev, skypilot, tracker
from scripts.prices.__main__ import main
from scripts.prices.checks import PURCHASE_BOUNDS_USD, PricesRefused, checked
from scripts.prices.rows import (
    PriceRow,
    PurchaseRow,
    read_labels,
    read_rows,
    write_rows,
)
from scripts.prices.sources import SOURCES, fetch

TODAY = "2026-11-20"
ROW = PriceRow("RTX 4090 24GB", "A", False, "on-demand", 1, 0.5, False, "2026-11-01", "s")
LABELS = frozenset({"RTX 4090 24GB"})


def entry(**facts: Any) -> dict[str, Any]:
    """Return a price of the dashboard."""
    defaults = {
        "provider": "RunPod",
        "provider_type": "neocloud",
        "gpu": "A6000",
        "vram_gb": 48,
        "billing": "secure",
        "region": "Global (lowest)",
        "usd_per_hr": 0.53,
        "num_gpus": 1,
        "fetched_at": "2026-11-19T02:21:11Z",
    }
    return {**defaults, **facts}


def device(label: str, **facts: Any) -> dict[str, Any]:
    """Return a device of llmdev.guide."""
    defaults = {
        "id": label,
        "name": "GeForce RTX 5090",
        "memory_capacity_gb": 32,
        "price_usd": 3999,
        "date": "2026-03-28",
        "_source_file": f"{label}.md",
    }
    return {**defaults, **facts}


VAST = {"provider": "Vast.ai", "provider_type": "marketplace", "billing": "on-demand"}
DASHBOARD = json.dumps(
    {
        "generated_at": "2026-11-19T02:21:11Z",
        "prices": [
            entry(),
            entry(provider="Verda", billing="spot", usd_per_hr=0.30505),
            entry(**VAST, usd_per_hr=0.31, region="Texas, US"),
            entry(**VAST, usd_per_hr=0.2874, region="South Korea, KR"),
        ],
    }
).encode()

OBSERVATIONS = b"""date,provider,gpu_model,gpu_count,region,rental_type,price_min_usd,\
price_median_usd,price_max_usd,n_offers,source_url,fetched_at
2026-11-18,lambda,H100_SXM,1,us,on_demand,3.9,3.9,3.9,1,https://x,2026-11-18T20:30:00+00:00
2026-11-19,lambda,H100_SXM,1,us,on_demand,3.99,4.19,4.29,4,https://x,2026-11-19T20:30:00+00:00
2026-11-19,lambda,H100_SXM,8,us,on_demand,3.99,3.99,3.99,1,https://x,2026-11-19T20:30:00+00:00
2026-11-19,sfcompute,H100_SXM,1,us,spot,1.96,1.96,1.96,1,https://x,2026-11-19T20:30:00+00:00
2026-11-19,nebius,H100_SXM,1,eu,on_demand,1.25,1.25,1.25,1,https://x,2026-11-19T20:30:00+00:00
"""

GPU_INFO = "\"{'Gpus': [{'Name': 'A6000', 'MemoryInfo': {'SizeInMiB': 49152}}]}\""
INSTANCES = f"""InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,\
SpotPrice
cpu_4x,,,4.0,16.0,0.2,us-east-1,,
gpu_4x_a6000,A6000,4.0,56.0,400.0,4.36,us-east-1,{GPU_INFO},
gpu_4x_a6000,A6000,4.0,56.0,400.0,4.36,us-west-1,{GPU_INFO},
gpu_1x_h100,H100,1.0,26.0,200.0,3.29,us-west-1,{GPU_INFO},
""".encode()


def test_the_dashboard_keeps_a_marketplaces_lowest_offer_alone() -> None:
    rows = dashboard.shape(DASHBOARD, TODAY)
    row_facts = [(r.provider, r.marketplace, r.spot, r.usd_per_gpu_hour, r.offer) for r in rows]
    assert row_facts == [
        ("RunPod", False, False, 0.53, "secure; Global (lowest)"),
        ("Verda", False, True, 0.305, "spot; Global (lowest)"),
        ("Vast.ai", True, False, 0.2874, "on-demand; South Korea KR"),
    ]
    assert {(r.label, r.date, r.source) for r in rows} == {
        ("A6000 48GB", "2026-11-19", "gpu-price-dashboard")
    }


def test_the_tracker_gives_single_gpus_of_the_newest_day() -> None:
    rows = tracker.shape(OBSERVATIONS, TODAY)
    row_facts = [(r.label, r.provider, r.spot, r.usd_per_gpu_hour, r.date) for r in rows]
    assert row_facts == [
        ("H100 SXM 80GB", "Lambda", False, 4.19, "2026-11-19"),
        ("H100 SXM 80GB", "SF Compute", True, 1.96, "2026-11-19"),
    ]


def test_instances_are_priced_per_gpu_once_for_all_regions() -> None:
    """Four A6000 for $4.36 are $1.09 each."""
    assert skypilot.shape(INSTANCES, TODAY) == [
        PriceRow(
            "A6000 48GB", "Lambda", False, "gpu_4x_a6000", 4, 1.09, False, TODAY, "skypilot-catalog"
        )
    ]


def test_llmdev_gives_a_reference_price_and_its_page() -> None:
    body = json.dumps([device("nvidia-rtx-5090-32gb"), device("pi", price_usd=None)]).encode()
    assert llmdev.shape(body, TODAY) == [
        PurchaseRow(
            label="nvidia-rtx-5090-32gb",
            usd=3999.0,
            date="2026-03-28",
            source="llmdev.guide",
            address="https://github.com/sipeed/llmdev.guide/blob/main/devices/"
            "nvidia-rtx-5090-32gb.md",
        )
    ]
    with pytest.raises((ValueError, KeyError, TypeError)):
        llmdev.shape(b'[{"price_usd": 5}]', TODAY)


def test_prices_to_buy_have_their_own_bounds() -> None:
    good = PurchaseRow("a", 3999.0, "2026-11-01", "llmdev.guide", "https://a.example")
    assert checked([], [good], {"a"}, TODAY, PURCHASE_BOUNDS_USD).rows == (good,)
    dear = replace(good, usd=100_001.0)
    with pytest.raises(PricesRefused, match="1 of 1 prices are beyond belief"):
        checked([], [dear], {"a"}, TODAY, PURCHASE_BOUNDS_USD)


def test_the_shipped_list_survives_a_rewrite(tmp_path: Path) -> None:
    shipped, rewritten = GENERATED_DIR / "purchase_lists.csv", tmp_path / "lists.csv"
    write_rows(rewritten, reversed(read_rows(shipped, PurchaseRow)))
    assert rewritten.read_bytes() == shipped.read_bytes()
    with pytest.raises(ValueError, match="no rows"):
        write_rows(rewritten, [])
    assert rewritten.read_bytes() == shipped.read_bytes()


def test_valid_rows_replace_old_ones_and_others_are_reported() -> None:
    odd = [replace(ROW, label="RTX 4095 24GB"), replace(ROW, usd_per_gpu_hour=900.0)]
    result = checked([ROW] * 20, [ROW] * 30 + odd, LABELS, TODAY)
    assert result.rows == (ROW,) * 30
    assert (result.unknown_labels, result.unbelievable) == (("RTX 4095 24GB",), 1)


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ([], [], "no rows"),
        ([ROW] * 20, [ROW] * 11, "11 rows where there were 20"),
        ([ROW], [replace(ROW, usd_per_gpu_hour=0.0)] * 2 + [ROW] * 8, "2 of 10 prices"),
        ([ROW], [replace(ROW, usd_per_gpu_hour=60.01)] + [ROW] * 9, "1 of 10 prices"),
        ([ROW], [replace(ROW, label="?")] * 4 + [ROW] * 6, "only 6 of 10 rows"),
        ([ROW], [replace(ROW, date="2026-10-31")], "older than 2026-11-01"),
        ([ROW], [replace(ROW, date="2026-11-21")], "after today"),
    ],
)
def test_implausible_rows_are_refused(
    before: list[PriceRow], after: list[PriceRow], reason: str
) -> None:
    with pytest.raises(PricesRefused, match=reason):
        checked(before, after, LABELS, TODAY)


def test_the_shipped_file_survives_a_rewrite(tmp_path: Path) -> None:
    shipped, rewritten = GENERATED_DIR / "rental_prices.csv", tmp_path / "prices.csv"
    write_rows(rewritten, reversed(read_rows(shipped, PriceRow)))
    assert rewritten.read_bytes() == shipped.read_bytes()
    assert (
        read_labels(DATA_DIR / "rental_labels.csv")
        == slugs_of_labels(DATA_DIR / "rental_labels.csv").keys()
    )


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    write_rows(path, [ROW])
    before = path.read_bytes()
    with pytest.raises(AttributeError):
        write_rows(path, [ROW, None])  # type: ignore[list-item]
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def site() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield a loopback server that answers with bodies by path, or ranges of them, else 404."""
    bodies: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = bodies.get(self.path)
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            status, whole = 404 if body is None else 200, len(body or b"")
            if body is not None and span:
                status, body = 206, body[int(span[1]) : int(span[2]) + 1]
            self.send_response(status)
            if span:
                self.send_header("Content-Range", f"bytes {span[1]}-{span[2]}/{whole}")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", bodies
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_refresh_replaces_the_rows_of_the_sources_that_answer(
    tmp_path: Path, site: tuple[str, dict[str, bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The dashboard's newer rows replace its old ones; the tracker's bad answer replaces none."""
    endpoint, bodies = site
    prices = tmp_path / "generated" / "rental_prices.csv"
    prices.parent.mkdir()
    copy(GENERATED_DIR / "rental_prices.csv", prices)
    copy(DATA_DIR / "rental_labels.csv", tmp_path / "rental_labels.csv")
    lists = prices.with_name("purchase_lists.csv")
    copy(GENERATED_DIR / "purchase_lists.csv", lists)
    copy(DATA_DIR / "purchase_labels.csv", tmp_path / "purchase_labels.csv")
    before, bought_before = read_rows(prices, PriceRow), read_rows(lists, PurchaseRow)
    listed = [entry(usd_per_hr=0.5 + place / 1000) for place in range(150)]
    bodies[dashboard.PATH] = json.dumps(
        {"generated_at": "2026-11-19T00:00:00Z", "prices": listed}
    ).encode()
    bodies[tracker.PATH] = b"<html>moved</html>"
    devices = [device(row.label, date="2026-11-01", price_usd=777) for row in bought_before]
    bodies[llmdev.PATH] = json.dumps([*devices, device("rtx-6090")]).encode()
    arguments = ["--folder", str(tmp_path), "--endpoint", endpoint]
    assert main([*arguments, "--dry-run"]) == 1
    assert read_rows(prices, PriceRow) == before and read_rows(lists, PurchaseRow) == bought_before
    assert main(arguments) == 1
    assert {row.price_usd for row in read_rows(lists, PurchaseRow)} == {777.0}
    offers = read_listed_offers(lists, tmp_path / "purchase_labels.csv")
    assert offers["rtx-5090-32gb"][0].date == "2026-11-01"
    after = read_rows(prices, PriceRow)
    other_rows = [row for row in before if row.source != "gpu-price-dashboard"]
    assert sorted(map(repr, after)) == sorted(
        map(repr, [*other_rows, *dashboard.shape(bodies[dashboard.PATH], TODAY)])
    )
    output = capsys.readouterr()
    assert "gpu-price-dashboard: 150 rows, 196 before" in output.out
    assert "llmdev.guide: 39 rows, 39 before; not in purchase_labels.csv: rtx-6090" in output.out
    assert "gpu-pricing-tracker: kept its 13 rows: not in the form we know" in output.err
    assert "skypilot-catalog: kept its 4 rows" in output.err
    assert read_offers(prices, tmp_path / "rental_labels.csv")["rtx-a6000-48gb"]


def test_a_row_that_cannot_be_read_is_lost_alone() -> None:
    """A null in a number, as on 4 of 91 stored days; many mean another format."""
    prices = [entry(), entry(usd_per_hr=None), entry(usd_per_hr=0.7)]

    def shaped(listed: list[dict[str, Any]]) -> list[float]:
        body = json.dumps({"generated_at": "2026-11-19T02:21:11Z", "prices": listed}).encode()
        return [row.usd_per_gpu_hour for row in dashboard.shape(body, TODAY)]

    assert shaped(prices) == [0.53, 0.7]
    for refused in ([entry(usd_per_hr=None)], [*prices, entry(num_gpus="many")]):
        with pytest.raises(ValueError, match="cannot be read"):
            shaped(refused)


def test_a_table_that_grows_is_read_by_its_end(site: tuple[str, dict[str, bytes]]) -> None:
    """The whole history exceeds any limit one day; the newest day is at its end."""
    endpoint, bodies = site
    head, *lines = OBSERVATIONS.decode().splitlines()
    old = [line.replace(line.split(",")[0], "2020-01-01") for line in lines] * 40_000
    bodies[tracker.PATH] = "\n".join([head, *old, *lines, ""]).encode()
    assert len(bodies[tracker.PATH]) > Limits().info_bytes
    (source,) = [source for source in SOURCES if source.name == tracker.NAME]
    with HubSession(endpoint) as session:
        body = fetch(session, source, Limits())
        assert len(body) < 2 * tracker.TAIL_BYTES
        assert tracker.shape(body, TODAY) == tracker.shape(OBSERVATIONS, TODAY)
        bodies[tracker.PATH] = OBSERVATIONS
        assert fetch(session, source, Limits()) == OBSERVATIONS
