"""Accessibility violations that axe-core reports."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

_SERIOUS = ("serious", "critical")


def serious(page: Any) -> list[str]:
    """List serious violations of a page, in our markup and in Gradio's."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']} ({violation['impact']}): {node['target']} {node['html'][:160]}"
        for violation in violations
        if violation["impact"] in _SERIOUS
        for node in violation["nodes"]
    ]
