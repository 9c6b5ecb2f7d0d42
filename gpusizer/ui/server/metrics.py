"""Metrics: counters and times for Prometheus. Labels are words of ours, never a caller's.

A model's ID, an address or a token would be private and without bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from gpusizer.core.errors import GpusizerError
from gpusizer.core.tables import toml_of

# Bounds of the histograms: a 304 answer takes a millisecond, a cold model up to its timeout.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Metrics of a running process; its memory is `process_resident_memory_bytes`."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        make: Mapping[str, Callable[..., object]] = {
            "counter": Counter,
            "gauge": Gauge,
            "seconds": partial(Histogram, buckets=_SECONDS),
        }
        self._kept: Mapping[str, Any] = {
            name: make[of["kind"]](f"gpusizer_{name}", of["help"], of["labels"], registry=registry)
            for name, of in toml_of(__file__).items()
        }

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an HTTP request that has been answered."""
        self._kept["http_requests"].labels(route, method, str(status)).inc()
        self._kept["http_request_seconds"].labels(route).observe(seconds)

    @contextmanager
    def answering(self, question: str, way: str) -> Iterator[None]:
        """Count and time the answer to one question, and the code of an error that leaves it."""
        code, start = "ok", time.perf_counter()
        try:
            yield
        except GpusizerError as error:
            code = error.code
            raise
        except Exception:
            code = GpusizerError.code
            raise
        finally:
            self._kept["answers"].labels(question, way, code).inc()
            self._kept["answer_seconds"].labels(question).observe(time.perf_counter() - start)

    def lookup(self, result: str) -> None:
        """Count a lookup in the cache of answers."""
        self._kept["answer_cache_lookups"].labels(result).inc()

    def hub_call(self, kind: str, status: int | None) -> None:
        """Count a request to the Hub."""
        self._kept["hub_calls"].labels(kind, str(status or "none")).inc()

    def watch_sessions(self, page: str, count: Callable[[], int]) -> None:
        """Let `count` state the sessions of a page whenever metrics are read."""
        self._kept["sessions"].labels(page).set_function(count)

    def watch_unread(self, size_bytes: Callable[[], int]) -> None:
        """Let `size_bytes` state the memory of unread answers whenever metrics are read."""
        self._kept["unread_answer_bytes"].set_function(size_bytes)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)
