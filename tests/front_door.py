"""What people ask for, as requests, and what an answer has to say.

`tests/cli/test_front_door.py` asks in the shell and in a batch; other doors write the same bytes
(`tests/api/test_transports.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from gpusizer.core.units import GB, GIB, MIB
from gpusizer.gpus import load_catalogue

Answer = Mapping[str, Any]
MODEL = "Qwen/Qwen3-8B"
TOO_LARGE = "Qwen/Qwen3-235B-A22B"
"""142 GB in Q4_K_M: more than a card of 24 GB and 64 GB of system memory."""
CUSTOM = "custom:96GB@1800GB/s@200TFLOPS@5000USD@350W"
LAUNCHED, UNPRICED = "rtx-a4000-16gb", "a10g-24gb"
"""A card of which only the price of launch is known, and one of which only those of similar are."""


@dataclass(frozen=True)
class Question:
    """A request to an endpoint, and the check of its answer."""

    endpoint: str
    fields: Mapping[str, Any]
    check: Callable[[Answer], None]


def about(value: float) -> Any:
    """The value as far as answers are rounded."""
    return pytest.approx(value, rel=0.01)


def codes(notes: list[Answer]) -> set[str]:
    return {note["code"] for note in notes}


def first(answer: Answer) -> Answer:
    """The first place of a ranking."""
    place: Answer = answer["ranking"][0]
    return place


# 1. My machine.


def a_card_in_use(answer: Answer) -> None:
    """What other programs hold is missing from what PyTorch sees of a card."""
    place = first(answer)
    whole = load_catalogue().find("4090").device_torch_memory_bytes
    assert place["usable_bytes"] == whole - 8 * GB
    assert place["verdict"] == "fits"
    assert 0 < place["headroom_bytes"] < place["usable_bytes"] - place["per_gpu_bytes"] + GB
    assert "card_memory_free" in codes(place["reasons"])


def limits_of_shared_memory(answer: Answer) -> None:
    """A Mac's limit and the half of a Strix Halo are what the reader has set."""
    usable = {place["gpu"]: place["usable_bytes"] for place in answer["ranking"]}
    assert usable == {
        "apple-m3-max-128gb": 120_000 * MIB,
        "ryzen-ai-max-395-128gb": 110 * GIB,
    }


def a_described_card(answer: Answer) -> None:
    """A card that no list has, with its rate, price and power."""
    place = first(answer)
    assert (place["gpu"], place["verdict"]) == (CUSTOM, "fits")
    assert place["usable_bytes"] <= 96 * GB
    assert place["price"]["buy_usd"] == 5000
    assert place["power_watts"] == 350
    decode, prefill = (place[f"{name}_tokens_per_second"] for name in ("decode", "prefill"))
    assert 0 < decode["low"] < decode["likely"] < decode["high"] < prefill["likely"]
    assert "custom_card" in codes(place["reasons"])


def own_cards_in_a_rig(answer: Answer) -> None:
    devices = answer["rig"]["devices"]
    free = {device["gpu"]: device["free_bytes"] for device in devices}
    assert free == {"custom:48GB@900GB/s": 48 * GB, "rtx-3090-24gb": 20 * GB}
    assert answer["rig"]["verdict"] == "fits"


def own_cards_side_by_side(answer: Answer) -> None:
    """The same card, whole and a third used, a described one, and what each still holds."""
    whole, used, described = (gpu["fit"] for gpu in answer["gpus"])
    assert used["usable_bytes"] == 16 * GB < whole["usable_bytes"]
    users = [fit["largest"]["users_at_context"] for fit in (used, whole, described)]
    assert users == sorted(users) and 0 < users[0] < users[1]
    assert described["price"]["buy_usd"] == 5000


def models_for_a_card_in_use(answer: Answer) -> None:
    assert "card_memory_free" in codes(answer["notes"])
    assert {row["verdict"] for row in answer["models"]} == {"fits"}
    assert all(row["headroom_bytes"] < 16 * GB for row in answer["models"])


def training_on_a_card_in_use(answer: Answer) -> None:
    place = first(answer)
    assert place["gpu"] == "rtx-4090-24gb"
    assert place["headroom_bytes"] + place["per_gpu"]["needed_bytes"] <= 16 * GB


# 2. A recommendation.


def missed(place: Answer) -> tuple[bool, ...]:
    """The conditions in their order that a place misses; cost decides among equals."""
    score = place["score"]
    met = (score["room"], score["supported"], score["on_offer"])
    return *(not is_met for is_met in met), score["fast_enough"] is False


def a_recommendation(answer: Answer) -> None:
    """Nothing asked for the order; room is kept, and no later condition outweighs an earlier."""
    assert answer["workload"]["rank_by"] == "recommended"
    ranking = answer["ranking"]
    place = ranking[0]
    assert place["verdict"] == "fits" and place["score"]["room"]
    assert place["headroom_bytes"] >= 0.09 * place["usable_bytes"]
    assert all(missed(better) <= missed(worse) for better, worse in pairwise(ranking))
    assert all(item["why"] for item in ranking)
    assert alternatives_are_extremes(answer)


def alternatives_are_extremes(answer: Answer) -> bool:
    """Each alternative names itself, is honest about its price, and beats the ranking's rows."""
    alternatives = {item["kind"]: item for item in answer["alternatives"]}
    assert list(alternatives) == ["cheapest", "fastest", "rent"]
    cheapest, fastest, rent = alternatives.values()
    speeds = [item["decode_tokens_per_second"]["likely"] for item in answer["ranking"]]
    assert fastest["decode_tokens_per_second"]["likely"] >= max(speeds)
    assert cheapest["price"]["buy_condition"] in ("new", "used")
    assert cheapest["price"]["buy_usd"] <= first(answer)["price"]["buy_usd"]
    assert rent["price"]["rent_usd_per_hour"] > 0 and rent["price"]["rent_as_of"]
    assert all(item["why"] for item in alternatives.values())
    return True


def a_training_recommendation(answer: Answer) -> None:
    """No module for devices opens the list, and boards of the first place are joined or alone."""
    assert answer["workload"]["rank_by"] == "recommended"
    by_slug = {gpu.slug: gpu for gpu in load_catalogue().gpus}
    assert all(by_slug[item["gpu"]].segment != "embedded" for item in answer["ranking"][:5])
    assert first(answer)["verdict"] == "fits"
    assert {item["kind"] for item in answer["alternatives"]} >= {"fastest", "rent"}
    assert all(item["why"] for item in answer["alternatives"])


def prices_with_their_terms(answer: Answer) -> None:
    """A price says new or used, of when, between what; old is said, similar cards do not count."""
    price, launched, estimated = (place["price"] for place in answer["ranking"])
    assert price["buy_condition"] in ("new", "used") and price["buy_as_of"]
    assert price["buy_low_usd"] <= price["buy_usd"] <= price["buy_high_usd"]
    assert price["buy_providers"] and price["buy_is_old"] in (True, False)
    assert {other["condition"] for other in price["buy_conditions"]} == {"new", "used"}
    assert price["break_even_months"] is None or price["break_even_months"] > 0
    assert (launched["buy_basis"], launched["buy_is_old"]) == ("launch", True)
    assert estimated["buy_usd"] is None and estimated["similar_gpus"]
    assert estimated["similar_low_usd"] <= estimated["similar_usd"] <= estimated["similar_high_usd"]
    assert "price_of_launch" in codes(launched["caveats"])


# 3. Models worth running.


def models_worth_running(answer: Answer) -> None:
    """A row for each family, its copies folded under it, fitting ones first, of dated use."""
    rows = answer["models"]
    names = [row["family"]["name"] for row in rows]
    assert len(names) == len(set(names)) == 10
    assert {row["verdict"] for row in rows} == {"fits"}
    assert {row["license"] for row in rows} == {"apache-2.0"}
    assert {row["task"] for row in rows} == {"text"}
    copies = [copy for row in rows for copy in row["copies"]]
    assert copies and not {copy["repo_id"] for copy in copies} & {row["repo_id"] for row in rows}
    assert rows[0]["family"]["created"] > "2024"
    assert answer["use"]["as_of"] and answer["use"]["live"] is False


# 4. Planning.


def fast_enough(answer: Answer) -> None:
    """What is known to be slower for each user is left out, and counted."""
    speeds = [item["decode_tokens_per_second_per_user"]["likely"] for item in answer["ranking"]]
    assert len(speeds) == 20 and min(speeds) >= 60
    assert "slower_left_out" in codes(answer["notes"])


def a_serving_plan(answer: Answer) -> None:
    """The cheapest hour first, with replicas and users of each, within the wait asked for."""
    rows = answer["serving_plan"]["rows"]
    hour = min(rows[0][by] or math.inf for by in ("rent_usd_per_hour", "owned_usd_per_hour"))
    assert all(hour <= row["rent_usd_per_hour"] for row in rows if row["rent_usd_per_hour"])
    for row in rows:
        assert row["gpus"]["likely"] == row["replicas"] * row["gpus_per_replica"]
        assert row["gpus"]["low"] <= row["gpus"]["likely"]
        assert 0 < row["users_per_replica"] <= row["most_users_per_replica"]
        assert row["time_to_first_token_seconds"]["likely"] <= 0.5


def own_prices(answer: Answer) -> None:
    """The reader's prices stand in place of those on record, and minutes go by his disk."""
    price, loading = first(answer)["price"], first(answer)["loading"]
    assert (price["buy_usd"], price["buy_basis"]) == (900, "own")
    assert (price["rent_usd_per_hour"], price["rent_is_own"]) == (0.3, True)
    assert price["break_even_months"] > 0
    stored = loading["stored_bytes"]
    assert loading["disk_minutes"] * 60 * 3.5e9 == about(stored)
    assert loading["download_minutes"] * 60 * 0.5e9 / 8 == about(stored)


# 5. Speculative decoding.


def a_draft_model(answer: Answer) -> None:
    """Its weights and cache lie on the same card; a speed is claimed at the stated rate."""
    assert answer["draft_model"]["repo_id"] == "Qwen/Qwen3-0.6B"
    (estimate,) = answer["estimates"]
    draft = estimate["draft"]
    assert draft["weights_bytes"] >= draft["file_bytes"] == 2 * answer["draft_model"]["parameters"]
    assert draft["kv_cache_bytes"] > 0
    assert estimate["total_bytes"] > answer["model"]["weight_bytes"] + draft["total_bytes"]
    speculation = first(answer)["speculation"]
    assert speculation["acceptance_rate"] == 0.7
    assert 1 < speculation["tokens_per_round"] <= 1 + speculation["draft_tokens"]
    assert speculation["decode_tokens_per_second"]["likely"] > 0
    assert 0 < speculation["break_even_acceptance_rate"] < 1


# 6. Check us.


def what_others_measured(answer: Answer) -> None:
    """Published runs stand beside the estimate; a command measures it, and says what to expect."""
    place = first(answer)
    assert place["measured"]
    for run in place["measured"]:
        assert run["source_url"].startswith("https://")
        assert run["used_in_fit"] in (True, False, None)
    command = place["benchmark"]
    assert "\nllama-bench -m Qwen3-8B-Q4_K_M.gguf " in command["command"]
    assert {expected["unit"] for expected in command["expected"]} == {"tok/s"}
    answers = command["expected"][1]
    assert answers["likely"] == place["decode_tokens_per_second"]["likely"]
    assert codes(command["when_less"]) == {
        "look_power_limit",
        "look_slot_width",
        "look_layers_on_gpu",
        "look_flash_attention",
    }


# 7. Pages from disk.


def a_quantization_to_be_made(answer: Answer) -> None:
    """GPTQ of a model of 8B goes through a card of 24 GB layer by layer; a GGUF needs none."""
    making = answer["ranking"][0]["quantizing"]
    assert (making["method"], making["tool"]) == ("gptq", "llm-compressor")
    assert (making["samples"], making["sequence_length"]) == (512, 2048)
    assert making["gpu_low_bytes"] < making["gpu_bytes"] < making["gpu_high_bytes"] < 12 * GB
    assert making["gpu_verdict"] == "fits"
    assert making["ram_bytes"] > answer["model"]["weight_bytes"] == making["download_bytes"]
    assert making["file_bytes"] == answer["estimates"][0]["file_bytes"]
    assert making["command"].endswith('processor.save_pretrained("Qwen3-8B-gptq-int4-g128")')
    assert "quantizing_gpu_fits" in codes(making["notes"])


def from_disk(answer: Answer) -> None:
    """Beyond card and system memory the file is read for every token, at a speed that is said."""
    place = first(answer)
    assert place["verdict"] == "from_disk"
    (speed,) = (note["fields"] for note in place["reasons"] if note["code"] == "disk_speed")
    assert 0 < speed["tokens"] < 5
    assert speed["tokens"] == about(speed["gb"] * GB / speed["token_bytes"])
    assert place["count"] == 1 and "try_offload" not in codes(place["advice"])


def rig_from_disk(answer: Answer) -> None:
    disk = answer["rig"]["disk"]
    assert answer["rig"]["verdict"] == "from_disk"
    assert disk["missing_bytes"] > 0
    most = disk["bytes_per_second"] / disk["bytes_per_token"]
    assert disk["most_tokens_per_second"] == about(most)


SERVED = {"requests_per_second": 5, "prompt_tokens": 1000, "answer_tokens": 300, "ttft_ms": 500}
QUESTIONS: dict[str, Question] = {
    "used_gb": Question(
        "/size_model", {"model": MODEL, "gpu": "4090", "used_gb": 8}, a_card_in_use
    ),
    "limits": Question(
        "/size_model",
        {"model": MODEL, "gpu": "m3 max 128gb (120000 MiB free), strix halo 128gb (110 GiB free)"},
        limits_of_shared_memory,
    ),
    "quantizing": Question(
        "/size_model",
        {"model": MODEL, "gpu": "4090", "quant": "gptq-int4-g128"},
        a_quantization_to_be_made,
    ),
    "custom": Question("/size_model", {"model": MODEL, "gpu": CUSTOM}, a_described_card),
    "rig": Question(
        "/size_model",
        {"model": MODEL, "rig": "custom:48GB@900GB/s + 3090 (20 GB free) + 64gb ram", "top": 1},
        own_cards_in_a_rig,
    ),
    "compare": Question(
        "/compare_gpus",
        {"gpus": ["4090", "4090 (16 GB free)", CUSTOM], "model": MODEL, "quant": "q4_k_m"},
        own_cards_side_by_side,
    ),
    "models for a card in use": Question(
        "/models_for_gpu", {"gpu": "4090 (16 GB free)", "top": 5}, models_for_a_card_in_use
    ),
    "training on a card in use": Question(
        "/train_model",
        {"model": MODEL, "method": "qlora", "gpu": "4090", "usable_gb": 16},
        training_on_a_card_in_use,
    ),
    "recommendation": Question("/size_model", {"model": MODEL}, a_recommendation),
    "recommendation to train": Question(
        "/train_model", {"model": MODEL}, a_training_recommendation
    ),
    "prices": Question(
        "/size_model",
        {"model": MODEL, "gpu": f"4090, {LAUNCHED}, {UNPRICED}"},
        prices_with_their_terms,
    ),
    "models": Question(
        "/models_for_gpu",
        {"gpu": "4090", "license": "apache-2.0", "model_task": "text", "top": 10},
        models_worth_running,
    ),
    "min_tok_s": Question("/size_model", {"model": MODEL, "min_tok_s": 60}, fast_enough),
    "target": Question(
        "/size_model", {"model": MODEL, "quant": "native", "top": 5, **SERVED}, a_serving_plan
    ),
    "own prices": Question(
        "/size_model",
        {
            "model": MODEL,
            "gpu": "3090",
            "gpu_usd": 900,
            "gpu_usd_per_hour": 0.3,
            "disk_gb_per_s": 3.5,
            "network_gbit_per_s": 0.5,
        },
        own_prices,
    ),
    "draft": Question(
        "/size_model",
        {
            "model": MODEL,
            "quant": "native",
            "gpu": "h100 sxm",
            "draft_model": "Qwen/Qwen3-0.6B",
            "acceptance_rate": 0.7,
        },
        a_draft_model,
    ),
    "check": Question(
        "/size_model",
        {"model": MODEL, "gpu": "4090", "quant": "q4_k_m", "engine": "llama.cpp"},
        what_others_measured,
    ),
    "disk": Question(
        "/size_model",
        {"model": TOO_LARGE, "quant": "q4_k_m", "gpu": "3090", "ram_gb": 64, "disk_gb_per_s": 3.5},
        from_disk,
    ),
    "rig from disk": Question(
        "/size_model",
        {"model": TOO_LARGE, "quant": "q4_k_m", "rig": "3090 + 64gb ram", "top": 1},
        rig_from_disk,
    ),
}
"""By the line of the question."""
