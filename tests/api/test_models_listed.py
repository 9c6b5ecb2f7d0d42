"""The reverse question over HTTP: families, licences, and a listing that cannot be had."""

from __future__ import annotations

from typing import Any

from gradio_client import Client


def test_families_by_the_client(client: Client) -> None:
    answer: Any = client.predict(
        "4090", top=3, license="apache-2.0", live=True, api_name="/models_for_gpu"
    )
    assert [row["rank"] for row in answer["models"]] == [1, 2, 3]
    assert {row["license"] for row in answer["models"]} == {"apache-2.0"}
    assert answer["models"][0]["copies"][0]["kind"] == "quantized"
    assert answer["use"] == {"live": False, "as_of": "2026-10-05", "source": None}
    codes = {note["code"] for note in answer["notes"]}
    assert "license_unknown" in codes
    assert codes & {"use_offline", "use_not_live"}
    flat: Any = client.predict("4090", top=3, options={"fold": False}, api_name="/models_for_gpu")
    assert [row["copies"] for row in flat["models"]] == [[], [], []]
