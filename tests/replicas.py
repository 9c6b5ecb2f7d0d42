"""Two replicas behind nginx over one Redis, by the files of `deploy/`, before an emulated Hub.

As in Docker a replica has a name, an address of its own that it loses when it ends, and the port of
all replicas.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from tests.deployment import (
    compose,
    dockerfile,
    health_command,
    nginx_command,
    nginx_configuration,
)
from tests.name_server import NameServer
from tests.ports import free_port, listens, wait_for
from tests.redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 300

# addresses of loopback; nginx sends some of them to each replica
VISITORS = [f"127.0.{number}.1" for number in range(100, 124)]

# A file system that is read-only but for one folder: any other file opened to write is reported.
_START = """
import os, runpy, sys
folder, report = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path, flags = os.path.abspath(os.fsdecode(arguments[0])), arguments[2] or 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not path.startswith((folder, "/dev")):
            os.write(report, path.encode() + b"\\n")
sys.addaudithook(watch)
sys.argv = ["app.py"]
sys.path.insert(0, os.getcwd())
runpy.run_path("app.py", run_name="__main__")
"""


class HubAddresses(Protocol):
    """An emulated Hub, in this process or in another one."""

    @property
    def endpoint(self) -> str: ...

    @property
    def cdn_endpoint(self) -> str: ...


@dataclass
class Replica:
    """A process of the application, below its own address of loopback and the port of all."""

    name: str
    address: str
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self, environment: Mapping[str, str], written: Path) -> None:
        """Start it with a folder of its own; it is not ready yet."""
        self.folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", _START, str(self.folder), str(written)]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """End it as a lack of memory would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(120)
            self.process = None

    def wait_until_healthy(self) -> None:
        """Ask as the image's health check does, a process each time, once somebody listens."""
        host, port = self.address.split(":")
        command = [
            sys.executable if part == "python" else part for part in health_command(self.address)
        ]
        end = time.monotonic() + START_SECONDS
        while (
            not listens(int(port), host) or subprocess.run(command, capture_output=True).returncode
        ):
            if time.monotonic() > end:
                pytest.fail(f"no health:\n{self.log.read_text('utf-8')}")
            time.sleep(0.5)

    @property
    def host(self) -> str:
        return self.address.split(":")[0]

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")


@dataclass
class Deployment:
    """The address of nginx, the replicas, their names, their Redis, and the Hub they read.

    `settings` go before those of the Compose file; `written` lists files written elsewhere.
    """

    proxy: str
    replicas: list[Replica]
    names: NameServer
    hub: HubAddresses
    redis: RedisServer
    written: Path
    settings: Mapping[str, str]

    def start(self, replica: Replica) -> None:
        """Start a replica, which has no name yet."""
        environment = _environment(replica, self.hub, self.redis.url)
        replica.start({**environment, **self.settings}, self.written)

    def join(self, replica: Replica) -> None:
        """Start a replica, and give it its name once it is healthy."""
        self.start(replica)
        replica.wait_until_healthy()
        self.names.names[replica.name] = replica.host

    def leave(self, replica: Replica) -> None:
        """End a replica as a crash would; its name is gone with it."""
        replica.kill()
        del self.names.names[replica.name]


@contextmanager
def deployed(folder: Path, hub: HubAddresses, settings: Mapping[str, str]) -> Iterator[Deployment]:
    """Run nginx and Redis, and name two replicas, which have not been started."""
    port, shared_port = free_port(), free_port()
    first, second = (
        Replica(f"replica-{n}", f"127.0.11.{n}:{shared_port}", folder / f"replica-{n}")
        for n in (1, 2)
    )
    with RedisServer(folder) as redis, NameServer() as names:
        named = (f"{first.name}:{shared_port}", f"{second.name}:{shared_port}")
        command = nginx_command(nginx_configuration(folder, port, named, names.address))
        proxy, written = f"127.0.0.1:{port}", folder / "written.txt"
        running = Deployment(proxy, [first, second], names, hub, redis, written, settings)
        nginx = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            yield running
        finally:
            nginx.terminate()
            nginx.wait(120)
            for replica in running.replicas:
                replica.kill()


def _environment(replica: Replica, hub: HubAddresses, redis_url: str) -> dict[str, str]:
    """Return the environment of the image and of the Compose file, with places of this machine."""
    folder = replica.folder
    host, port = replica.address.split(":")
    (image,) = (text for name, text in dockerfile() if name == "ENV")
    image_environment = dict(pair.split("=", 1) for pair in image.split())
    settings = image_environment | compose()["services"]["replica-1"]["environment"]
    own = {name: value.replace("/tmp", str(folder)) for name, value in settings.items()}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GPUSIZER_")},
        **own,
        "TMPDIR": str(folder),
        "GRADIO_SERVER_NAME": host,
        "GRADIO_SERVER_PORT": port,
        "GPUSIZER_CACHE_URL": redis_url,
        "HF_ENDPOINT": hub.endpoint,
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
    }
