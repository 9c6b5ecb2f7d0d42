"""Facts for an operator: health, metrics and the structured log, with nothing of a caller's."""

from __future__ import annotations

import json
import re
import time

import pytest
import requests
from gradio_client import Client

from gpusizer.core.paths import data_version
from tests.api.plain_http import ask
from tests.api.transports import TIMEOUT, call
from tests.hostile import BROKEN_MODEL, LIMITED_MODEL, VISITORS_MODEL, VISITORS_TOKEN
from tests.running_app import RunningApp

OPEN = "Qwen/Qwen3-8B"


def samples(app_url: str) -> dict[str, float]:
    """Every sample of the metrics by its name with labels."""
    answer = requests.get(f"{app_url}metrics", timeout=TIMEOUT)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    lines = (line for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_health_says_what_is_served(app_url: str) -> None:
    ask(app_url, "size", {"model": OPEN, "top": 3})
    answer = requests.get(f"{app_url}healthz", timeout=TIMEOUT)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    health = answer.json()
    assert (health["ready"], health["data_version"]) == (True, data_version())
    assert health["hub"] == {"state": "offline", "seconds_ago": None}
    assert health["cache"]["answers"] >= 1
    assert health["cache"]["bytes"] >= 1000
    assert health["cache"]["disk"] in ("off", "writable", "not_writable")


def test_metrics_count_requests_answers_and_lookups(app_url: str, client: Client) -> None:
    query = {"model": OPEN, "top": 4}
    before = samples(app_url)
    for _ in range(3):
        ask(app_url, "size", query)
    ask(app_url, "size", {"model": LIMITED_MODEL})
    ask(app_url, "size", {"model": BROKEN_MODEL})
    call(client, "/list_gpus", 5)
    after = samples(app_url)

    def grown(name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)

    assert grown('gpusizer_http_requests_total{method="GET",route="/v1/size",status="200"}') == 3
    assert grown('gpusizer_http_requests_total{method="GET",route="/v1/size",status="429"}') == 1
    assert grown('gpusizer_http_request_seconds_count{route="/v1/size"}') == 5
    assert grown('gpusizer_answers_total{code="ok",question="size",way="http"}') == 3
    limited = 'gpusizer_answers_total{code="hub_rate_limited",question="size",way="http"}'
    assert grown(limited) == 1
    failed = 'gpusizer_http_requests_total{method="GET",route="/v1/size",status="500"}'
    assert grown(failed) == 1
    wrong = 'gpusizer_answers_total{code="invalid_request",question="gpus",way="gradio"}'
    assert grown(wrong) == 1
    assert grown('gpusizer_answer_cache_lookups_total{result="hit"}') == 2
    assert grown('gpusizer_answer_cache_lookups_total{result="miss"}') == 1
    assert after['gpusizer_sessions{page="endpoints"}'] >= 1
    assert after["process_resident_memory_bytes"] > 50_000_000


def test_plain_http_leaves_no_session(app_url: str, client: Client) -> None:
    sessions = 'gpusizer_sessions{page="endpoints"}'
    call(client, "/list_gpus", "4090")
    before = samples(app_url)[sessions]
    for top in range(1, 6):
        assert ask(app_url, "gpus", {"query": "4090", "max_watts": 400 + top}).status_code == 200
    assert samples(app_url)[sessions] == before


def test_unread_answers_are_counted_until_they_are_read(app_url: str) -> None:
    unread, calls = "gpusizer_unread_answer_bytes", f"{app_url}gradio_api/call"
    before = samples(app_url)[unread]
    posted = requests.post(f"{calls}/v2/list_gpus", json={"query": "4090"}, timeout=TIMEOUT)
    for _ in range(600):
        if samples(app_url)[unread] > before + 3_000:  # more than that the call has begun
            break
        time.sleep(0.05)
    else:
        pytest.fail("the answer never came")
    event = posted.json()["event_id"]
    assert "complete" in requests.get(f"{calls}/list_gpus/{event}", timeout=TIMEOUT).text
    assert samples(app_url)[unread] <= before


# sent by a caller, or known of one
PRIVATE = ("secret-org/secret-model", "secret-org", VISITORS_MODEL, VISITORS_TOKEN, "127.0.0.1")


def ask_in_private(app_url: str) -> None:
    """Ask in every way that might leave a trace of what was asked."""
    token = {"Authorization": f"Bearer {VISITORS_TOKEN}"}
    ask(app_url, "size", {"model": VISITORS_MODEL}, **token)
    ask(app_url, "size", {"model": "secret-org/secret-model"})
    ask(app_url, "secret-org/secret-model", {"token": VISITORS_TOKEN})
    ask(app_url, "size", {"secret-org": VISITORS_TOKEN}, "SECRET-ORG")
    ask(app_url, "size", {"model": BROKEN_MODEL})
    for path in ("secret-org/secret-model", f"gradio_api/call/{VISITORS_TOKEN}"):
        requests.get(f"{app_url}{path}", timeout=TIMEOUT)


def test_metrics_have_nothing_of_a_callers(app_url: str) -> None:
    ask_in_private(app_url)
    text = requests.get(f"{app_url}metrics", timeout=TIMEOUT).text
    assert [word for word in (*PRIVATE, BROKEN_MODEL, "SECRET-ORG") if word in text] == []
    assert 'route="other"' in text and 'method="other"' in text


def test_the_structured_log_has_nothing_of_a_callers(app: RunningApp) -> None:
    ask_in_private(app.url)
    text = app.log.read_text("utf-8")
    entries = [line for line in text.splitlines() if line.startswith("{")]
    assert [word for word in (*PRIVATE, BROKEN_MODEL, "a bug") if word in "".join(entries)] == []
    assert VISITORS_TOKEN not in text
    lines = [json.loads(entry) for entry in entries]
    requests_of = [line for line in lines if line["logger"] == "gpusizer.requests"]
    assert {"/v1/size", "other"} <= {line["route"] for line in requests_of}
    assert {200, 404, 503, 500} <= {line["status"] for line in requests_of}
    assert all(line["milliseconds"] >= 0 for line in requests_of)
    frames = [line["exception"]["frames"] for line in lines if "exception" in line]
    # An exception that no code raised, as of a cancelled connection, has no frames.
    assert any(re.fullmatch(r"__main__:\d+ fetch", raised[-1]) for raised in frames if raised)
