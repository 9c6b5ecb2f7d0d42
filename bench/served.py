"""Served: an application in a process of its own, as long as it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from gpusizer.paths import DATA_DIR


@contextmanager
def served(module: str) -> Iterator[str]:
    """`python -m module`; its address with a slash at the end. It prints that once it serves."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=DATA_DIR.parent,
            env={**os.environ, "GRADIO_TEMP_DIR": folder, "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with process:
            assert process.stdout
            found = (line.strip() for line in process.stdout if line.startswith("http"))
            try:
                address = next(found, "")
                if not address:
                    raise RuntimeError(f"{module} did not start")
                yield address.rstrip("/") + "/"
            finally:
                process.terminate()
