"""Files that start the servers of a desk: for Docker Compose, and for llama-swap.

Compose starts those that stay loaded one after the other, because vLLM counts what others load
while it starts as its own (its issue 55827); the others have the profile "on-demand". llama-swap
keeps the group "resident" loaded and one at a time of the group "on-demand" beside it (its
config.example.yaml; `groups` at the top level is read by old and new releases). `useModelName` is
the name that it passes on: vLLM refuses any other.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from gpusizer.advice.conclusion.clauses import names, short_name
from gpusizer.advice.desk.seating import DeskServer
from gpusizer.core.errors import InvalidModelId, InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.fit.machine import CPU, VULKAN_NAME, Machine
from gpusizer.launch.containers import ACCESS, CONTAINERS, HUB_CACHE, Container, GpuAccess
from gpusizer.launch.deployment import name_of, yaml_text
from gpusizer.launch.start import PUBLISHER, start_of
from gpusizer.memory.engines.vllm.releases import takes_cache_bytes, takes_runner
from gpusizer.model.profile import ModelProfile

_CUDA = "CUDA"
_LLAMA_CPP = "llama.cpp"
_FIRST_PORT = 8001
_CONTINUED = "\\\n"
_MACRO = "${"
_ON_DEMAND = "on-demand"
_DOWNLOAD_SECONDS = 3600  # a first start may download weights
# Variables that choose devices, of stacks that `containers.toml` names none for. Vulkan's lists
# physical devices of every vendor (ggml/src/ggml-vulkan/ggml-vulkan.cpp of llama.cpp).
_STACK_VARIABLES = {_CUDA: "CUDA_VISIBLE_DEVICES", VULKAN_NAME: "GGML_VK_VISIBLE_DEVICES"}
# By engine and role: options of servers that answer in vectors and scores (docs.vllm.ai, "Pooling
# Models"; tools/server/README.md of llama.cpp; docs.sglang.io, "Embedding Models").
_OF_ROLE: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("vllm", "embeddings"): ("--runner", "pooling"),
    ("vllm", "reranking"): ("--runner", "pooling"),
    (_LLAMA_CPP, "embeddings"): ("--embeddings",),
    (_LLAMA_CPP, "reranking"): ("--reranking",),
    ("sglang", "embeddings"): ("--is-embedding",),
    ("sglang", "reranking"): ("--is-embedding",),
}
# Those of vLLM before it had a runner.
_TASKS = {"embeddings": ("--task", "embed"), "reranking": ("--task", "score")}
# Engines with a server that one command starts, which answers at `/health` (mlx_lm/server.py).
_SERVERS = frozenset({*CONTAINERS, "mlx"})
_MODEL_OPTIONS = ("--model", "--model-path")


@dataclass(frozen=True, slots=True)
class DeskFiles:
    """Files of a desk, "" for one that no model is in.

    Attributes:
        commands: the command of each model in the order of the request, with its devices and the
            port that it has in Compose; "" for one without.
    """

    compose: str
    llama_swap: str
    commands: tuple[str, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _Service:
    """The command of one server, split in words, without what says where it listens."""

    name: str
    server: DeskServer
    words: tuple[str, ...]

    @property
    def engine(self) -> str:
        return self.server.config.estimate.engine.slug

    @property
    def stack(self) -> str:
        return self.server.config.machine.backend

    @property
    def asked_as(self) -> str:
        """The name by which its server knows the model; "" for llama-server, which takes any."""
        if self.engine == _LLAMA_CPP:
            return ""
        option = next((it for it in _MODEL_OPTIONS if it in self.words), None)
        if option is None:
            return self.words[len(CONTAINERS[self.engine].program)]
        return self.words[self.words.index(option) + 1]


def desk_files(
    machine: Machine, models: Sequence[tuple[ModelProfile, str, DeskServer | None]]
) -> DeskFiles:
    """Return the files of models, each with its role and its server (None: loaded nowhere)."""
    services: list[_Service | None] = []
    notes: list[Note] = []
    taken: set[str] = set()
    for profile, role, server in models:
        service = None
        if server is not None:
            service, about = _service(profile, role, server, taken)
            notes += about
        services.append(service)
    started = sorted(filter(None, services), key=_order)
    if len(set(machine.gpus)) > 1 and started:
        notes.append(Note("desk_device_numbers"))
    compose, without_image = _compose(machine, started)
    if without_image:
        notes.append(Note("desk_no_container", models=names(without_image)))
    return DeskFiles(
        compose=compose,
        llama_swap=_llama_swap(machine, started),
        commands=tuple(
            _command(machine, it, _FIRST_PORT + started.index(it)) if it else "" for it in services
        ),
        notes=tuple(notes),
    )


def _order(service: _Service) -> tuple[bool, int]:
    return not service.server.stays, service.server.start or 0


def _service(
    profile: ModelProfile, role: str, server: DeskServer, taken: set[str]
) -> tuple[_Service | None, list[Note]]:
    # None where no single command starts a server, with the reason.
    engine, model = server.config.estimate.engine, short_name(profile)
    missing = Note("desk_no_server", model=model, engine=engine.name)
    if engine.slug not in _SERVERS:
        return None, [missing]
    try:
        start = start_of(profile, server.config, server.study.workload)
    except (InvalidModelId, InvalidRequest):
        return None, [missing]
    lines = start.line.text.replace(_CONTINUED, " ").splitlines()
    if len(lines) != 1 or _MACRO in lines[0]:
        return None, [missing]
    words = (*shlex.split(lines[0]), *_more_options(role, server))
    base = name_of(profile.repo_id)
    numbered = chain([base], (f"{base}-{number}" for number in count(2)))
    name = next(name for name in numbered if name not in taken)
    taken.add(name)
    notes = [Note("desk_published_copy", model=model, word=PUBLISHER)] if start.is_listed else []
    return _Service(name, server, words), notes


def _more_options(role: str, server: DeskServer) -> Iterator[str]:
    config = server.config
    engine = config.estimate.engine.slug
    version = server.study.workload.engine_version
    has_task = engine == "vllm" and not takes_runner(version)
    yield from (_TASKS.get(role, ()) if has_task else _OF_ROLE.get((engine, role), ()))
    if engine == "vllm" and server.cache_bytes and takes_cache_bytes(version):
        yield from ("--kv-cache-memory-bytes", str(server.cache_bytes))
    if engine == _LLAMA_CPP and config.arranged is None and len(server.devices) > 1:
        yield from ("-ts", ",".join("1" for _ in server.devices))


def _compose(machine: Machine, services: Sequence[_Service]) -> tuple[str, list[str]]:
    # The file, and models that no image serves.
    without_image: list[str] = []
    written: dict[str, object] = {}
    before = ""
    for number, service in enumerate(services):
        container = CONTAINERS.get(service.engine)
        access = ACCESS.get(service.stack)
        version = service.server.study.workload.engine_version
        engine = service.server.config.estimate.engine
        image = container and container.image(service.stack, version or engine.version)
        if not container or not image or (access is None and service.stack != CPU):
            without_image.append(short_name(service.server.study.profile))
            continue
        ids = _numbers(machine, service.stack, service.server)
        port = _FIRST_PORT + number
        written[service.name] = _compose_service(
            service, container, access, image, ids, port, before
        )
        if service.server.stays:
            before = service.name
    if not written:
        return "", without_image
    header = _header(machine, (service.stack for service in services if service.name in written))
    waiting = [it.name for it in services if it.name in written and not it.server.stays]
    if waiting:
        header += f"# {_ON_DEMAND}, one at a time: docker compose up -d {waiting[0]}\n"
    text = header + yaml_text({"services": written, "volumes": {"weights": None}})
    return text, without_image


def _compose_service(
    service: _Service,
    container: Container,
    access: GpuAccess | None,
    image: str,
    ids: Sequence[str],
    port: int,
    before: str,
) -> dict[str, object]:
    # Compose replaces "$" by variables; `$$` is one.
    words = [*service.words[len(container.program) :], *container.listens]
    environment = {"HF_TOKEN": "${HF_TOKEN:-}"}
    health = f"curl -fsS http://localhost:{container.port}/health || exit 1"
    body: dict[str, object] = {"image": image}
    if not service.server.stays:
        body["profiles"] = [_ON_DEMAND]
    if container.entrypoint:
        body["entrypoint"] = list(container.entrypoint)
    body |= {
        "command": [word.replace("$", "$$") for word in words],
        "ports": [f"{port}:{container.port}"],
        "environment": environment,
        "volumes": [f"weights:{HUB_CACHE}"],
        "ipc": "host",
        "restart": "unless-stopped",
        "healthcheck": {
            "test": ["CMD-SHELL", health],
            "interval": "5s",
            "timeout": "5s",
            "retries": 12,
            "start_period": f"{_DOWNLOAD_SECONDS}s",
        },
        **(access.service if access else {}),
    }
    if before:
        body["depends_on"] = {before: {"condition": "service_healthy"}}
    if access and access.variable:
        environment[access.variable] = ",".join(ids)
    elif ids:
        devices = [{"driver": "nvidia", "device_ids": [*ids], "capabilities": ["gpu"]}]
        body["deploy"] = {"resources": {"reservations": {"devices": devices}}}
    return body


def _llama_swap(machine: Machine, services: Sequence[_Service]) -> str:
    if not services:
        return ""
    models = {service.name: _swapped(machine, service) for service in services}
    stay = [service.name for service in services if service.server.stays]
    wait = [service.name for service in services if not service.server.stays]
    groups: dict[str, object] = {}
    if stay:
        groups["resident"] = {
            "swap": False,
            "exclusive": False,
            "persistent": True,
            "members": stay,
        }
    if wait:
        groups[_ON_DEMAND] = {"swap": True, "exclusive": False, "members": wait}
    written: dict[str, object] = {
        "healthCheckTimeout": _DOWNLOAD_SECONDS,
        "models": models,
        "groups": groups,
    }
    if stay:
        written["hooks"] = {"on_startup": {"preload": stay}}
    return _header(machine, (_chosen_stack(machine, it) for it in services)) + yaml_text(written)


def _command(machine: Machine, service: _Service, port: int) -> str:
    words = (*service.words, "--port", str(port))
    return " ".join((*_environment(machine, service), shlex.join(words)))


def _swapped(machine: Machine, service: _Service) -> dict[str, object]:
    model: dict[str, object] = {"cmd": f"{shlex.join(service.words)} --port ${{PORT}}"}
    if service.asked_as:
        model["useModelName"] = service.asked_as
    environment = _environment(machine, service)
    if environment:
        model["env"] = environment
    return model


def _environment(machine: Machine, service: _Service) -> list[str]:
    stack = _chosen_stack(machine, service)
    access = ACCESS.get(stack)
    variable = (access.variable if access else "") or _STACK_VARIABLES.get(stack, "")
    if not variable:
        return []
    by_bus = ["CUDA_DEVICE_ORDER=PCI_BUS_ID"] if stack == _CUDA else []
    return [*by_bus, f"{variable}={','.join(_numbers(machine, stack, service.server))}"]


def _chosen_stack(machine: Machine, service: _Service) -> str:
    # Without a device of its own it sees none of the machine's.
    return machine.backend if service.stack == CPU else service.stack


def _numbers(machine: Machine, stack: str, server: DeskServer) -> list[str]:
    counted = _counted(machine, stack)
    return [str(counted.index(device)) for device in server.devices]


def _counted(machine: Machine, stack: str) -> list[int]:
    # Devices in the order in which a stack counts them from 0: its own, under Vulkan all.
    is_every = stack == VULKAN_NAME
    return [n for n, gpu in enumerate(machine.gpus) if is_every or gpu.software == stack]


def _header(machine: Machine, stacks: Iterable[str]) -> str:
    lines = (
        f"# {stack} {number}: {re.sub(r'[^ -~]', '?', machine.gpus[device].name)}\n"
        for stack in dict.fromkeys(stacks)
        for number, device in enumerate(_counted(machine, stack))
    )
    return "".join(lines)
