"""URLs in the Hub's headers: each is followed or refused before the deadline."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import HubUnreachable
from gpusizer.hub.model_ref import ModelRef
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from scrapers.hub_api import MAX_CURSOR_CHARS, next_cursor
from scrapers.redirects import is_allowed_target, origin_of, redirect_target
from tests.each import each
from tests.hub_emulator import Fault, HubEmulator, llama_repo
from tests.scrapers.conftest import QUICK, Fetch

HUB = "https://huggingface.co"
ENDPOINTS = (HUB, "http://127.0.0.1:8000", "https://mirror.example:8443/hub")
# What headers may hold on the wire: http.client decodes them as Latin-1.
PIECES = st.sampled_from(
    [
        *(
            "/",
            "//",
            "\\",
            ":",
            "::",
            "@",
            "?",
            "#",
            "%",
            "%00",
            "[",
            "]",
            "[::1",
            "[::1]",
            "[v1.x]",
        ),
        *("http:", "https:", "HTTPS://", "ftp:", "javascript:", "huggingface.co", "hf.co", ".."),
        *("127.0.0.1", "localhost", "0x7f.1", "8000", "99999", "-1", "\xff", "\xad", "\u2100", " "),
        *(
            "<",
            ">",
            ";",
            ",",
            'rel="next"',
            "rel=next",
            'rel="first"',
            "rel",
            "=",
            '"',
            "cursor=",
            "x",
        ),
    ]
)
VALUES = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30)
LONGEST = 65_000
"""Characters of a header line that http.client takes."""
BAD_LOCATIONS = (
    "//[",
    "//[::1",
    "//[v1.x]/",
    "http://[",
    "http://a]/",
    "http://h:x/",
    "//h:99999/",
    "https://[bad/x",
    "https://a..b/",
)
BAD_LINKS = (
    '<http://[>; rel="next"',
    '<//[::1>; rel="next"',
    '</api/models/org/name/tree/main>; rel="next"',
    '<?cursor=>; rel="next"',
    f'<?cursor={"x" * (MAX_CURSOR_CHARS + 1)}>; rel="next"',
)


@settings(deadline=None)
@given(st.sampled_from(ENDPOINTS), VALUES)
def test_any_location_is_an_allowed_address_or_none(endpoint: str, location: str) -> None:
    target = redirect_target(f"{endpoint}/org/name/resolve/main/x", location, endpoint)
    if target is not None:
        assert is_allowed_target(target, endpoint)
        origin = origin_of(target)
        assert origin is not None
        assert origin.scheme == "https" or origin == origin_of(endpoint)


@settings(deadline=None)
@given(VALUES)
def test_any_link_is_a_cursor_or_a_typed_error(link: str) -> None:
    try:
        cursor = next_cursor({"Link": link}, "org/name")
    except HubUnreachable as error:
        assert error.fields["reason"] == "unexpected_answer"
        assert "next" in link
    else:
        assert cursor is None or 0 < len(cursor) <= MAX_CURSOR_CHARS


@settings(deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=4).map("".join))
def test_any_long_link_is_read(piece: str) -> None:
    """A pattern that backtracks would take hours for these examples."""
    try:
        assert next_cursor({"Link": piece * (LONGEST // len(piece))}, "org/name") is None
    except HubUnreachable:
        assert "next" in piece


@each(
    "link, cursor",
    [
        ("", None),
        ('<https://x/?cursor=a>; rel="prev"', None),
        ('<https://x/?cursor=a%3D&limit=2>; rel="next"', "a="),
        ("<https://x/?cursor=a>;rel=next", "a"),
        ('<https://x/?cursor=a>; title="t"; rel="next"', "a"),
        ('<https://x/?cursor=a>; rel="first", <https://x/?cursor=b>; rel="next"', "b"),
    ],
)
def test_the_next_page(link: str, cursor: str | None) -> None:
    assert next_cursor({"Link": link}, "org/name") == cursor


@pytest.mark.parametrize("piece", ["<", "<>", "<a>; ", ", <", "; rel="])
def test_a_long_link_does_not_use_up_the_time_of_a_reading(
    hub: HubEmulator, fetch: Fetch, piece: str
) -> None:
    hub.add(llama_repo("org/name", info={"siblings": None}))
    link = piece * (LONGEST // len(piece))
    hub.faults.add(Fault("slow", "/tree/", piece=2**18, headers={"Link": link}))
    assert fetch().components[0].tensors


@pytest.mark.parametrize("location", BAD_LOCATIONS)
@pytest.mark.parametrize("match", ["/api/models/org/name$", "config.json", "safetensors$"])
def test_redirects_to_nowhere(hub: HubEmulator, fetch: Fetch, match: str, location: str) -> None:
    hub.add(llama_repo("org/name"))
    hub.faults.add(Fault("redirect_to", match, "hub", location=location))
    with pytest.raises(HubUnreachable, match="'redirect'"):
        fetch()


@pytest.mark.parametrize("link", BAD_LINKS, ids=range(len(BAD_LINKS)))
def test_a_next_page_without_a_cursor_is_refused(hub: HubEmulator, fetch: Fetch, link: str) -> None:
    hub.add(llama_repo("org/name", info={"siblings": None}))
    hub.faults.add(Fault("slow", "/tree/", piece=2**18, headers={"Link": link}))
    with pytest.raises(HubUnreachable, match="unexpected_answer"):
        fetch()


def test_another_port_of_this_machine_is_trusted_only_by_name(hub: HubEmulator) -> None:
    hub.add(llama_repo("org/name"))
    with HubSession(hub.endpoint) as session, pytest.raises(HubUnreachable, match="'redirect'"):
        fetch_snapshot(ModelRef("org/name"), session, QUICK)
    assert hub.requests_to("cdn") == []
    with HubSession(hub.endpoint, cdn_origins=[hub.cdn_endpoint]) as session:
        assert fetch_snapshot(ModelRef("org/name"), session, QUICK).components[0].tensors
    assert {urlsplit(hub.cdn_endpoint).netloc} == {
        request.headers["host"] for request in hub.requests_to("cdn")
    }
