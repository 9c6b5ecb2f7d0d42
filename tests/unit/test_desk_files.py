"""Files and commands of a desk: Docker Compose, llama-swap, and what starts each server."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
import yaml

from gpusizer.advice.desk.choices import choices_on
from gpusizer.launch.desk_files import desk_files
from gpusizer.usecases.desk import Desk
from tests.desks import (
    BGE,
    FLUX,
    MEDIUM,
    MIDDLE,
    SERVERS,
    SMALL,
    TINY,
    WHISPER,
    compose_of,
    placed,
    swapped,
)


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
