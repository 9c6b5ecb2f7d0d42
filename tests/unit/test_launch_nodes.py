"""Commands for GPUs in several machines, or a note that a command is for one machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.answers.launch import LAUNCHERS, LaunchPlan
from gpusizer.core.messages import Note
from gpusizer.memory.engines import Split
from tests.asking import size
from tests.each import each
from tests.launch_plans import GGUF, codes, plan, text
from tests.sizers import embedded_sizer

HEAD = "HEAD_NODE"


def nodes_of(launch_plan: LaunchPlan) -> list[dict[str, Any]]:
    return [
        n.fields
        for n in LAUNCHERS[launch_plan.engine](launch_plan).notes
        if n.code == "launch_nodes"
    ]


def test_vllm_over_several_nodes() -> None:
    """16 GPUs in two machines: a pipeline stage in each, joined by multiprocessing."""
    launch_plan = plan("vllm", split=Split(8, 2), nodes=2)
    assert text(launch_plan).endswith(
        "  --tensor-parallel-size 8 \\\n"
        "  --pipeline-parallel-size 2 \\\n"
        "  --distributed-executor-backend mp \\\n"
        "  --nnodes 2 \\\n"
        "  --node-rank 0 \\\n"
        "  --master-addr HEAD_NODE"
    )
    assert codes(launch_plan) == ["launch_nodes", "launch_headless"]
    assert nodes_of(launch_plan) == [
        {"nodes": 2, "option": "--node-rank", "values": "0, 1", "address": HEAD}
    ]


def test_vllm_with_data_ranks_on_several_nodes() -> None:
    """8 ranks of two GPUs, in machines of 8: four in each, the second's begin with rank 4."""
    launch_plan = plan("vllm", split=Split(2, 1, 8, 16), nodes=2)
    assert text(launch_plan).endswith(
        "  --tensor-parallel-size 2 \\\n"
        "  --data-parallel-size 8 \\\n"
        "  --enable-expert-parallel \\\n"
        "  --data-parallel-size-local 4 \\\n"
        "  --data-parallel-start-rank 0 \\\n"
        "  --data-parallel-address HEAD_NODE"
    )
    assert codes(launch_plan) == ["launch_nodes", "launch_headless"]
    assert (nodes_of(launch_plan)[0]["option"], nodes_of(launch_plan)[0]["values"]) == (
        "--data-parallel-start-rank",
        "0, 4",
    )
    # four trays of four GPUs: each rank of eight spans two of them
    across = plan("vllm", split=Split(8, 1, 2, 16), nodes=4)
    assert "  --nnodes 4 \\\n  --node-rank 0 \\\n" in text(across)
    assert nodes_of(across)[0]["values"] == "0, 1, 2, 3"
    many = plan("vllm", split=Split(4, 1, 16, 64), nodes=8)
    assert nodes_of(many)[0]["values"] == "0, 2, 4, …, 14"


def test_sglang_over_several_nodes() -> None:
    launch_plan = plan("sglang", split=Split(8, 2), nodes=2)
    assert text(launch_plan).endswith(
        "  --tp-size 8 \\\n"
        "  --pp-size 2 \\\n"
        "  --nnodes 2 \\\n"
        "  --node-rank 0 \\\n"
        "  --dist-init-addr HEAD_NODE:5000"
    )
    assert codes(launch_plan) == ["launch_nodes"]
    assert codes(plan("sglang", split=Split(8, 2), nodes=4)) == ["launch_nodes"]


@pytest.mark.parametrize(
    ("engine", "split", "nodes"),
    [
        ("vllm", Split(3, 3), 2),  # nine GPUs
        ("vllm", Split(2, 1, 3, 6), 2),  # the second of three ranks would be in both
        ("sglang", Split(4, 3), 2),  # the second of three stages would be in both
    ],
)
def test_nodes_that_an_engine_cannot_divide_evenly(engine: str, split: Split, nodes: int) -> None:
    launch_plan = plan(engine, split=split, nodes=nodes)
    assert "HEAD_NODE" not in text(launch_plan)
    assert codes(launch_plan) == ["launch_one_node"]


@each("engine", sorted(set(LAUNCHERS) - {"vllm", "sglang"}))
def test_a_command_for_one_node_gets_a_note(engine: str) -> None:
    launch_plan = plan(engine, split=Split(pipeline=16), nodes=2, **GGUF)
    notes = [
        note for note in LAUNCHERS[engine](launch_plan).notes if note.code == "launch_one_node"
    ]
    assert notes == [Note("launch_one_node", engine=engine, nodes=2)]
    assert "launch_one_node" not in codes(replace(launch_plan, nodes=1))


def test_nodes_are_those_of_the_plan() -> None:
    """16 boards of A100 are two DGX; eight are one."""
    fields = {"model": "deepseek-ai/DeepSeek-R1", "quant": "native", "engine": "vllm"}
    for boards, nodes in ((16, 2), (8, 1)):
        report = size(embedded_sizer(), {**fields, "gpu": f"{boards} x A100 80GB SXM"})
        fit = report.ranking[0].fit
        assert LaunchPlan.of(report.profile, fit, report.workload).nodes == nodes
