"""What axe-core objects to."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

_SERIOUS = ("serious", "critical")


def serious(page: Any) -> list[str]:
    """Serious violations of a page, in our parts and in Gradio's."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['html'][:160]}"
        for one in found
        if one["impact"] in _SERIOUS
        for node in one["nodes"]
    ]
