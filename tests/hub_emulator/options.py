"""Options: how the emulator answers; all can be changed while it runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass
class Options:
    """Behaviour that differs between deployments of the Hub, or that a test wants to vary."""

    latency: float = 0.0  # seconds added to every request
    page_size: int = 1000  # tree entries on a page
    # compress whole small files for clients that accept it, as CloudFront does
    gzip_text: bool = True
    # token -> repositories it may see (private) and read (gated)
    valid_tokens: Mapping[str, Collection[str]] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)  # old repository id -> new one
    # X-Error-Code of the anonymous 401 for a missing repository. The Hub sends none, but
    # huggingface_hub understands the bare 401 on https:// only.
    anon_401_code: str | None = "RepoNotFound"
    # answer of the safetensors-metadata route; 200 serves it
    safetensors_metadata_status: int = 200
    # answer of the resolve-cache route; 200 serves it, and with another status `resolve` sends
    # small files itself, as a mirror does
    resolve_cache_status: int = 200
    # count requests, and answer 429 when a window is used up; without it each request is the first
    # one of a window
    enforce_rate_limits: bool = False
    # https://huggingface.co/docs/hub/rate-limits
    # requests per five minutes by bucket, anonymous and with a token
    rate_limits: Mapping[str, tuple[int, int]] = field(
        default_factory=lambda: {
            "api": (500, 1000),
            "resolvers": (3000, 5000),
            "pages": (100, 200),
        }
    )
