"""Hardware saved on the Hub: the documented format, and malformed values."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusizer.gpus import load_catalogue, saved_gpus
from tests.each import each

CATALOGUE = load_catalogue()


def _item(model: str, memory: object, count: object = 1, **more: object) -> dict[str, object]:
    return {"sku": ["GPU", "NVIDIA", model], "mem": memory, "num": count, **more}


def test_the_documented_example() -> None:
    """The object that docs/hub/hardware.md of hub-docs prints."""
    item = {"sku": ["GPU", "NVIDIA", "RTX 4090"], "mem": 24, "num": 2, "isPrimary": True}
    assert saved_gpus([item], CATALOGUE, 4) == ("2xrtx-4090-24gb",)


def test_the_primary_gpu_comes_first() -> None:
    items = [
        _item("RTX 3060", 12),
        _item("Apple M3 Max", 128),
        _item("A100", 80, isPrimary=True),
        _item("RTX 3060", 12),
    ]
    gpus = saved_gpus(items, CATALOGUE, 4)
    assert gpus == ("a100-sxm-80gb", "rtx-3060-12gb", "apple-m3-max-128gb")
    assert saved_gpus(items, CATALOGUE, 1) == ("a100-sxm-80gb",)


@each(
    "item",
    [
        _item("Ryzen 9 7950X", 64),
        _item("RTX 4090", 1000),
        _item("RTX 4090", "24"),
        _item("RTX 4090", 24, 0),
        _item("RTX 4090", 24, 10**9),
        _item("RTX 4090", True),
        _item("RTX 4090", float("nan")),
        {"sku": "RTX 4090", "mem": 24},
        {"sku": [1, 2, 3]},
        _item("<img src=x>" * 1000, 24),
        "RTX 4090",
        None,
    ],
)
def test_unknown_gpus_in_a_profile_are_left_out(item: object) -> None:
    assert saved_gpus([item, _item("RTX 3060", 12)], CATALOGUE, 4) == ("rtx-3060-12gb",)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["sku", "mem", "num", "isPrimary"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_JSON)
def test_malformed_saved_hardware_is_skipped(items: Any) -> None:
    slugs = {gpu.slug for gpu in CATALOGUE.gpus}
    for request in saved_gpus(items, CATALOGUE, 4):
        assert request in slugs or request.split("x", maxsplit=1)[1] in slugs
