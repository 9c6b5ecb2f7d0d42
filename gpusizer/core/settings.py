"""Settings: everything gpusizer takes from the environment, read once and on request."""

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
DEFAULT_QUESTIONS_PER_MINUTE = 300
"""A page asks three times for a model; programs ask five times a second."""
DEFAULT_SECONDS_PER_MINUTE = 40
"""Of the 60 that a process computes in a minute; 300 usual questions take about 30."""
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
    """What differs between deployments. requests reads proxies and REQUESTS_CA_BUNDLE itself.

    Attributes:
        endpoint: HF_ENDPOINT, address of the Hub or of a mirror, without a trailing slash.
        offline: HF_HUB_OFFLINE, answer from what is stored only ("1", "true", "yes", "on").
        timeout_seconds: GPUSIZER_TIMEOUT_SECONDS, longest time to read one model.
        cdn_origins: GPUSIZER_CDN_ORIGINS, comma-separated origins (`https://host[:port]`)
            that the endpoint may redirect to besides itself and the Hub's own hosts.
        snapshots_folder: GPUSIZER_SNAPSHOTS, folder of embedded snapshots.
        cache_folder: GPUSIZER_CACHE_DIR, where answers of the Hub are kept ("off" for
            nowhere); without it where the system keeps caches: `gpusizer` in XDG_CACHE_HOME
            or ~/.cache on Linux. None keeps nothing on disk.
        cache_bytes: GPUSIZER_CACHE_MB, size of that folder, in units of 10^6 bytes.
        cache_url: GPUSIZER_CACHE_URL, a Redis (`redis://`, `rediss://`, `unix://`) that several
            processes share: it takes the place of that folder.
        host_token: HF_TOKEN, but only where GPUSIZER_USE_HOST_TOKEN says so. A visitor's
            question must not be asked with the operator's rights: see scrapers.repository.tokens.
        questions_per_minute: GPUSIZER_QUESTIONS_PER_MINUTE, how many of one visitor are answered
            ("off" for any number).
        seconds_per_minute: GPUSIZER_SECONDS_PER_MINUTE, how many seconds of the processor answers
            to one visitor may take ("off" for any number).
        trusted_proxies: GPUSIZER_TRUSTED_PROXIES, how many reverse proxies each request passes
            through: so many addresses of X-Forwarded-For, from its right, are theirs to write. On a
            Space (SYSTEM is "spaces", which the Hub sets there) it is 1 without saying so.
        space_hosts: SPACE_HOST, the hosts of a Space separated by commas, which the Hub sets there;
            none elsewhere.
        metrics: GPUSIZER_METRICS, whether `/metrics` is served.
        structured_log: GPUSIZER_LOG is "json": one JSON object for each line of the log, and one
            for each request.
    """

    endpoint: str = DEFAULT_ENDPOINT
    offline: bool = False
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    cdn_origins: tuple[str, ...] = ()
    snapshots_folder: Path = SNAPSHOTS_DIR
    cache_folder: Path | None = None
    cache_bytes: int = DEFAULT_CACHE_MB * 10**6
    cache_url: str | None = field(default=None, repr=False)
    host_token: str | None = field(default=None, repr=False)
    questions_per_minute: int | None = DEFAULT_QUESTIONS_PER_MINUTE
    seconds_per_minute: int | None = DEFAULT_SECONDS_PER_MINUTE
    trusted_proxies: int = 0
    space_hosts: tuple[str, ...] = ()
    metrics: bool = False
    structured_log: bool = False

    @property
    def tells_visitors_apart(self) -> bool:
        """Whether one visitor has any limit."""
        return self.questions_per_minute is not None or self.seconds_per_minute is not None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Settings of this process: `Settings.from_environment(os.environ)`.

        Raises InvalidRequest naming the variable that cannot be used.
        """
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
    """An http(s) address without credentials, query or trailing slash."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in value or re.search(r"[\s?#\\]", value):
        raise InvalidRequest(field=variable, value=value[:120], reason="address")
    return value.rstrip("/")


def _redis_address(value: str) -> str | None:
    """The address of a Redis. An error does not repeat it: it may hold a password."""
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
    """Return the port that the environment names: GRADIO_SERVER_PORT, else PORT; None for neither.

    Raises InvalidRequest naming the variable.
    """
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
