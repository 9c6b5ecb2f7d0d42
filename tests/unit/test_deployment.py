"""Compose files and manifests of plans: the replicas, GPUs and options that the plan has."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
import yaml

from gpusizer.launch.containers import CONTAINERS
from gpusizer.launch.deployment import Deployment, deployment_of, workload_to_start
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.sizers import embedded_sizer

LOAD = {"requests_per_second": 40, "prompt_tokens": 1000, "answer_tokens": 300}
H100 = {"model": "Qwen/Qwen3-32B", "gpu": "h100-sxm-80gb", "engine": "vllm", "quant": "fp8"}


def planned(**fields: Any) -> Report:
    return size(embedded_sizer(), {**LOAD, **fields})


def deployed(report: Report, **changes: Any) -> Deployment:
    plan = report.serving_plan
    assert plan is not None
    row = plan.rows[0]
    started = workload_to_start(plan, row, report.workload)
    return deployment_of(replace(report.profile, **changes), row, started)


def pod(deployment: Deployment) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the Deployment's specification, its container, and the Service's specification."""
    started, service = yaml.safe_load_all(deployment.kubernetes)
    (container,) = started["spec"]["template"]["spec"]["containers"]
    assert service["spec"]["selector"] == started["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"] == started["spec"]["template"]["metadata"]["labels"]
    return started["spec"], container, service["spec"]


def test_a_manifest_has_the_replicas_and_gpus_of_the_plan() -> None:
    report = planned(**H100, gpu_count=2)
    assert report.serving_plan is not None
    row, deployment = report.serving_plan.rows[0], deployed(report)
    spec, container, service = pod(deployment)
    assert row.boards == 2 and spec["replicas"] == row.replicas > 1
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert container["image"] == "vllm/vllm-openai:v0.30.0"
    probe = {"path": "/health", "port": 8000}
    assert container["readinessProbe"]["httpGet"] == probe and service["ports"][0]["port"] == 80
    words = shlex.split(deployment.replica.text.replace("\\\n", " "))
    assert [*container["command"], *container["args"]] == words
    assert words[words.index("--tensor-parallel-size") + 1] == "2"


def test_replicas_of_one_machine_share_neither_gpus_nor_ports() -> None:
    report = planned(**H100, gpu_count=2, engine_version="0.19.1")
    assert report.serving_plan is not None
    row, deployment = report.serving_plan.rows[0], deployed(report)
    services = yaml.safe_load(deployment.compose)["services"].values()
    reserved = [s["deploy"]["resources"]["reservations"]["devices"][0] for s in services]
    ids = [number for devices in reserved for number in devices["device_ids"]]
    held = min(row.replicas, 4)
    assert ids == [str(number) for number in range(2 * held)]
    assert [s["ports"] for s in services] == [[f"{8000 + n}:8000"] for n in range(held)]
    assert {s["image"] for s in services} == {"vllm/vllm-openai:v0.19.1"}
    told = {note.code: note.fields for note in deployment.notes}
    if row.replicas > 4:
        assert told["deploy_machines"]["machines"] == -(-row.replicas // 4)
    else:
        assert "deploy_machines" not in told


def test_more_replicas_than_a_server_holds_take_more_machines() -> None:
    deployment = deployed(planned(**H100, gpu_count=8))
    told = {note.code: note.fields for note in deployment.notes}
    spec, *_ = pod(deployment)
    assert len(yaml.safe_load(deployment.compose)["services"]) == 1
    machines = told.get("deploy_machines", {"machines": 1})["machines"]
    assert machines == spec["replicas"]


def test_amd_cards_are_chosen_by_a_variable() -> None:
    deployment = deployed(planned(model="Qwen/Qwen3-32B", gpu="mi300x", engine="vllm"))
    _, container, _ = pod(deployment)
    assert container["image"].startswith("vllm/vllm-openai-rocm:")
    assert list(container["resources"]["limits"]) == ["amd.com/gpu"]
    first = yaml.safe_load(deployment.compose)["services"]["replica-0"]
    assert first["environment"]["HIP_VISIBLE_DEVICES"] == "0"
    assert "/dev/kfd" in first["devices"] and "deploy" not in first


@pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm"])
def test_servers_hear_other_machines(engine: str) -> None:
    _, container, _ = pod(deployed(planned(**{**H100, "engine": engine, "quant": "native"})))
    assert container["args"][-2:] == ["--host", "0.0.0.0"]
    assert container["command"] == list(CONTAINERS[engine].entrypoint)


def test_a_replica_over_machines_is_a_group_of_pods() -> None:
    """Kimi K2 in FP8 takes two servers of eight H100; its first machine is named to the second."""
    report = planned(
        model="moonshotai/Kimi-K2-Instruct-0905",
        gpu="h100-sxm-80gb",
        quant="native",
        requests_per_second=1,
    )
    plan, deployment = report.serving_plan, deployed(report)
    assert plan is not None and plan.notes[0].code == "plan_over_machines"
    row = plan.rows[0]
    assert (row.boards, row.machines_per_replica, deployment.compose) == (16, 2, "")
    groups, _ = yaml.safe_load_all(deployment.kubernetes)
    template = groups["spec"]["leaderWorkerTemplate"]
    assert (groups["spec"]["replicas"], template["size"]) == (row.replicas, 2)
    pods = (template["leaderTemplate"]["spec"], template["workerTemplate"]["spec"])
    leader, worker = (pod["containers"][0] for pod in pods)
    for container in (leader, worker):
        words = container["args"]
        assert words[words.index("--node-rank") + 1] == "$(LWS_WORKER_INDEX)"
        assert words[words.index("--master-addr") + 1] == "$(LWS_LEADER_ADDRESS)"
        assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert worker["args"] == [*leader["args"], "--headless"]
    assert "readinessProbe" in leader and "readinessProbe" not in worker


def test_files_that_are_made_first_have_no_container() -> None:
    deployment = deployed(planned(**{**H100, "engine": "llama.cpp", "quant": "q8_0"}))
    assert deployment.compose == deployment.kubernetes == ""
    assert "llama-quantize" in deployment.replica.text
    assert [note.code for note in deployment.notes] == ["deploy_no_container"]


def test_names_are_as_kubernetes_takes_them_and_variables_stay_words() -> None:
    report = planned(**H100)
    deployment = deployed(report, repo_id="org/Qwen.3_Next-80B" + "x" * 60, revision="a$(b)$c")
    started, _ = yaml.safe_load_all(deployment.kubernetes)
    assert started["metadata"]["name"] == "qwen-3-next-80b" + "x" * 25
    assert "a$$(b)$$c" in pod(deployment)[1]["args"]
    assert "a$$(b)$$c" in yaml.safe_load(deployment.compose)["x-replica"]["command"]
