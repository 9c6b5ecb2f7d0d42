"""Processes under load: the application as `app.py` starts it, and an empty page with an echo."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.emulated_hub import Hub
from gpusizer.core.paths import DATA_DIR
from tests.ports import free_port

_READY_SECONDS = 180.0
_LOOK_SECONDS = 0.02


class App:
    """A running application: its address, its process, its log and its cache on disk."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path, cache: Path) -> None:
        self.process = process
        self.port = port
        self.address = f"http://127.0.0.1:{port}/"
        self.log = log
        self.cache = cache
        self.ready_seconds = 0.0

    def resident_bytes(self) -> int:
        """Return the resident memory of the process, from /proc."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def processor_seconds(self) -> float:
        """Return the processor time that the process has used, from /proc."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until_ready(self) -> None:
        """Wait for `/healthz` and set `ready_seconds`."""
        start = time.perf_counter()
        while time.perf_counter() - start < _READY_SECONDS:
            if self.process.poll() is not None:
                raise RuntimeError(f"the application ended:\n{self.log.read_text('utf-8')[-2000:]}")
            try:
                if httpx.get(f"{self.address}healthz", trust_env=False).json()["ready"]:
                    self.ready_seconds = time.perf_counter() - start
                    return
            except httpx.TransportError:
                time.sleep(_LOOK_SECONDS)
        raise RuntimeError("the application is not ready")


@contextmanager
def started(hub: Hub, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[App]:
    """Start the application over a Hub with its cache and its log in a folder, and wait for it."""
    port, cache, log = free_port(), folder / "cache", folder / "log.txt"
    environment = {
        **os.environ,
        # All visitors of the load come from one address.
        "GPUSIZER_QUESTIONS_PER_MINUTE": "off",
        "GPUSIZER_SECONDS_PER_MINUTE": "off",
        "HF_ENDPOINT": hub.endpoint,
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
        "GPUSIZER_CACHE_DIR": str(cache),
        "GPUSIZER_METRICS": "1",
        "GPUSIZER_LOG": "json",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(folder / "gradio"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **(settings or {}),
    }

    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=DATA_DIR.parent,
            env=environment,
            stdout=file,
            stderr=file,
        )
    app = App(process, port, log, cache)
    try:
        app.wait_until_ready()
        yield app
    finally:
        process.terminate()
        process.wait()


@contextmanager
def ready(hub: Hub) -> Iterator[App]:
    """Start the application with a new cache, and wait until it answers."""
    with tempfile.TemporaryDirectory() as folder, started(hub, Path(folder)) as app:
        yield app


@contextmanager
def echo() -> Iterator[str]:
    """Start Gradio's smallest application, and yield the address that it prints when ready."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "bench.load.echo"],
            cwd=DATA_DIR.parent,
            env={**os.environ, "GRADIO_TEMP_DIR": folder},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        assert process.stdout
        try:
            lines = (line.strip() for line in process.stdout)
            address = next((line for line in lines if line.startswith("http")), "")
            if not address:
                raise RuntimeError("the echo did not start")
            yield address.rstrip("/") + "/"
        finally:
            process.terminate()
