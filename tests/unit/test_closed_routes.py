"""Every public route of Gradio is either one that was reviewed and is needed, or closed."""

from __future__ import annotations

import gradio as gr
import pytest
from gradio.routes import App

from gpusizer.ui.closed_routes import is_closed
from tests.coroutines import run_in_thread

REVIEWED = frozenset(
    {
        # Pages, their files and their description: they are the same for everybody.
        *("/", "/assets/{path}", "/config", "/favicon.ico", "/manifest.json", "/pwa_icon"),
        *("/pwa_icon/{size}", "/robots.txt", "/static/{path}", "/svelte/{path}", "/theme.css"),
        *("/gradio_api/theme.css", "/gradio_api/app_id", "/gradio_api/info"),
        *("/gradio_api/openapi.json", "/gradio_api/startup-events"),
        # Calls: what they take is validated as a request; a caller's event has a random name.
        *("/gradio_api/api/{api_name}", "/gradio_api/run/{api_name}"),
        *("/gradio_api/call/{api_name}", "/gradio_api/call/{api_name}/{event_id}"),
        *("/gradio_api/call/v2/{api_name}", "/gradio_api/call/v2/{api_name}/{event_id}"),
        *("/gradio_api/queue/join", "/gradio_api/queue/status", "/gradio_api/cancel"),
        # Streams of a session, whose name its browser draws at random; and a no-op.
        *("/gradio_api/queue/data", "/gradio_api/heartbeat/{session_hash}", "/gradio_api/reset"),
        # Who is signed in, by the caller's own cookie.
        *("/login", "/logout", "/gradio_api/user", "/gradio_api/token", "/gradio_api/login_check"),
    }
)


@pytest.fixture(scope="module")
def gradio_routes() -> set[str]:
    """Paths of the routes that Gradio serves for a Blocks, without a slash at their end."""

    async def described() -> set[str]:
        with gr.Blocks() as blocks:
            gr.Textbox()
        return {path.rstrip("/") or "/" for path in App.create_app(blocks).openapi()["paths"]}

    return run_in_thread(described())


def test_every_route_is_reviewed_or_closed(gradio_routes: set[str]) -> None:
    assert len(gradio_routes) > 40
    neither = {path for path in gradio_routes - REVIEWED if not is_closed(path)}
    assert neither == set()
    assert {path for path in REVIEWED if is_closed(path)} == set()
    assert REVIEWED - gradio_routes == set(), "Gradio has dropped a route"


@pytest.mark.parametrize("prefix", ["", "/zh", "/below/a/proxy", "/below/a/proxy/pt"])
def test_a_route_is_closed_wherever_it_is_mounted(prefix: str) -> None:
    for path in ("/gradio_api/upload", "/gradio_api/file=/etc/passwd", "/monitoring/summary"):
        assert is_closed(prefix + path)
    for path in ("/", "/v1/size", "/gradio_api/call/size_model", "/gradio_api/queue/data"):
        assert not is_closed(prefix + path)


def test_names_of_calls_close_nothing() -> None:
    paths = ("/gradio_api/call/upload", "/gradio_api/call/v2/stream", "/endpoints")
    assert not any(is_closed(path) for path in paths)
