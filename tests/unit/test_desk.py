"""A desk: its models beside one another agree with each model alone, and its files start them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml

from gpusizer.advice.desk import changes
from gpusizer.advice.desk.changes import most_boards_more, smallest_change
from gpusizer.advice.desk.choices import choices_on
from gpusizer.api.desk import desk_answer
from gpusizer.core.errors import GpusizerError, InvalidRequest, ModelUnreadable
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.fit import Fit
from gpusizer.fit.run_config import headroom_on
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.launch.desk_files import desk_files
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.requests.desk_request import DeskRequest, read_line
from tests.asking import size
from tests.sizers import embedded_sizer

CHAT, MEDIUM, MIDDLE = "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-14B", "Qwen/Qwen3-32B"
SMALL, TINY = "Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"
WHISPER, BGE, FLUX = (
    "openai/whisper-large-v3",
    "BAAI/bge-large-en-v1.5",
    "black-forest-labs/FLUX.1-dev",
)
MIXED = (f"{CHAT} users=2 context=32768", BGE, f"{WHISPER} resident=no", FLUX)
SERVERS = tuple(f"{model} engine=vllm" for model in (SMALL, TINY, WHISPER))


@cache
def placed(*models: str, gpu: str = "", **more: Any) -> Desk:
    return desk(embedded_sizer(), DeskRequest.from_fields({"models": models, "gpu": gpu, **more}))


@cache
def answered(*models: str, gpu: str = "") -> dict[str, Any]:
    return desk_answer(placed(*models, gpu=gpu), say_note).document()


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


TINYLLAMA, LARGE = "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "Qwen/Qwen2.5-72B-Instruct"


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


@pytest.mark.parametrize(
    ("line", "batch"),
    [
        ("nomic-ai/nomic-embed-text-v1.5 context=8192 users=2", "8192"),
        (f"{BGE} users=4", None),  # its 512 tokens are the usual batch
        ("Qwen/Qwen3-Embedding-8B context=8192", None),  # keeps its last token alone
        ("Qwen/Qwen3-0.6B context=8192 role=reranking", "8192"),
        (f"{TINY} context=8192", None),
    ],
)
def test_llama_server_computes_a_whole_input_where_it_has_to(line: str, batch: str | None) -> None:
    """It refused inputs above 512 tokens: "increase the physical batch size"."""
    found = placed(f"{line} engine=llama.cpp", gpu="3090")
    words = shlex.split(found.files.commands[0])
    assert ("-ub" in words) is ("-b" in words) is (batch is not None)
    if batch is None:
        return
    assert words[words.index("-ub") + 1] == words[words.index("-b") + 1] == batch
    server = found.models[0].server
    assert server is not None
    alone = choices_on(server.study.with_workload(batch_size=None, ubatch_size=None), found.machine)
    usual = alone.all[0].option.total_bytes
    assert server.seat.option.total_bytes > usual


def compose_of(found: Desk) -> dict[str, Any]:
    services = yaml.safe_load(found.files.compose)["services"]
    assert isinstance(services, dict)
    return services


def shares_on(found: Desk) -> dict[str, float]:
    """Shares of each device in the Compose file, added up."""
    added: dict[str, float] = {}
    for service in compose_of(found).values():
        command = service["command"]
        if "--gpu-memory-utilization" not in command:
            continue
        share = float(command[command.index("--gpu-memory-utilization") + 1])
        (devices,) = service["deploy"]["resources"]["reservations"]["devices"]
        for device in devices["device_ids"]:
            added[device] = added.get(device, 0.0) + share
    return added


def test_compose_starts_servers_one_after_the_other_with_their_shares() -> None:
    found = placed(*SERVERS, gpu="A100 80GB")
    services = compose_of(found)
    assert len(services) == 3 and shares_on(found).keys() == {"0"}
    assert 0 < shares_on(found)["0"] <= 0.92
    for before, (name, service) in zip([None, *services], services.items(), strict=False):
        expected = None if before is None else {before: {"condition": "service_healthy"}}
        assert service.get("depends_on") == expected, name
        assert "/health" in service["healthcheck"]["test"][1]
    ports = [service["ports"][0].partition(":")[0] for service in services.values()]
    assert len(set(ports)) == 3


def test_llama_swap_keeps_those_that_stay_and_swaps_the_others() -> None:
    found = placed(SMALL, *[f"{MEDIUM} resident=no"] * 2, gpu="3090")
    assert [model.state for model in found.models] == ["resident", "on_demand", "on_demand"]
    written = yaml.safe_load(found.files.llama_swap)
    members = [name for group in written["groups"].values() for name in group["members"]]
    assert sorted(members) == sorted(written["models"])
    for name, group in written["groups"].items():
        assert group["exclusive"] is False and group["swap"] is (name == "on-demand")
    assert written["hooks"]["on_startup"]["preload"] == written["groups"]["resident"]["members"]
    for model in written["models"].values():
        words = shlex.split(model["cmd"])
        assert words[0] == "llama-server" and words[-2:] == ["--port", "${PORT}"]
        assert model["env"] == ["CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=0"]


def swapped(found: Desk) -> dict[str, Any]:
    models = yaml.safe_load(found.files.llama_swap)["models"]
    assert isinstance(models, dict)
    return models


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("role=embeddings engine=vllm", "--runner pooling"),
        ("role=embeddings engine=vllm engine_version=0.10.1", "--runner pooling"),
        ("role=embeddings engine=vllm engine_version=0.10.0", "--task embed"),
        ("role=reranking engine=vllm engine_version=0.9.2", "--task score"),
        ("role=reranking engine=llama.cpp", "--reranking"),
    ],
)
def test_a_server_is_told_what_its_model_is_for(line: str, options: str) -> None:
    """vLLM up to 0.10.0 does not start with --runner."""
    (command,) = placed(f"{BGE} {line}", gpu="3090").files.commands
    asked = [it for it in ("--runner", "--task", "--reranking", "--embeddings") if it in command]
    assert options in command and len(asked) == 1


@pytest.mark.parametrize(
    ("line", "gpu", "name"),
    [
        (f"{SMALL} engine=vllm quant=bf16", "A100 80GB", SMALL),
        (f"{WHISPER} engine=vllm quant=bf16", "A100 80GB", WHISPER),
        (f"{SMALL} engine=sglang quant=bf16", "A100 80GB", SMALL),
        (f"{SMALL} engine=mlx quant=bf16", "M4 Max 64GB", SMALL),
        (f"{SMALL} engine=llama.cpp", "A100 80GB", None),
    ],
)
def test_llama_swap_asks_each_server_by_the_name_that_it_knows(
    line: str, gpu: str, name: str | None
) -> None:
    """vLLM refuses the name of the file's entry: "The model `qwen3-8b` does not exist"."""
    ((_, model),) = swapped(placed(line, gpu=gpu)).items()
    assert model.get("useModelName") == name


def test_servers_of_mlx_are_in_llama_swap_and_in_no_container() -> None:
    found = placed(SMALL, TINY, gpu="M4 Max 64GB")
    engines = [model.server.config.estimate.engine.slug for model in found.models if model.server]
    assert engines == ["mlx", "mlx"] and len(swapped(found)) == 2
    assert all(it["cmd"].startswith("mlx_lm.server --model") for it in swapped(found).values())
    assert found.files.compose == "" and "desk_no_server" not in {it.code for it in found.notes}


def test_each_driver_counts_its_own_devices_from_0() -> None:
    """The RTX 3090 is the second device of the machine, and the first that CUDA has."""
    found = placed(f"{SMALL} engine=vllm", gpu="RX 7900 XTX + 3090")
    assert found.models[0].server and found.models[0].server.devices == (1,)
    ((name, service),) = compose_of(found).items()
    (reserved,) = service["deploy"]["resources"]["reservations"]["devices"]
    assert reserved["device_ids"] == ["0"]
    by_bus, chosen = swapped(found)[name]["env"]
    assert (by_bus, chosen) == ("CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=0")
    for text in (found.files.compose, found.files.llama_swap):
        (line,) = (line for line in text.splitlines() if line.startswith("#"))
        assert line == "# CUDA 0: GeForce RTX 3090 24GB"


def test_a_model_over_two_vendors_chooses_devices_of_vulkan() -> None:
    found = placed(MIDDLE, gpu="RX 7900 XTX + 3090")
    assert found.models[0].server and found.models[0].server.devices == (0, 1)
    assert "rig_vulkan" in {note.code for note in found.notes}
    ((_, model),) = swapped(found).items()
    assert model["env"] == ["GGML_VK_VISIBLE_DEVICES=0,1"]
    named = [line for line in found.files.llama_swap.splitlines() if line.startswith("#")]
    assert [line.partition(":")[0] for line in named] == ["# Vulkan 0", "# Vulkan 1"]


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


@pytest.mark.parametrize(
    ("models", "gpu", "missing"),
    [
        ((MIDDLE,), "RX 7900 XTX + 3090", ["Qwen3-32B"]),
        ((f"{TINY} engine=vllm", MIDDLE), "RX 7900 XTX + 3090", ["Qwen3-32B"]),
        ((f"{TINY} engine=llama.cpp",), "M4 Pro 24GB", ["Qwen3-0.6B"]),
        ((TINY,), "3090", []),
    ],
)
def test_a_model_without_an_image_is_said_to_be_in_no_compose_file(
    models: tuple[str, ...], gpu: str, missing: list[str]
) -> None:
    found = placed(*models, gpu=gpu)
    said = [note.fields["models"] for note in found.notes if note.code == "desk_no_container"]
    assert said == ([", ".join(missing)] if missing else [])
    written = compose_of(found) if found.files.compose else {}
    assert len(written) + len(missing) == len(models) == len(swapped(found))


def test_every_server_has_a_name_of_its_own() -> None:
    """The third model is called as the second one would be."""
    found = placed(SMALL, gpu="2x 3090")
    model = found.models[0]
    ids = ("a/Qwen3-8B", "b/Qwen3-8B", "me/Qwen3-8B-2")
    profiles = [replace(model.profile, repo_id=repo_id) for repo_id in ids]
    files = desk_files(found.machine, [(it, model.role, model.server) for it in profiles])
    written = [
        yaml.safe_load(files.compose)["services"],
        yaml.safe_load(files.llama_swap)["models"],
    ]
    assert [len(services) for services in written] == [3, 3]


def test_commands_start_servers_beside_one_another() -> None:
    found = placed(*[f"{SMALL} engine=vllm"] * 2, TINY, gpu="2x 3090")
    ports, chosen = set(), []
    for model, command in zip(found.models, found.files.commands, strict=True):
        assert model.server is not None
        words = shlex.split(command)
        ports.add(words[words.index("--port") + 1])
        chosen.append(words[1])
        numbers = ",".join(map(str, model.server.devices))
        assert words[:2] == ["CUDA_DEVICE_ORDER=PCI_BUS_ID", f"CUDA_VISIBLE_DEVICES={numbers}"]
    published = [service["ports"][0] for service in compose_of(found).values()]
    assert ports == {text.partition(":")[0] for text in published} and len(ports) == 3
    assert len(set(chosen[:2])) == 2  # neither has the other's device


def test_a_model_that_waits_has_a_profile_in_compose_and_a_time_to_load() -> None:
    found = placed(SMALL, f"{MEDIUM} resident=no", f"{FLUX} resident=no", gpu="3090")
    waiting = [model for model in found.models if model.state == "on_demand"]
    assert waiting and all(model.loading and model.loading.disk_minutes > 0 for model in waiting)
    for name, service in compose_of(found).items():
        names = [model.profile.repo_id.partition("/")[2].lower() for model in waiting]
        assert service.get("profiles") == (["on-demand"] if name in names else None)
    # The profile would start all of them at once, for which there is no room.
    assert "# on-demand, one at a time: docker compose up -d qwen3-14b\n" in found.files.compose


@pytest.mark.parametrize(
    ("models", "gpu", "kind"),
    [
        ((f"{SMALL} context=16384 quant=q8_0", TINY), "3060", "quant"),
        ((f"{SMALL} context=40960", TINY), "3060", "context"),
        ((f"{SMALL} quant=q8_0", f"{SMALL} quant=q8_0"), "3060", "gpu"),
    ],
)
def test_the_smallest_change_works_when_it_is_made(
    models: tuple[str, ...], gpu: str, kind: str
) -> None:
    found = placed(*models, gpu=gpu)
    change, changed = found.change, list(models)
    assert not found.placing.all_stay and change is not None and change.kind == kind
    if change.number is None:
        gpu = f"{1 + int(change.value)}x {gpu}"
    else:
        line = re.sub(rf" {kind}=\S+", "", changed[change.number])
        changed[change.number] = f"{line} {kind}={change.value}"
    assert placed(*changed, gpu=gpu).placing.all_stay


CROWDED = (f"{SMALL} quant=q8_0",) * 2


def searched(found: Desk, wider: Sequence[Study] = ()) -> str:
    """Return the outcome of looking for a change again."""
    choices = [model.choices for model in found.models]
    return smallest_change(found.machine, choices, wider).outcome


def test_only_a_change_whose_placing_keeps_all_is_suggested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = placed(*CROWDED, gpu="3060")
    assert searched(found) == "found"
    monkeypatch.setattr(changes, "place_all", lambda *_: found.placing)  # cut short
    assert searched(found) == "cut_short"


def test_a_search_that_is_cut_short_denies_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    found = placed(*CROWDED, gpu="3060")
    for can_stay, outcome in ((False, "none_helps"), (None, "cut_short")):
        monkeypatch.setattr(changes, "all_can_stay", lambda *_, known=can_stay: known)
        assert searched(found) == outcome


def test_a_search_whose_time_is_spent_denies_no_change() -> None:
    found = placed(*CROWDED, gpu="3060")
    late = found.models[0].question.study.with_workload()
    late.budget = TimeBudget(-1, lambda: 0.0)
    assert searched(found, [late]) == "cut_short"


def test_the_answer_says_what_is_known_of_changes() -> None:
    said = [
        answered(*models, gpu=gpu)["change_search"]
        for models, gpu in ((CROWDED, "3060"), (CROWDED, "3090"), ((LARGE,), "3060"))
    ]
    assert said == ["found", "not_needed", "none_helps"]


@pytest.mark.parametrize(
    ("gpu", "more"),
    [
        ("3060", 2),
        ("7x 3060", 1),
        ("8x 3060", 0),
        ("H100 SXM", 2),
        ("4x K80", 0),
        ("3x K80", 1),
        ("RTX 4090 Laptop", 0),
        ("M4 Pro 24GB", 0),
        ("DGX Spark", 0),
        ("GH200 96GB", 0),
        ("64 GB RAM", 0),
    ],
)
def test_boards_are_only_added_where_one_can_plug_them_in(gpu: str, more: int) -> None:
    assert most_boards_more(placed(TINY, gpu=gpu).machine) == more


def test_two_laptops_or_a_mac_are_told_of_no_further_gpu() -> None:
    """One more laptop GPU was suggested: as a card of 16 GB it would have been enough."""
    models = (f"{MEDIUM} quant=q4_k_m", f"{MEDIUM} quant=q4_k_m")
    card, laptop, mac = (
        placed(*models, gpu=gpu) for gpu in ("5060 Ti 16GB", "RTX 4090 Laptop", "M4 Pro 24GB")
    )
    assert card.change is not None and card.change.kind == "gpu"
    for found in (laptop, mac):
        assert found.change is None and not found.placing.all_stay
        said = found.conclusion.sentence(say_note)
        assert "No single change" in said and "more GPU" not in said


def test_a_board_more_has_all_its_devices() -> None:
    """An Arc Pro B60 Dual is one board with two devices of 24 GB."""
    models = [f"{MEDIUM} quant=q8_0"] * 4
    found = placed(*models, gpu="Arc Pro B60 Dual")
    assert found.change is not None and found.change.note.fields["count"] == 1
    assert placed(*models, gpu="2x Arc Pro B60 Dual").placing.all_stay


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
