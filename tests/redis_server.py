"""RedisServer: Debian's redis-server on a free loopback port, which tests stop and start again."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest
import redis

from tests.deployment import redis_command
from tests.ports import free_port

PROGRAM = shutil.which("redis-server")


class RedisServer:
    """A Redis without files; `url` stays the same when it is started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()

    @property
    def client(self) -> redis.Redis:
        """A new client."""
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        """Start it, empty, and return once it answers."""
        place = {"port": str(self._port), "bind": "127.0.0.1", "dir": str(self._folder)}
        arguments = [part for name, value in place.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen([*redis_command(), *arguments], stdout=subprocess.DEVNULL)
        with self.client as client:
            while not _answers(client):
                assert self._process.poll() is None, "redis-server ended"
                time.sleep(0.02)

    def stop(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def need_redis() -> None:
    """Skip a test where redis-server is not installed; in continuous integration it must be."""
    if PROGRAM is None and not os.environ.get("CI"):
        pytest.skip("needs Debian's package redis-server")


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
