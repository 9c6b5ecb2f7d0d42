"""Readers' facts about cards, prices, drafts and disks reach each answer of the shell.

The figures themselves are held by hand in tests/unit.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gpusizer.core.units import GB
from gpusizer.gpus import load_catalogue
from tests.cli.test_cli import run
from tests.priced_day import priced_day

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

MODEL = "Qwen/Qwen3-8B"
TOO_LARGE = "Qwen/Qwen3-235B-A22B"  #
CUSTOM = "custom:96GB@1800GB/s@200TFLOPS@5000USD@350W"


def answered(*words: str) -> Any:
    shown = run(*words, "--offline", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    return json.loads(shown.stdout)


def codes(notes: list[Any]) -> set[str]:
    return {note["code"] for note in notes}


def test_memory_in_use_counts_in_every_question() -> None:
    (place,) = answered("size", MODEL, "--gpu", "4090", "--used-gb", "8")["ranking"]
    whole = load_catalogue().find("4090").device_torch_memory_bytes
    assert place["usable_bytes"] == whole - 8 * GB
    assert 0 < place["headroom_bytes"] < place["usable_bytes"] - place["per_gpu_bytes"] + GB
    models = answered("models-for", "4090 (16 GB free)", "--top", "5")
    assert "card_memory_free" in codes(models["notes"])
    assert all(row["headroom_bytes"] < 16 * GB for row in models["models"])
    asked = ("--method", "qlora", "--gpu", "4090", "--usable-gb", "16")
    (training,) = answered("train", MODEL, *asked)["ranking"]
    assert training["headroom_bytes"] + training["per_gpu"]["needed_bytes"] <= 16 * GB


def test_own_cards_stand_in_a_machine_and_side_by_side() -> None:
    rig = answered("size", MODEL, "--rig", "custom:48GB@900GB/s + 3090 (20 GB free) + 64gb ram")
    free = {device["gpu"]: device["free_bytes"] for device in rig["rig"]["devices"]}
    assert free == {"custom:48GB@900GB/s": 48 * GB, "rtx-3090-24gb": 20 * GB}
    cards = ("4090", "4090 (16 GB free)", CUSTOM)
    compared = answered("compare", *cards, "--model", MODEL, "--quant", "q4_k_m")["gpus"]
    whole, used, described = (gpu["fit"] for gpu in compared)
    assert used["usable_bytes"] == 16 * GB < whole["usable_bytes"]
    users = [fit["largest"]["users_at_context"] for fit in (used, whole, described)]
    assert users == sorted(users) and 0 < users[0] < users[1]
    assert (described["price"]["buy_usd"], described["power_watts"]) == (5000, 350)


def test_prices_on_record_and_the_readers_own() -> None:
    """Prices of similar cards have a spread and do not count; the reader's stand in their place,
    and minutes go by his disk and his network."""
    named = ("size", MODEL, "--gpu", "4090, a10g-24gb")
    street, similar = (place["price"] for place in answered(*named)["ranking"])
    assert street["buy_low_usd"] <= street["buy_usd"] <= street["buy_high_usd"]
    assert street["buy_condition"] == "used" and street["buy_addresses"]
    assert similar["buy_usd"] is None and similar["similar_gpus"]
    assert similar["similar_low_usd"] < similar["similar_usd"] < similar["similar_high_usd"]
    own = ("--gpu-usd", "900", "--gpu-usd-per-hour", "0.3")
    loads = ("--disk-gb-per-s", "3.5", "--network-gbit-per-s", "0.5")
    (place,) = answered("size", MODEL, "--gpu", "3090", *own, *loads)["ranking"]
    price, loading = place["price"], place["loading"]
    assert (price["buy_usd"], price["rent_usd_per_hour"]) == (900, 0.3)
    stored = pytest.approx(loading["stored_bytes"], rel=0.01)
    assert loading["disk_minutes"] * 60 * 3.5e9 == stored
    assert loading["download_minutes"] * 60 * 0.5e9 / 8 == stored


def test_a_draft_model_has_its_bytes_and_its_speed() -> None:
    draft = ("--draft-model", "Qwen/Qwen3-0.6B", "--acceptance-rate", "0.7")
    answer = answered("size", MODEL, "--quant", "native", "--gpu", "h100 sxm", *draft)
    held = answer["estimates"][0]["draft"]
    assert held["weights_bytes"] >= held["file_bytes"] == 2 * answer["draft_model"]["parameters"]
    assert held["kv_cache_bytes"] > 0
    speculation = answer["ranking"][0]["speculation"]
    assert 1 < speculation["tokens_per_round"] <= 1 + speculation["draft_tokens"]
    assert 0 < speculation["break_even_acceptance_rate"] < 1


def test_what_no_memory_holds_is_read_from_the_stated_disk() -> None:
    asked = ("size", TOO_LARGE, "--quant", "q4_k_m")
    on_card = (*asked, "--gpu", "3090", "--ram-gb", "64", "--disk-gb-per-s", "3.5")
    (place,) = answered(*on_card)["ranking"]
    assert (place["verdict"], place["count"]) == ("from_disk", 1)
    assert "try_offload" not in codes(place["advice"])
    (speed,) = (note["fields"] for note in place["reasons"] if note["code"] == "disk_speed")
    assert speed["tokens"] == pytest.approx(speed["gb"] * GB / speed["token_bytes"], rel=0.01)
    rig = answered(*asked, "--rig", "3090 + 64gb ram")["rig"]
    assert rig["verdict"] == "from_disk" and rig["disk"]["missing_bytes"] > 0
    shown = run(*on_card, "--offline", "--details").stdout
    assert re.search(r"GeForce RTX 3090 24GB .* from_disk ", shown)
    assert "a disk of 3.5 GB/s allows at most" in shown
    assert "fit in no memory" in shown


def test_the_table_says_what_is_recommended_and_what_else() -> None:
    shown = run("size", MODEL, "--offline", "--top", "3", "--details").stdout
    said = answered("size", MODEL, "--top", "1")["answer"]
    assert shown.startswith(f"{said['sentence']}\n- {said['weighed'][0]['message']}\n")
    for begins in ("The cheapest to buy is ", "The fastest is ", "To rent, take "):
        assert f"\n- {begins}" in shown
    assert re.search(r"^  rank by +recommended$", shown, re.M)


def test_the_table_of_a_described_card_names_what_was_stated_and_what_measures_it() -> None:
    asked = ("size", MODEL, "--offline", "--quant", "q4_k_m", "--engine", "llama.cpp", "--details")
    described = run(*asked, "--gpu", f"{CUSTOM} (80 GB free)").stdout
    assert re.search(r"^ +buy usd +5000\n(?:.*\n)*? +buy basis +own$", described, re.M)
    assert "A card that you described: 89.4 GiB of memory" in described
    assert "80 GB (74.5 GiB of its 89.4 GiB) are free for the model, as stated" in described
    listed = run(*asked, "--gpu", "4090").stdout
    measured = listed.split("\n    measured\n")[1]
    assert "https://" in measured and re.search(r"^ +git clone ", measured, re.M)
    assert re.search(r"^ +llama-bench -m Qwen3.* -d 8064 ", measured, re.M)
    assert re.search(r"\btg128 @ d8064\b", measured), "what it prints"
    assert "Flash attention: where the backend lacks it" in measured, "why it may be slower"


def test_a_list_may_be_stated_in_several_options() -> None:
    places = answered("size", MODEL, "--gpu", "4090", "--gpu", "3060")["ranking"]
    assert [place["gpu"] for place in places] == ["rtx-4090-24gb", "rtx-3060-12gb"]
    sizes = answered("size", MODEL, "--quant", "q4_k_m", "--quant", "q8_0", "--gpu", "4090")
    assert {row["quant"] for row in sizes["estimates"]} == {"q4_k_m", "q8_0"}


def test_machines_are_named_as_people_write_them() -> None:
    (place,) = answered("size", MODEL, "--gpu", "dual 3090")["ranking"]
    assert (place["gpu"], place["count"]) == ("rtx-3090-24gb", 2)
    assert answered("size", MODEL, "--gpu", "i7 32 GB RAM")["rig"]["devices"] == []
    models = answered("models-for", "Colab", "T4", "--top", "1")
    assert models["gpu"] == "tesla-t4-16gb"


def test_models_are_named_by_what_is_pasted() -> None:
    answer = answered("size", "vllm serve Qwen/Qwen3-8B --max-model-len 8192", "--gpu", "4090")
    assert answer["model"]["repo_id"] == MODEL
    assert "model_read_as" in codes(answer["notes"])
