"""What gpusizer takes from the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.settings import Settings
from tests.each import each


def test_defaults() -> None:
    settings = Settings.from_environment({"HF_TOKEN": "hf_secret", "GPUSIZER_CACHE_DIR": "off"})
    assert settings == Settings()
    assert settings.endpoint == "https://huggingface.co"
    assert "hf_secret" not in repr(settings)


def test_every_variable() -> None:
    assert Settings.from_environment(
        {
            "HF_ENDPOINT": "https://mirror.example:8443/hub/",
            "HF_HUB_OFFLINE": "Yes",
            "GPUSIZER_TIMEOUT_SECONDS": "2.5",
            "GPUSIZER_CDN_ORIGINS": "https://a.example, http://127.0.0.1:9/ ,",
            "GPUSIZER_SNAPSHOTS": "/srv/models",
            "GPUSIZER_CACHE_DIR": "/srv/cache",
            "GPUSIZER_CACHE_MB": "7",
            "GPUSIZER_USE_HOST_TOKEN": "1",
            "HF_TOKEN": "hf_secret",
            "GPUSIZER_METRICS": "1",
            "GPUSIZER_LOG": "json",
        }
    ) == Settings(
        endpoint="https://mirror.example:8443/hub",
        offline=True,
        timeout_seconds=2.5,
        cdn_origins=("https://a.example", "http://127.0.0.1:9"),
        snapshots_folder=Path("/srv/models"),
        cache_folder=Path("/srv/cache"),
        cache_bytes=7_000_000,
        host_token="hf_secret",
        metrics=True,
        structured_log=True,
    )


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/gpusizer"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/c"}, "/c/gpusizer"),
        ({"HOME": "/home/me", "GPUSIZER_CACHE_DIR": "/x"}, "/x"),
        ({"HOME": "/home/me", "GPUSIZER_CACHE_DIR": "off"}, None),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/gpusizer"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_cache_folder(
    environment: dict[str, str], folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    cache_folder = Settings.from_environment(os.environ).cache_folder
    assert cache_folder == (None if folder is None else Path(folder))


@each(
    "variable, value",
    [
        ("HF_ENDPOINT", "huggingface.co"),
        ("HF_ENDPOINT", "ftp://huggingface.co"),
        ("HF_ENDPOINT", "https://user:secret@huggingface.co"),
        ("HF_ENDPOINT", "https://huggingface.co:port"),
        ("HF_ENDPOINT", "https://huggingface.co/?x=1"),
        ("GPUSIZER_CDN_ORIGINS", "cdn.example"),
        ("GPUSIZER_TIMEOUT_SECONDS", "soon"),
        ("GPUSIZER_TIMEOUT_SECONDS", "0"),
        ("GPUSIZER_TIMEOUT_SECONDS", "nan"),
        ("GPUSIZER_TIMEOUT_SECONDS", "inf"),
        ("GPUSIZER_LOG", "xml"),
        ("GPUSIZER_CACHE_MB", "-1"),
        ("GPUSIZER_CACHE_MB", "lots"),
    ],
)
def test_unusable_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Settings.from_environment({variable: value})
    assert caught.value.fields["field"] == variable


def test_a_space_has_one_proxy_unless_it_says_otherwise() -> None:
    """The Hub sets SYSTEM there; its connections come from an internal address."""
    space = {"SYSTEM": "spaces"}
    assert Settings.from_environment({}).trusted_proxies == 0
    assert Settings.from_environment(space).trusted_proxies == 1
    assert Settings.from_environment(space | {"GPUSIZER_TRUSTED_PROXIES": "0"}).trusted_proxies == 0
