"""Settings: the environment's variables, read once and on request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from platformdirs import user_cache_path

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.paths import SNAPSHOTS_DIR

DEFAULT_ENDPOINT = "https://huggingface.co"
DEFAULT_TIMEOUT_SECONDS = 30.0
DEFAULT_CACHE_MB = 200
# The page asks three times for a model; programs ask five times a second.
DEFAULT_QUESTIONS_PER_MINUTE = 300
# 40 of the 60 that a process computes in a minute; 300 usual questions take about 30.
DEFAULT_SECONDS_PER_MINUTE = 40
_MAX_QUESTIONS_PER_MINUTE = 1_000_000
_MAX_SECONDS_PER_MINUTE = 100_000
_MAX_PROXIES = 10
_MAX_PORT = 65_535
_MOST_MB = 9_999_999
_REDIS_SCHEMES = ("redis", "rediss", "unix")

_TRUE = frozenset({"1", "on", "true", "yes"})
_FALSE = frozenset({"0", "off", "false", "no", "none"})


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a deployment. requests reads proxies and REQUESTS_CA_BUNDLE itself."""

    # HF_ENDPOINT, address of the Hub or of a mirror, without a trailing slash
    endpoint: str = DEFAULT_ENDPOINT
    # HF_HUB_OFFLINE, answer from stored files only ("1", "true", "yes", "on")
    offline: bool = False
    # GPUSIZER_TIMEOUT_SECONDS, longest time to read one model
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    # GPUSIZER_CDN_ORIGINS, comma-separated origins (`https://host[:port]`) that the endpoint may
    # redirect to, in addition to itself and the Hub's own hosts
    cdn_origins: tuple[str, ...] = ()
    # GPUSIZER_SNAPSHOTS, folder of embedded snapshots
    snapshots_folder: Path = SNAPSHOTS_DIR
    # GPUSIZER_CACHE_DIR, folder of the Hub's answers ("off" for none); by default `gpusizer` in
    # XDG_CACHE_HOME or ~/.cache on Linux. None keeps nothing on disk.
    cache_folder: Path | None = None
    # GPUSIZER_CACHE_MB, size of that folder, in units of 10^6 bytes
    cache_bytes: int = DEFAULT_CACHE_MB * 10**6
    # GPUSIZER_CACHE_URL, a Redis (`redis://`, `rediss://`, `unix://`) that several processes share;
    # it replaces that folder
    cache_url: str | None = field(default=None, repr=False)
    # HF_TOKEN, but only if GPUSIZER_USE_HOST_TOKEN is on. A visitor's question must not use the
    # operator's rights: see scrapers.repository.tokens.
    host_token: str | None = field(default=None, repr=False)
    # GPUSIZER_QUESTIONS_PER_MINUTE, limit for one visitor ("off" for none)
    questions_per_minute: int | None = DEFAULT_QUESTIONS_PER_MINUTE
    # GPUSIZER_SECONDS_PER_MINUTE, processor seconds for answers to one visitor ("off" for no limit)
    seconds_per_minute: int | None = DEFAULT_SECONDS_PER_MINUTE
    # GPUSIZER_TRUSTED_PROXIES, reverse proxies that each request passes: they write this number of
    # addresses of X-Forwarded-For, from its right. By default 1 on a Space (SYSTEM is "spaces",
    # which the Hub sets there), else 0.
    trusted_proxies: int = 0
    # SPACE_HOST, comma-separated hosts of a Space, which the Hub sets there
    space_hosts: tuple[str, ...] = ()
    # GPUSIZER_METRICS, whether `/metrics` is served
    metrics: bool = False
    # GPUSIZER_LOG is "json": a JSON object for each line of the log and each request
    structured_log: bool = False

    @property
    def tells_visitors_apart(self) -> bool:
        """Whether one visitor has any limit."""
        return self.questions_per_minute is not None or self.seconds_per_minute is not None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Return the settings of a process. Raise InvalidRequest with the unusable variable."""
        origins = environment.get("GPUSIZER_CDN_ORIGINS", "").split(",")
        seconds = environment.get("GPUSIZER_TIMEOUT_SECONDS", "")
        endpoint = environment.get("HF_ENDPOINT", "").strip()
        folder = environment.get("GPUSIZER_SNAPSHOTS", "")
        own_token = _is_on(environment, "GPUSIZER_USE_HOST_TOKEN")
        return cls(
            endpoint=_address("HF_ENDPOINT", endpoint) if endpoint else DEFAULT_ENDPOINT,
            offline=_is_on(environment, "HF_HUB_OFFLINE"),
            timeout_seconds=_seconds(seconds) if seconds else DEFAULT_TIMEOUT_SECONDS,
            cdn_origins=tuple(
                _address("GPUSIZER_CDN_ORIGINS", origin.strip())
                for origin in origins
                if origin.strip()
            ),
            snapshots_folder=Path(folder) if folder else SNAPSHOTS_DIR,
            cache_folder=_cache_folder(environment),
            cache_bytes=10**6
            * _count(environment, "GPUSIZER_CACHE_MB", DEFAULT_CACHE_MB, _MOST_MB),
            cache_url=_redis_address(environment.get("GPUSIZER_CACHE_URL", "").strip()),
            host_token=environment.get("HF_TOKEN", "").strip() or None if own_token else None,
            questions_per_minute=_count_or_off(
                environment,
                "GPUSIZER_QUESTIONS_PER_MINUTE",
                DEFAULT_QUESTIONS_PER_MINUTE,
                _MAX_QUESTIONS_PER_MINUTE,
            ),
            seconds_per_minute=_count_or_off(
                environment,
                "GPUSIZER_SECONDS_PER_MINUTE",
                DEFAULT_SECONDS_PER_MINUTE,
                _MAX_SECONDS_PER_MINUTE,
            ),
            trusted_proxies=_count(
                environment,
                "GPUSIZER_TRUSTED_PROXIES",
                1 if _is_space(environment) else 0,
                _MAX_PROXIES,
            ),
            space_hosts=_space_hosts(environment),
            metrics=_is_on(environment, "GPUSIZER_METRICS"),
            structured_log=_is_json_log(environment.get("GPUSIZER_LOG", "").strip()),
        )


def _is_on(environment: Mapping[str, str], variable: str) -> bool:
    return environment.get(variable, "").strip().lower() in _TRUE


def _is_space(environment: Mapping[str, str]) -> bool:
    return environment.get("SYSTEM") == "spaces"


def _space_hosts(environment: Mapping[str, str]) -> tuple[str, ...]:
    hosts = environment.get("SPACE_HOST", "").split(",") if _is_space(environment) else []
    return tuple(host.strip() for host in hosts if host.strip())


def _is_json_log(value: str) -> bool:
    if value.lower() not in ("", "text", "json"):
        raise InvalidRequest(
            field="GPUSIZER_LOG", value=value[:40], reason="not_one_of", choices="text, json"
        )
    return value.lower() == "json"


def _address(variable: str, value: str) -> str:
    # http(s), without credentials, query or trailing slash
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in value or re.search(r"[\s?#\\]", value):
        raise InvalidRequest(field=variable, value=value[:120], reason="address")
    return value.rstrip("/")


def _redis_address(value: str) -> str | None:
    # an error does not repeat the address: it may hold a password
    if not value:
        return None
    try:
        parts = urlsplit(value)
        usable = parts.scheme in _REDIS_SCHEMES and bool(parts.hostname or parts.path.strip("/"))
        usable = usable and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"\s", value):
        raise InvalidRequest(field="GPUSIZER_CACHE_URL", value="", reason="redis_address")
    return value


def _count_or_off(
    environment: Mapping[str, str], variable: str, default: int, most: int
) -> int | None:
    if environment.get(variable, "").strip().lower() in _FALSE:
        return None
    return _count(environment, variable, default, most)


def serving_port(environment: Mapping[str, str]) -> int | None:
    """Return the port in GRADIO_SERVER_PORT or PORT, or None. Raise InvalidRequest if unusable."""
    for variable in ("GRADIO_SERVER_PORT", "PORT"):
        if environment.get(variable, "").strip():
            port = _count(environment, variable, 0, _MAX_PORT)
            if port == 0:
                raise InvalidRequest(field=variable, value="0", reason="count", most=_MAX_PORT)
            return port
    return None


def _count(environment: Mapping[str, str], variable: str, default: int, most: int) -> int:
    value = environment.get(variable, "").strip()
    if not value:
        return default
    if not re.fullmatch(r"[0-9]{1,7}", value) or int(value) > most:
        raise InvalidRequest(field=variable, value=value[:40], reason="count", most=most)
    return int(value)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise InvalidRequest(field="GPUSIZER_TIMEOUT_SECONDS", value=value[:40], reason="number")
    return seconds


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    named = environment.get("GPUSIZER_CACHE_DIR", "").strip()
    if named.lower() in _FALSE:
        return None
    if named:
        return Path(named)
    folder = user_cache_path("gpusizer", appauthor=False)
    return folder if folder.is_absolute() else None  # a user without a home
