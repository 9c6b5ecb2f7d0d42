"""A desk: its models beside one another agree with each model alone, and its files start them."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.api.desk import desk_answer
from gpusizer.core.errors import GpusizerError, InvalidRequest, ModelUnreadable
from gpusizer.fit.fit import Fit
from gpusizer.fit.run_config import headroom_on
from gpusizer.fit.verdict import Verdict
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.requests.desk_request import DeskRequest, read_line
from tests.asking import size
from tests.desks import (
    BGE,
    CHAT,
    FLUX,
    LARGE,
    MEDIUM,
    MIXED,
    SERVERS,
    SMALL,
    TINY,
    WHISPER,
    answered,
    compose_of,
    placed,
)
from tests.sizers import embedded_sizer


@pytest.mark.parametrize("gpu", ["3060", "3090", "A100 80GB", "M4 Pro 24GB", "RX 7900 XTX"])
@pytest.mark.parametrize("model", [SMALL, CHAT, WHISPER, BGE, FLUX, f"{SMALL} engine=vllm"])
def test_a_desk_of_one_model_is_what_size_says(model: str, gpu: str) -> None:
    name, *engine = model.split()
    fields = {"model": name, "gpu": gpu, "gpu_count": 1, "card": False}
    if engine:
        fields["engine"] = "vllm"
    alone: Fit = size(embedded_sizer(), fields).ranking[0].fit
    (one,) = placed(model, gpu=gpu).models
    if alone.verdict is not Verdict.FITS:
        assert one.server is None  # only what surely fits is placed
        return
    assert one.server is not None
    config, option = one.server.config, one.server.seat.option
    assert (config.estimate.quant, config.estimate.engine) == (
        alone.estimate.quant,
        alone.estimate.engine,
    )
    assert config.estimate.per_gpu == alone.estimate.per_gpu
    assert option.takings[0].held_bytes >= alone.estimate.needed.high
    assert alone.headroom_bytes == headroom_on(alone.gpu, alone.estimate)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("3090", "2x 3090"),
        ("2x 3090", "2x 3090 + 64 GB RAM"),
        ("3060 + 32 GB RAM", "3060 + 64 GB RAM"),
        ("3090", "3090 + 3060"),
        ("3060 + 64 GB RAM", "3060 + 3060 + 64 GB RAM"),
    ],
)
def test_more_memory_never_loses_a_model_that_stays(smaller: str, larger: str) -> None:
    before, after = (placed(*MIXED, gpu=gpu) for gpu in (smaller, larger))
    kept = [sum(model.state == "resident" for model in found.models) for found in (before, after)]
    assert kept[0] <= kept[1] and before.placing.cost >= after.placing.cost


@pytest.mark.parametrize(
    ("models", "gpu"),
    [(MIXED, "2x 3090 + 64 GB RAM"), (SERVERS, "A100 80GB"), (SERVERS, "3090 (20 GB free)")],
)
def test_every_server_surely_fits_beside_those_that_started_before(
    models: tuple[str, ...], gpu: str
) -> None:
    found = placed(*models, gpu=gpu)
    assert found.placing.all_stay
    left = [device.device_free_bytes for device in found.machine.gpus]
    order = sorted(found.models, key=lambda model: model.server.start if model.server else 0)
    for model in order:
        server = model.server
        assert server is not None and server.config.verdict.runs
        if server.config.machine.gpus and not server.config.in_part:
            assert server.config.verdict is Verdict.FITS
            free = server.config.gpu.device_free_bytes
            assert free <= min(left[device] for device in server.devices)
        for device, taking in zip(server.devices, server.seat.option.takings, strict=True):
            left[device] -= taking.held_bytes
    assert all(amount >= 0 for amount in left)
    assert tuple(left) == found.placing.state.left_bytes


TINYLLAMA = "TinyLlama/TinyLlama-1.1B-Chat-v1.0"


def shares_of(found: Desk) -> list[float]:
    """Shares of the servers in starting order."""
    servers = [model.server for model in found.models if model.server]
    servers.sort(key=lambda server: server.start or 0)
    return [server.share for server in servers if server.share is not None]


def test_a_second_vllm_before_0_9_counts_what_the_first_holds() -> None:
    """On an L40S 20 and then 30 % started, 20 and then 20 did not (vllm issue 14376)."""
    line = f"{TINYLLAMA} engine=vllm context=1024"
    old = placed(*[f"{line} engine_version=0.7.3"] * 2, gpu="L40S")
    new = placed(*[line] * 2, gpu="L40S")
    (first, second), later = shares_of(old), shares_of(new)
    assert first <= 0.2 and first < second <= 0.3
    assert later[0] == later[1] <= 0.2
    assert all("--kv-cache-memory-bytes" in command for command in new.files.commands)
    assert not any("--kv-cache-memory-bytes" in command for command in old.files.commands)


def test_a_second_model_of_an_a100_needs_the_share_of_both() -> None:
    """75 and then 20 % of 80 GB: the second found no memory for its cache (vllm issue 10533)."""
    options = "engine=vllm engine_version=0.6.4 context=16384 quant=gptq-int4-g128"
    models = (f"{LARGE} {options}", f"Qwen/Qwen2.5-14B-Instruct {options}")
    found = placed(*models, gpu="A100 80GB")
    first, second = shares_of(found)
    assert found.placing.all_stay and first <= 0.75 and second > 0.75


def test_vllm_is_told_a_cache_that_holds_what_was_asked_for() -> None:
    for model in placed(*SERVERS[:2], gpu="A100 80GB").models:
        server = model.server
        assert server is not None and server.share is not None
        assert server.cache_bytes is not None
        parts = server.config.estimate.per_gpu
        assert server.cache_bytes >= parts.kv_cache.likely
        others = server.config.estimate.shared.held.high - parts.kv_cache.high
        assert server.cache_bytes + others <= server.share * 80 * 2**30


def test_vllm_is_told_no_cache_for_a_model_that_also_keeps_what_it_hears() -> None:
    """Whisper needs 320 MB: 122 blocks of 16 tokens, 94 of them for its encoder's 1,500."""
    (model,) = placed(f"{WHISPER} engine=vllm", gpu="4090").models
    assert model.server is not None and model.server.cache_bytes is None
    (command,) = placed(f"{WHISPER} engine=vllm", gpu="4090").files.commands
    assert "--kv-cache-memory-bytes" not in command and "--gpu-memory-utilization" in command


def test_models_keep_to_devices_of_one_vendor_where_that_loses_nothing() -> None:
    """BGE was divided over both by Vulkan, although either had room for it."""
    found = placed(f"{MEDIUM} context=16384", SMALL, BGE, gpu="RX 7900 XTX + 3090 + 64 GB RAM")
    assert found.placing.all_stay
    assert all(model.server and len(model.server.devices) == 1 for model in found.models)
    assert len(compose_of(found)) == 3
    assert "rig_vulkan" not in {note.code for note in found.notes}


@pytest.mark.parametrize("gpu", ["Arc Pro B60 Dual", "MI250"])
def test_a_model_may_live_on_one_device_of_a_board(gpu: str) -> None:
    """Both models were divided over both devices of the board."""
    found = placed(MEDIUM, SMALL, gpu=gpu)
    assert [model.server and model.server.devices for model in found.models] == [(0,), (1,)]
    board = found.machine.gpu
    assert board.devices_per_board == 2 and found.machine.boards == 1
    for device, model in zip(found.devices, found.models, strict=True):
        assert device.gpu == board and device.free_bytes == board.device_free_bytes
        assert model.server is not None
        alone = model.server.config.gpu
        assert alone.device_memory_bytes == board.device_memory_bytes
        assert alone.bandwidth_bytes_per_second == pytest.approx(
            (board.bandwidth_bytes_per_second or 0) / 2
        )


def test_a_part_in_system_memory_is_as_small_as_the_devices_allow() -> None:
    """A card of 24 GB stayed empty, and all 58 GiB of the large model were in system memory."""
    lines = ("meta-llama/Llama-3.3-70B-Instruct users=8", "Qwen/Qwen3-Embedding-8B")
    large, small = placed(*lines, gpu="2x 3090 + 3060 + 64 GB RAM").models
    assert large.server is not None and small.server is not None
    assert small.server.devices == (0,) and small.server.stays
    option = large.server.seat.option
    assert option.in_part and option.total_bytes > 23 * 2**30


def test_vllm_divides_matrices_before_it_divides_layers() -> None:
    """Two ranks by three stages on six of eight cards came before eight ranks."""
    large, _ = placed("deepseek-ai/DeepSeek-R1 engine=vllm users=16", SMALL, gpu="8x H200").models
    assert large.server is not None and len(large.server.devices) == 8
    split = large.server.config.estimate.placement.split
    assert (split.tensor, split.pipeline) == (8, 1)


def test_without_a_machine_the_cheapest_that_keeps_all_is_named() -> None:
    found = placed(SMALL, BGE)
    assert found.placing.all_stay and found.costs is not None
    usd = found.costs.buy_usd
    assert usd is not None
    limited = {"models": (SMALL, BGE), "max_usd": usd - 1}
    with pytest.raises(InvalidRequest) as refused:
        desk(embedded_sizer(), DeskRequest.from_fields(limited))
    assert refused.value.fields["reason"] == "no_gpu_for_desk"
    dearer = placed(SMALL, BGE, segment="workstation")
    assert dearer.costs is not None and (dearer.costs.buy_usd or 0) > usd


def test_system_memory_counts_for_the_cheapest_machine() -> None:
    """One Arc B570 keeps both with what is in system memory; two were named, or more."""
    found = placed(CHAT, SMALL, ram_gb=128)
    one = placed(CHAT, SMALL, gpu="Arc B570 + 128 GB RAM")
    assert found.placing.all_stay and one.placing.all_stay and found.costs is not None
    usd = one.machine.gpu.buy_usd
    assert usd and found.costs.buy_usd and found.costs.buy_usd <= usd
    assert sum(gpu.device_free_bytes for gpu in found.machine.gpus) < sum(
        model.server.config.estimate.stored_bytes for model in found.models if model.server
    )


def test_weights_that_a_command_loads_come_before_less_loss() -> None:
    """Whisper in GPTQ would fit with the others in more bits, but it has to be made first."""
    found = placed(SMALL, MEDIUM, WHISPER, BGE, gpu="3090")
    server = found.models[2].server
    assert found.placing.all_stay and server is not None
    assert server.config.estimate.quant.slug in ("bf16", "fp8")
    assert "PUBLISHER" not in found.files.commands[2]


def test_system_memory_alone_is_a_machine_too() -> None:
    found = placed(TINY, BGE, gpu="64 GB RAM")
    assert found.placing.all_stay
    for service in compose_of(found).values():
        assert service["image"].endswith(":server") and "deploy" not in service
    assert all("-ngl 0" in command for command in found.files.commands)
    assert all(model.server and model.server.devices == () for model in found.models)


def test_the_answer_adds_up() -> None:
    answer = answered(*MIXED, gpu="2x 3090 + 64 GB RAM")
    for device in answer["devices"]:
        held = sum(
            model["device_bytes"][model["devices"].index(device["number"])]
            for model in answer["models"]
            if model["state"] == "resident" and device["number"] in model["devices"]
        )
        assert held == device["held_bytes"]
        assert held + device["left_bytes"] == device["free_bytes"]
    assert answer["answer"]["kind"] == "desk" and answer["change"] is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_has_words(language: Language) -> None:
    found = placed(f"{SMALL} context=40960", f"{CHAT} context=32768", gpu="3090")
    answer = desk_answer(found, lambda note: say_note(note, language)).document()
    assert answer["answer"]["sentence"] and answer["change"]["message"]
    assert all(note["message"] for note in answer["notes"])


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"models": [SMALL] * 9, "gpu": "3090"}, "models", "too_many_models"),
        ({"models": [], "gpu": "3090"}, "models", "empty"),
        ({"models": [f"{SMALL} role=cook"], "gpu": "3090"}, "role", "not_one_of"),
        ({"models": [f"{SMALL} role=pictures"], "gpu": "3090"}, "role", "role_of_other_models"),
        ({"models": [f"{SMALL} resident=maybe"]}, "resident", "not_one_of"),
        ({"models": [f"{SMALL} colour=red"]}, "models", "unknown_in_line"),
        ({"models": [f"{SMALL} users=2 context=4096 Users=3"]}, "models", "repeated"),
        ({"models": [f"{SMALL} users=0"]}, "concurrency", "out_of_range"),
        ({"models": [SMALL], "gpu": "9x 3090"}, "gpu", "out_of_range"),
    ],
)
def test_wrong_lines_are_refused(fields: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        desk(embedded_sizer(), DeskRequest.from_fields(fields))
    assert (refused.value.fields["field"], refused.value.fields["reason"]) == (field, reason)


@pytest.mark.parametrize(("model", "error"), [("nope/nope", ModelUnreadable), ("", InvalidRequest)])
def test_a_model_that_is_not_there_is_an_error(model: str, error: type[GpusizerError]) -> None:
    with pytest.raises(error):
        desk(embedded_sizer(), DeskRequest.from_fields({"models": [f"{model} users=1"]}))


def test_lines_may_be_one_text() -> None:
    text = f"{SMALL} users=2; {BGE} role=embeddings,\n{WHISPER} resident=no"
    lines = DeskRequest.from_fields({"models": text}).lines
    assert [line.request.model for line in lines] == [SMALL, BGE, WHISPER]
    assert [line.must_stay for line in lines] == [True, True, False]
    assert read_line(f"{SMALL} USERS=3 Resident=NO").request.concurrency == 3


def test_an_address_with_a_query_is_a_model_and_no_field() -> None:
    address = f"https://huggingface.co/{SMALL}?library=transformers"
    (model,) = placed(f"{address} users=2", gpu="3090").models
    assert model.profile.repo_id == SMALL
    assert model.question.study.workload.concurrency == 2
