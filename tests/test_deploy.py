"""The files of `deploy/`, which no test can build: their form, and their commands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gpusizer.ui.server.doors.request_limits import MAX_LOG_BYTES
from tests.deployment import FOLDER, compose, dockerfile, nginx_command, nginx_configuration

ROOT = FOLDER.parent
SERVICES = compose()["services"]


def instruction(name: str) -> list[str]:
    return [text for found, text in dockerfile() if found == name]


def test_the_image_runs_as_nobody_in_particular() -> None:
    names = [name for name, _ in dockerfile()]
    assert names[0] == "FROM" and names[-1] == "CMD"
    (user,) = instruction("USER")
    assert int(user) > 0 and names.index("USER") > max(
        place for place, name in enumerate(names) if name in ("RUN", "COPY")
    )


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*"
    for copied in instruction("COPY"):
        for source in copied.split()[:-1]:
            path = source.removeprefix("./")
            assert (ROOT / path).exists() and f"!{path}" in ignored
    packages = {line.split(".")[0] for line in imported_packages()}
    assert packages <= {path.removeprefix("!") for path in ignored}


def imported_packages() -> set[str]:
    """Return packages of ours that the application imports."""
    roots = (ROOT / "gpusizer" / "composition").glob("*.py")
    text = "".join(path.read_text("utf-8") for path in (ROOT / "app.py", *roots))
    packages = set(re.findall(r"^from (\w+)", text, re.M)) - {"__future__"}
    return {name for name in packages if (ROOT / name).exists()}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True and service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert ("ports" in service) is (name == "proxy"), "only the proxy is reached from outside"


def test_the_shared_cache_is_reached_from_inside_only() -> None:
    assert SERVICES["valkey"]["networks"] == ["inside"]
    assert compose()["networks"]["inside"]["internal"] is True


def test_nginx_takes_bodies_as_large_as_the_application() -> None:
    text = (FOLDER / "nginx.conf").read_text("utf-8")
    (megabytes,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert MAX_LOG_BYTES <= int(megabytes) * 2**20 < MAX_LOG_BYTES + 2**20
    assert text.index("client_max_body_size") < text.index("server {"), "of every server"


def test_the_image_installs_what_the_lock_audits() -> None:
    (install,) = [text for name, text in dockerfile() if name == "RUN" and "pip install" in text]
    assert install.endswith("--require-hashes -r requirements.lock")
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert re.search(r"^redis==", lock, re.M), "the replicas share one"


def test_nginx_reads_its_configuration(tmp_path: Path) -> None:
    command = nginx_command(nginx_configuration(tmp_path, 18080, ("127.0.0.1:1", "127.0.0.1:2")))
    check = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr
