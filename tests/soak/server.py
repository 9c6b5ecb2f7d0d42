"""The composed application as a process, offline, and what the system says of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.load.servers import App
from tests.ports import free_port
from tests.running_app import ROOT


class SoakedApp(App):
    """A running application, whose descriptors and threads are counted, too."""

    def descriptors(self) -> int:
        """Return how many files and sockets the process has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self) -> int:
        """Return how many threads the process has."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


@contextmanager
def composed(folder: Path) -> Iterator[SoakedApp]:
    """Serve as `python app.py` does behind one proxy, which the visitors play, and wait for it."""
    port, log = free_port(), folder / "log.txt"
    own = {name: text for name, text in os.environ.items() if not name.startswith("GPUSIZER_")}
    environment = {
        **own,
        "HF_HUB_OFFLINE": "1",
        "GPUSIZER_CACHE_DIR": "off",
        "GPUSIZER_METRICS": "1",
        "GPUSIZER_TRUSTED_PROXIES": "1",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(folder / "gradio"),
    }
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=file, stderr=file
        ) as process,
    ):
        app = SoakedApp(process, port, log, folder)
        try:
            app.wait_until_ready()
            yield app
        finally:
            process.terminate()
