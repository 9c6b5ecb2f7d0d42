"""The shell reads what its user may read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.test_cli import ROOT
from tests.hub_emulator import HubEmulator, llama_repo

OWN = "hf_users_own"


def ask(hub: HubEmulator, folder: Path, *arguments: str, **environment: str) -> dict[str, object]:
    """The JSON that `gpusizer size org/gated` prints."""
    places = {
        "HF_ENDPOINT": hub.endpoint,
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
        "GPUSIZER_CACHE_DIR": str(folder / "cache"),
        "HF_HOME": str(folder),
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    printed = subprocess.run(
        [sys.executable, "-m", "gpusizer", "size", "org/gated", "--json", *arguments],
        cwd=ROOT,
        env=inherited | places | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(printed.stdout)
    return answer


def test_a_gated_model_is_sized_with_the_users_own_token(tmp_path: Path) -> None:
    with HubEmulator([llama_repo("org/gated", layers=4, gated="manual")]) as hub:
        hub.options.valid_tokens = {OWN: {"org/gated"}}
        whole = ask(hub, tmp_path, "--token", OWN)
        cache = whole["estimates"]
        hub.reset_log()
        (tmp_path / "token").write_text(OWN)
        assert ask(hub, tmp_path)["estimates"] == cache, "the saved login"
        assert {request.headers.get("authorization") for request in hub.requests_to("hub")} == {
            f"Bearer {OWN}"
        }
        totals = ask(hub, tmp_path, HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
        assert totals["estimates"] != cache, "nothing that the token opened is kept for another"
