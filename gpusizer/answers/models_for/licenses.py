"""Licences: the identifiers that most of the embedded models state, for menus."""

from __future__ import annotations

LICENSES = (
    *("apache-2.0", "mit", "gemma", "llama2", "llama3.1", "llama3.2", "llama3.3"),
    *("modified-mit", "qwen", "cc-by-nc-4.0"),
)
"""As the Hub spells them (hub-docs, "Licenses"), and names that publishers give in `license_name`;
any other can be typed."""
