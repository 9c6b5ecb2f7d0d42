"""The scenarios by name, in the order in which they run. Each yields rows as they are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bench.load.hub import Hub
from bench.load.plan import Plan
from bench.load.scenarios import cold, disk, faults, privacy, replicas, soak, speed
from bench.load.table import Row

Scenario = Callable[[Hub, Plan], Iterator[Row]]

SCENARIOS: Mapping[str, Scenario] = {
    "speed": speed.compare_with_echo,
    "cold": cold.ask_of_unknown_models,
    "flight": cold.ask_of_one_unknown_model,
    "distinct": cold.ask_of_distinct_models,
    "hub-down": faults.without_the_hub,
    "rate-limit": faults.in_a_storm_of_429,
    "disk-full": disk.on_a_full_disk,
    "corrupted": disk.with_a_corrupted_cache,
    "kill": disk.after_kill_9,
    "privacy": privacy.search_for_a_visitors_secrets,
    "replica": replicas.with_a_replica_killed,
    "redis": replicas.with_redis_restarted,
    "soak": soak.for_many_calls,
}
