"""Servers under a load, for tests of what they answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusizer.fit.requirements import ServingLoad
from gpusizer.serving import Served, served
from gpusizer.serving.facts import Order, Scheduler
from gpusizer.serving.server import Server
from gpusizer.usecases.report import Report

_H100 = Server(
    prompt=1024,
    answer=256,
    ranks=1,
    stages=1,
    scheduler=Scheduler("mixed", "middle", 8192, 256, 512),
    dense=6e-3,
    experts=0.0,
    unused=0.0,
    cache=6e-5,
    product=3e-5,
    attention=1e-6,
    traffic=0.0,
    latency=0.0,
    host=2e-3,
    launches=1e-3,
    sequence=1e-5,
    stream=0.0,
    request=5e-3,
    most=256,
)


def server(
    prompt: int = 1024,
    answer: int = 256,
    *,
    order: Order = "mixed",
    step_tokens: int = 8192,
    most: int = 256,
    **fields: Any,
) -> Server:
    """About an 8B model in 16 bits on an H100."""
    scheduler = Scheduler(order, "middle", step_tokens, most, 512)
    return replace(_H100, prompt=prompt, answer=answer, scheduler=scheduler, most=most, **fields)


def served_by_first(
    report: Report | None, load: ServingLoad, *, percentiles: bool = False
) -> Served | None:
    """Return the load that the first place of a report serves."""
    assert report is not None
    fit = report.ranking[0].fit
    about = report.profile, report.workload, fit.estimate, fit.gpu, fit.kv_pool_bytes
    return served(*about, load, percentiles=percentiles)
