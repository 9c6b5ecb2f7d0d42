"""Build the wheel with one package: `scrapers` is `gpusizer._scrapers` in there.

`scrapers` is too general a name to install beside other people's packages. Only the modules that
import it (itself, and `gpusizer/composition/`) are rewritten, with that name in their imports.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_IMPORT = re.compile(r"^( *)from scrapers(?=[. ])", re.M)
_RENAMED = r"\1from gpusizer._scrapers"
_FOLDERS = {"scrapers": "gpusizer/_scrapers", "gpusizer/composition": "gpusizer/composition"}


class OnePackage(BuildHookInterface):  # type: ignore[type-arg]
    """Hatch's hook: adds the renamed folders to a wheel, and nothing to an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the folders with other imports, and tell Hatch of them."""
        if version == "editable":
            return
        self._written = Path(tempfile.mkdtemp())
        for folder, target in _FOLDERS.items():
            copy = self._written / target
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(self.root, folder), copy, ignore=ignored)
            for module in copy.rglob("*.py"):
                text = module.read_text(encoding="utf-8")
                module.write_text(_IMPORT.sub(_RENAMED, text), encoding="utf-8")
            build_data["force_include"][str(copy)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written."""
        if version != "editable":
            shutil.rmtree(self._written)
