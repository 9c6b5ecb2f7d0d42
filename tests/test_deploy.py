"""The files of `deploy/`, which no test can build: their form, and their commands."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from gpusizer.core.settings import Settings
from gpusizer.ui.server.doors.request_limits import MAX_LOG_BYTES
from tests.deployment import FOLDER, compose, dockerfile, nginx_command, nginx_configuration

ROOT = FOLDER.parent
DOCUMENT = (ROOT / "docs" / "deploy.md").read_text("utf-8")
SERVICES = compose()["services"]
REPLICAS = ("replica-1", "replica-2")


def instruction(name: str) -> list[str]:
    return [text for found, text in dockerfile() if found == name]


def test_the_image_runs_as_nobody_in_particular() -> None:
    names = [name for name, _ in dockerfile()]
    assert names[0] == "FROM" and names[-1] == "CMD"
    (user,) = instruction("USER")
    assert int(user) > 0 and names.index("USER") > max(
        place for place, name in enumerate(names) if name in ("RUN", "COPY")
    )


def test_the_image_starts_as_the_script_of_the_readme_does() -> None:
    (command,) = instruction("CMD")
    assert "scripts/app" in (ROOT / "README.md").read_text("utf-8")
    assert " ".join(json.loads(command)) in (ROOT / "scripts" / "app").read_text("utf-8")


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
    """Packages of ours that the application imports."""
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


@pytest.mark.parametrize("name", REPLICAS)
def test_replicas_have_settings_that_are_read(name: str) -> None:
    environment = SERVICES[name]["environment"]
    settings = Settings.from_environment(environment)
    assert settings.cache_url is not None and "//valkey:" in settings.cache_url
    assert settings.trusted_proxies == 1 and settings.metrics and settings.structured_log
    assert settings.host_token is None
    documented = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert all(f"`{variable}`" in documented for variable in environment)


def test_nginx_takes_bodies_as_large_as_the_application() -> None:
    text = (FOLDER / "nginx.conf").read_text("utf-8")
    (megabytes,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert MAX_LOG_BYTES <= int(megabytes) * 2**20 < MAX_LOG_BYTES + 2**20
    assert text.index("client_max_body_size") < text.index("server {"), "of every server"


def test_the_proxy_has_every_replica_and_waits_for_none() -> None:
    """`tests/api/test_replicas.py` takes them away and brings them back."""
    text = (FOLDER / "nginx.conf").read_text("utf-8")
    assert "resolver 127.0.0.11 " in text, "Docker's name server"
    assert re.findall(r"set \$replica (replica-\d):7860;", text) == list(REPLICAS)
    assert re.findall(r"server unix:/tmp/(.+)\.sock ", text) == list(REPLICAS)
    conditions = {need["condition"] for need in SERVICES["proxy"]["depends_on"].values()}
    assert conditions == {"service_started"}, "a replica that never comes keeps no other away"


def test_what_nginx_keeps_fits_its_memory() -> None:
    """The cache lies in the container's memory, beside its keys and what is on its way."""
    text = (FOLDER / "nginx.conf").read_text("utf-8")
    (limit,) = re.findall(r"(\d+)m", SERVICES["proxy"]["mem_limit"])
    (cache,) = re.findall(r"max_size=(\d+)m", text)
    (workers,) = re.findall(r"worker_processes (\d+);", text)
    assert int(cache) <= int(limit) / 2 and int(workers) <= 4


def test_the_image_installs_what_the_lock_audits() -> None:
    (install,) = [text for name, text in dockerfile() if name == "RUN" and "pip install" in text]
    assert install.endswith("--require-hashes -r requirements.lock")
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert re.search(r"^redis==", lock, re.M), "the replicas share one"


def test_nginx_reads_its_configuration(tmp_path: Path) -> None:
    command = nginx_command(nginx_configuration(tmp_path, 18080, ("127.0.0.1:1", "127.0.0.1:2")))
    check = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml"])
def test_the_document_has_the_commands_of_the_files(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    commands = re.findall(r"^#   (docker .+)$", text, re.M)
    assert commands and all(command in DOCUMENT for command in commands)
