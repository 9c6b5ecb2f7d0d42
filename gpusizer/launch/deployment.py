"""Deployment: a plan's replicas as a Compose file and as a Kubernetes manifest, to copy.

A replica runs its launch command. Compose starts the replicas of one machine, each on GPUs of its
own and at a port of its own; in Kubernetes one Deployment keeps all of them behind one Service.
"""

from __future__ import annotations

import re
import shlex
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from gpusizer.core.errors import InvalidModelId, InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.fit.platforms import setup_of
from gpusizer.launch import launch_command
from gpusizer.launch.base import HEAD_NODE, LaunchCommand
from gpusizer.launch.containers import (
    ACCESS,
    CONTAINERS,
    HUB_CACHE,
    Container,
    GpuAccess,
)
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.serving_rows import Replicas, ServingPlan

_Yaml = dict[str, Any]
_SECRET = "hf-token"
_LONGEST_NAME = 40  # names of Pods, made of this one, have 63 characters
_LINE = 90
_RANK = "--node-rank"
_LEADER, _NUMBER = "$(LWS_LEADER_ADDRESS)", "$(LWS_WORKER_INDEX)"
_CONTINUED = "\\\n"


@dataclass(frozen=True, slots=True)
class Deployment:
    """Files to start the replicas of one row of a plan."""

    replica: LaunchCommand  # the command of one of them
    # A Compose file for one machine; "" without a container, and for replicas over several
    # machines.
    compose: str = ""
    kubernetes: str = ""  # a manifest for all replicas; "" without a container
    notes: tuple[Note, ...] = ()  # facts that the reader needs, as codes


@dataclass(frozen=True, slots=True)
class _Server:
    """The container of one replica."""

    name: str
    image: str
    container: Container
    access: GpuAccess
    arguments: list[str]
    gpus: int
    nodes: int

    def started(self, entry: str, arguments: str) -> dict[str, list[str]]:
        """Return the words to start, under Compose's or Kubernetes's names for them."""
        # Both replace "$" by variables of their own (`$$` is one); names of branches may contain
        # it.
        own = {entry: list(self.container.entrypoint)} if self.container.entrypoint else {}
        return own | {arguments: [word.replace("$", "$$") for word in self.arguments]}


def cheapest_deployment(
    plan: ServingPlan, profile: ModelProfile, asked: Workload
) -> Deployment | None:
    """Return the deployment of the first row of a plan; None without rows.

    `asked` is the workload of the request.
    """
    # None also for names that no command may contain because the Hub cannot have them.
    if not plan.rows:
        return None
    row = plan.rows[0]
    try:
        return deployment_of(profile, row, workload_to_start(plan, row, asked))
    except (InvalidModelId, InvalidRequest):
        return None


def workload_to_start(plan: ServingPlan, row: Replicas, asked: Workload) -> Workload:
    """Return what a server is started with: the context that was asked for as its limit, where the
    cache of a replica holds one such request, and room for as many as it may have in flight."""
    sequence = plan.workload
    held = sequence.context * row.most_users
    limit = asked.context if sequence.context < asked.context <= held else sequence.context
    return replace(sequence, context=limit, concurrency=max(row.most_users, 1))


def deployment_of(profile: ModelProfile, row: Replicas, workload: Workload) -> Deployment:
    """Return the deployment of a row; `workload` is what a server is started with.

    Raise InvalidModelId for a name that the Hub cannot have.
    """
    each = launch_command(profile, row.config, workload)
    server = _server(profile, row, each, workload)
    if server is None:
        reason = Note("deploy_no_container", engine=row.estimate.engine.name)
        return Deployment(each, notes=(reason,) if each.text else ())
    setup = setup_of(row.gpu, row.total_boards)
    held = min(row.replicas, max(1, setup.per_node // row.boards))
    machines = -(-row.replicas // held)
    notes = [Note("deploy_token", secret=_SECRET)]
    if server.nodes > 1:
        notes.append(Note("deploy_groups", nodes=server.nodes))
        return Deployment(each, "", _kubernetes(server, row.replicas), (*notes,))
    if machines > 1:
        notes.append(Note("deploy_machines", machines=machines, replicas=held))
    return Deployment(each, _compose(server, held), _kubernetes(server, row.replicas), (*notes,))


def _server(
    profile: ModelProfile, row: Replicas, each: LaunchCommand, workload: Workload
) -> _Server | None:
    # None without a published image, for commands that make files before they serve them, and for
    # machines that differ in more than their number.
    engine, stack = row.estimate.engine, row.gpu.software
    container, access = CONTAINERS.get(engine.slug), ACCESS.get(stack)
    lines = each.text.replace(_CONTINUED, " ").splitlines()
    if container is None or access is None or len(lines) != 1:
        return None
    image = container.image(stack, workload.engine_version or engine.version)
    if image is None:
        return None
    words = shlex.split(lines[0])
    nodes = row.machines_per_replica
    if nodes > 1 and _RANK not in words:
        return None
    arguments = [*words[len(container.program) :], *container.listens]
    name, gpus = name_of(profile.repo_id), row.estimate.split.gpus // nodes
    return _Server(name, image, container, access, arguments, gpus, nodes)


def name_of(repo_id: str) -> str:
    """Return a name of the model for services and Pods."""
    # Kubernetes takes lower case, digits and dashes (RFC 1123).
    name = re.sub(r"[^a-z0-9]+", "-", repo_id.rpartition("/")[2].lower())
    return name[:_LONGEST_NAME].strip("-") or "model"


def _compose(server: _Server, replicas: int) -> str:
    shared: _Yaml = {
        "image": server.image,
        **server.started("entrypoint", "command"),
        "ipc": "host",
        "restart": "unless-stopped",
        "volumes": [f"weights:{HUB_CACHE}"],
        **server.access.service,
    }
    parts = ["x-replica: &replica", indent(yaml_text(shared), "  ").rstrip(), "", "services:"]
    for number in range(replicas):
        parts.append(indent(_service(server, number), "  ").rstrip())
    return "\n".join((*parts, "", "volumes:", "  weights:", ""))


def _service(server: _Server, number: int) -> str:
    port, first = server.container.port, number * server.gpus
    ids = [str(device) for device in range(first, first + server.gpus)]
    environment = {"HF_TOKEN": "${HF_TOKEN:-}"}
    own: _Yaml = {"ports": [f"{port + number}:{port}"], "environment": environment}
    if server.access.variable:
        environment[server.access.variable] = ",".join(ids)
    else:
        devices = [{"driver": "nvidia", "device_ids": ids, "capabilities": ["gpu"]}]
        own["deploy"] = {"resources": {"reservations": {"devices": devices}}}
    body = "<<: *replica\n" + yaml_text(own)
    return f"replica-{number}:\n{indent(body, '  ')}"


def _kubernetes(server: _Server, replicas: int) -> str:
    # All replicas, as a Deployment or as groups of Pods, and the Service before them. A replica
    # over several machines is a group of Pods of a LeaderWorkerSet, which sets each Pod's number
    # and the address of the first (lws.sigs.k8s.io; docs.vllm.ai, "LWS").
    container, groups = server.container, server.nodes > 1
    values: _Yaml = {
        "name": server.name,
        "replicas": replicas,
        "nodes": server.nodes,
        "image": server.image,
        "port": container.port,
        "gpus": {server.access.resource: server.gpus},
        "secret": _SECRET,
        "cache": HUB_CACHE,
        **server.started("command", "args"),
    }
    values["pod"] = _filled(_templates()["pod"], values)
    if groups:
        values["worker"] = _follower(values["pod"], container)
    kinds = ("groups" if groups else "deployment", "service")
    return "---\n".join(yaml_text(_filled(_templates()[kind], values)) for kind in kinds)


@cache
def _templates() -> _Yaml:
    # Objects of Kubernetes by their kind; `$name` is replaced by a value.
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def _filled(template: Any, values: _Yaml) -> Any:
    # Parts without a value are left out.
    if isinstance(template, dict):
        filled = {key: _filled(part, values) for key, part in template.items()}
        return {key: part for key, part in filled.items() if part is not None}
    if isinstance(template, list):
        return [_filled(part, values) for part in template]
    named = isinstance(template, str) and template.startswith("$")
    return values.get(template[1:]) if named else template


def _follower(leader: _Yaml, container: Container) -> _Yaml:
    # The leader alone answers; each Pod of a group gets its rank.
    worker = deepcopy(leader)
    (server,) = worker["containers"]
    server["args"] += container.follows
    del server["readinessProbe"], server["ports"]
    for pod in (leader, worker):
        words = pod["containers"][0]["args"]
        rank = words.index(_RANK) + 1
        words[:] = [word.replace(HEAD_NODE, _LEADER) for word in words]
        words[rank] = _NUMBER
    return worker


class _Dumper(yaml.SafeDumper):
    """Dumper that writes repeated values in full, and the words of a command side by side."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _words(dumper: _Dumper, value: list[object]) -> yaml.Node:
    beside = all(isinstance(item, str) for item in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=beside)


_Dumper.add_representer(list, _words)


def yaml_text(value: _Yaml) -> str:
    """Return an object as YAML, in the order of its keys."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_LINE, allow_unicode=True))
