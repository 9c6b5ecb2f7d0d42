"""purchase_prices.csv, purchase_labels.csv and purchase_lists.csv: valid rows of known boards."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import pytest

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import MalformedTable
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.gpus.purchase import (
    FEWEST,
    is_similar,
    read_boards,
    read_listed_offers,
    read_offers,
    similar_price,
)

CATALOGUE = load_catalogue()
PRICES, LABELS = DATA_DIR / "purchase_prices.csv", DATA_DIR / "purchase_labels.csv"
LISTS = GENERATED_DIR / "purchase_lists.csv"


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def test_rows_are_of_boards_of_the_catalogue_and_say_where_they_stand() -> None:
    slugs = {gpu.slug for gpu in CATALOGUE.gpus}
    assert len(rows(PRICES)) > 400
    for row in rows(PRICES):
        assert row["slug"] in slugs, row
        assert row["condition"] in ("new", "used", "refurbished", "system"), row
        assert row["weak"] in ("true", "false")
        assert 20 <= float(row["usd"]) <= 100_000, row
        assert re.fullmatch(r"202\d-\d\d(-\d\d)?", row["date"]), row
        assert row["provider"]
        address = urlsplit(row["source"])
        assert address.scheme == "https" and "." in address.netloc, row
        assert bool(row["note"]) or row["weak"] == "false", "a doubt is said in words"


def test_no_row_is_there_twice() -> None:
    told = [tuple(row.values()) for row in rows(PRICES)]
    assert len(set(told)) == len(told)


def test_one_address_belongs_to_one_provider() -> None:
    owners: dict[str, set[str]] = {}
    for row in rows(PRICES):
        if urlsplit(row["source"]).path not in ("", "/"):
            owners.setdefault(row["source"], set()).add(row["provider"])
    assert {address for address, names in owners.items() if len(names) > 1} == set()


def test_labels_name_boards_or_say_why_not() -> None:
    slugs = {gpu.slug for gpu in CATALOGUE.gpus}
    labels = rows(LABELS)
    assert len({row["label"] for row in labels}) == len(labels)
    for row in labels:
        assert bool(row["slug"]) != bool(row["excluded_because"]), row["label"]
        assert bool(row["slug"]) == bool(row["condition"]), row["label"]
        assert not row["slug"] or row["slug"] in slugs
    assert {row["label"] for row in rows(LISTS)} <= read_boards(LABELS).keys()


def test_memory_on_a_label_is_that_of_its_board() -> None:
    for label, (slug, _) in read_boards(LABELS).items():
        size = re.search(r"(\d+)gb$", label)
        if slug and size:
            assert float(size[1]) == CATALOGUE.find(slug).memory_marketing_gb, label


def test_the_catalogue_shows_what_the_rows_say() -> None:
    edited, listed = read_offers(PRICES), read_listed_offers(LISTS, LABELS)
    priced = {gpu.slug: gpu.street for gpu in CATALOGUE.gpus if gpu.street is not None}
    assert edited.keys() | listed.keys() == priced.keys() | {"apple-m2-ultra-192gb"}
    assert len(priced) > 120
    for slug, price in priced.items():
        figures = [
            offer.usd
            for offer in (*edited.get(slug, ()), *listed.get(slug, ()))
            if offer.condition == price.condition
        ]
        assert {price.low_usd, price.high_usd} <= set(figures)
        assert (price.low_usd or 0) <= price.usd <= (price.high_usd or 0)
        assert price.addresses and price.providers and price.date


def test_a_doubted_catalogue_weighs_nothing_beside_others() -> None:
    """It has the RTX 3090 at $650 and the P40 at $130, under every tracker's least."""
    for name, least in (("RTX 3090", 990), ("P40", 210)):
        street = CATALOGUE.find(name).street
        assert street is not None and street.low_usd == least
        assert "hardware-catalog-2026" not in street.providers


def test_boards_with_doubted_figures_alone_have_that_price_and_go_last() -> None:
    doubted = {gpu.slug for gpu in CATALOGUE.gpus if gpu.price_is_doubted}
    named = ["b200-sxm-180gb", "b300-sxm-288gb", "h20-96gb", "instinct-mi300x-192gb"]
    others = ["instinct-mi300a-128gb", "gaudi2-96gb", "gaudi3-128gb", "mlu370-x8-48gb"]
    assert doubted == {*named, *others, "atlas-350-112gb"}
    for slug in doubted:
        gpu = CATALOGUE.find(slug)
        assert gpu.street is not None and gpu.buy is gpu.street and gpu.launch is None


def test_a_launch_price_counts_before_a_doubted_one() -> None:
    mac = CATALOGUE.find("apple-m2-ultra-192gb")
    assert all(offer.weak for offer in read_offers(PRICES)[mac.slug])
    assert mac.street is None and mac.buy is mac.launch and not mac.price_is_doubted


def test_estimates_stand_only_where_nothing_is_known() -> None:
    estimated = [gpu for gpu in CATALOGUE.gpus if gpu.similar is not None]
    assert len(estimated) > 10
    for gpu in estimated:
        assert gpu.buy is None and gpu.buy_usd is None and gpu.similar is not None
        similar = [CATALOGUE.find(slug) for slug in gpu.similar.providers]
        assert len(similar) >= FEWEST and all(is_similar(gpu, other) for other in similar)
        prices = [other.street.usd for other in similar if other.street is not None]
        assert gpu.similar.usd == pytest.approx(median(prices), abs=0.01)
        assert (gpu.similar.low_usd, gpu.similar.high_usd) == (min(prices), max(prices))
    assert not any(gpu.form_factor == "laptop" for gpu in estimated), "nobody sells them alone"
    assert not any(gpu.status == "modified" for gpu in estimated)


def test_estimates_are_as_close_as_their_module_says() -> None:
    """Half within a factor of 1.3, nine of ten within 2.4, three of four within the range."""
    firm = [gpu for gpu in CATALOGUE.gpus if gpu.street and not gpu.price_is_doubted]
    errors = sorted(error for gpu in firm if (error := _error(gpu, firm)) is not None)
    assert len(errors) > 50
    assert median(errors) == pytest.approx(1.3, abs=0.05)
    assert errors[int(0.9 * len(errors))] == pytest.approx(2.4, abs=0.1)
    held = [_held(gpu, firm) for gpu in firm]
    assert 0.7 <= sum(map(bool, held)) / len(errors) <= 0.85


def test_a_cell_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    table = tmp_path / "prices.csv"
    head = "slug,condition,usd,date,weak,provider,source,note\n"
    table.write_text(head + "l4-24gb,broken,1,2026-01,false,A,https://a.b,\n", "utf-8")
    with pytest.raises(MalformedTable, match=r"line 2: field condition: 'broken'"):
        read_offers(table)
    table.write_text(head + "l4-24gb,new,1,2026-01,perhaps,A,https://a.b,\n", "utf-8")
    with pytest.raises(MalformedTable, match=r"field weak: 'perhaps'"):
        read_offers(table)


def _error(gpu: Gpu, firm: list[Gpu]) -> float | None:
    estimate = similar_price(gpu, firm)
    if estimate is None or gpu.street is None:
        return None
    ratio = estimate.usd / gpu.street.usd
    return max(ratio, 1 / ratio)


def _held(gpu: Gpu, firm: list[Gpu]) -> bool:
    estimate = similar_price(gpu, firm)
    if estimate is None or gpu.street is None:
        return False
    assert estimate.low_usd is not None and estimate.high_usd is not None
    return estimate.low_usd <= gpu.street.usd <= estimate.high_usd
