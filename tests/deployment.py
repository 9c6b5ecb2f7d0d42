"""The files of `deploy/` as tests run them: the same commands, at free ports of loopback."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[1] / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def compose() -> dict[str, Any]:
    """Return the Compose file, its anchors resolved."""
    parsed: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    return parsed


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line]  # type: ignore[misc]


def health_command(address: str) -> list[str]:
    """Return the command that asks a container for its health, at another address."""
    (check,) = (text for name, text in dockerfile() if name == "HEALTHCHECK")
    command: list[str] = json.loads(check.split("CMD ", 1)[1])
    return [part.replace("127.0.0.1:7860/", f"{address}/") for part in command]


def redis_command() -> list[str]:
    """Return the command of the Compose file's Valkey, for Debian 12's Redis."""
    server, *arguments = compose()["services"]["valkey"]["command"]
    assert server == "valkey-server"
    return ["redis-server", *arguments]


def nginx_configuration(
    folder: Path, port: int, replicas: tuple[str, str], name_server: str = "127.0.0.1:9"
) -> Path:
    """Return the configuration of nginx with other addresses, and `folder` in the place of /tmp.

    Without a name server of the test, the addresses of replicas have to be numbers.
    """
    text = (FOLDER / "nginx.conf").read_text("utf-8")
    changes = {"listen 8080;": f"listen 127.0.0.1:{port};", "/tmp/": f"{folder}/"}
    changes |= {f"replica-{n}:7860;": f"{at};" for n, at in enumerate(replicas, 1)}
    changes |= {"resolver 127.0.0.11 ": f"resolver {name_server} "}
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    if os.getuid() == 0:  # or its workers, as another user, could not write into `folder`
        text = f"user root;\n{text}"
    path = folder / "nginx.conf"
    path.write_text(text, "utf-8")
    return path


def nginx_command(configuration: Path) -> list[str]:
    """Return the command of the Compose file; without nginx skip the test, but not in CI."""
    if NGINX is None:
        if os.environ.get("CI"):
            pytest.fail("needs Debian's package nginx")
        pytest.skip("needs Debian's package nginx")
    command: list[str] = compose()["services"]["proxy"]["command"]
    swaps = {"nginx": NGINX, "/etc/nginx/nginx.conf": str(configuration)}
    return [swaps.get(part, part) for part in command]
