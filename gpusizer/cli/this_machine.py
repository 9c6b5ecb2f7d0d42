"""Programs that list this machine's GPUs and memory.

Programs run without a shell, one after the other, each with a limit of time and of output.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

SECONDS = 10.0  # seconds that a program may take
MAX_BYTES = 100_000  # bytes of a program's output that are read

State = Literal["read", "missing", "failed", "timeout"]

_NVIDIA = (
    ("nvidia-smi", "--query-gpu=name,memory.total,memory.used,driver_version", "--format=csv"),
    ("nvidia-smi",),
    ("nvidia-smi", "-L"),
)
_LINUX = (
    *_NVIDIA,
    ("rocm-smi", "--showproductname", "--showmeminfo", "vram"),
    ("amd-smi", "static"),
    ("amd-smi", "metric", "--mem-usage"),
    ("xpu-smi", "discovery"),
    ("lspci",),
)
_WINDOWS = (
    *_NVIDIA,
    (
        "powershell",
        "-NoProfile",
        "-Command",
        "Get-CimInstance Win32_VideoController | Format-List Name,AdapterRAM,DriverVersion;"
        " Get-CimInstance Win32_ComputerSystem | Format-List TotalPhysicalMemory",
    ),
)

# Command lines by `sys.platform`; other systems use those of Linux.
PROGRAMS: Mapping[str, Sequence[Sequence[str]]] = {
    "linux": _LINUX,
    "darwin": (("system_profiler", "SPHardwareDataType", "SPDisplaysDataType"),),
    "win32": _WINDOWS,
}
_MEMORY = "/proc/meminfo"
_LIMIT = "/sys/fs/cgroup/memory.max"


@dataclass(frozen=True, slots=True)
class AskedProgram:
    """A program that was run or a file that was read, and the result."""

    name: str
    state: State
    output: str = ""


def ask_this_machine() -> tuple[AskedProgram, ...]:
    """Run the programs of this system and read its files, each once."""
    asked = [ask(command) for command in PROGRAMS.get(sys.platform, _LINUX)]
    if sys.platform not in ("darwin", "win32"):
        asked += [_read(_LIMIT, _limit), _read(_MEMORY, str)]
    return tuple(asked)


def ask(command: Sequence[str], seconds: float = SECONDS) -> AskedProgram:
    """Run one program; kill it at the end of its time or after enough output."""
    name = " ".join(command[:2]) if command[0] != "powershell" else "Get-CimInstance"
    path = shutil.which(command[0])
    if path is None:
        return AskedProgram(name, "missing")
    try:
        process = subprocess.Popen(
            [path, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError:
        return AskedProgram(name, "failed")
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    with process:  # which closes the pipe and waits
        assert process.stdout is not None
        output = process.stdout.read(MAX_BYTES)
        is_full = len(output) == MAX_BYTES
        if is_full:
            process.kill()
    timer.cancel()
    code = process.returncode
    if is_late.is_set():
        return AskedProgram(name, "timeout")
    if code != 0 and not is_full:
        return AskedProgram(name, "failed")
    return AskedProgram(name, "read", output.decode("utf-8", errors="replace"))


def _read(path: str, shape: Callable[[str], str]) -> AskedProgram:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = shape(file.read(MAX_BYTES))
    except OSError:
        return AskedProgram(path, "missing")
    return AskedProgram(path, "read" if text else "missing", text)


def _limit(text: str) -> str:
    # A container's memory limit as a line of /proc/meminfo, "" if it has none.
    limit = text.strip()
    return f"MemTotal: {int(limit) // 1024} kB\n" if limit.isdecimal() and len(limit) < 15 else ""
