"""Reads the metrics of a server of the reader's own, for the shell's command `check`.

Only the shell uses this module. It asks the one address that was typed: no redirect is followed,
no credentials are sent.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import requests
import urllib3

from gpusizer.core.validation import fail
from scrapers.client.http_client import EndpointAuth, HttpClient

MAX_BYTES = 4_000_000
"""Of one page of metrics; that of vLLM has about 100,000."""

_WAIT_SECONDS = (3.0, 10.0)
_SECONDS = 15.0
_PATH = "/metrics"


def read_metrics(address: str) -> str:
    """Return the text at `/metrics` of a server such as `http://127.0.0.1:8000`.

    Raises InvalidRequest: for an address that is none, and where no page can be read there.
    """
    url = _url(address)
    client = HttpClient(connections=1)
    # With an auth of any kind requests does not read ~/.netrc.
    request = requests.Request("GET", url, auth=EndpointAuth(None, None)).prepare()
    try:
        with client.open(request, _WAIT_SECONDS, _SECONDS) as response:
            if response.is_redirect:
                raise fail("vllm", address, "redirect")
            if response.status_code != requests.codes.ok:
                raise fail("vllm", address, "unexpected_answer")
            body: bytes = response.raw.read(MAX_BYTES + 1, decode_content=True)
    except (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError) as error:
        raise fail("vllm", address, "timeout") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise fail("vllm", address, "connection") from error
    finally:
        client.close()
    if len(body) > MAX_BYTES:
        raise fail("vllm", address, "unexpected_answer")
    return body.decode("utf-8", errors="replace")


def _url(address: str) -> str:
    """The address of the metrics below the server that was typed, whatever path it had."""
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise fail("vllm", address, "address") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise fail("vllm", address, "address")
    url_host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{url_host}{'' if port is None else f':{port}'}{_PATH}"
