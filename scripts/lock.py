"""Write `requirements.lock`: all packages of `requirements-redis.txt`, with hashes.

    pip install uv && python -m scripts.lock

uv asks its configured package index. Names, versions and hashes are written, no address of an
index. Locked packages keep their versions until `--upgrade`. To install from it:
`pip install --require-hashes -r requirements.lock`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

from gpusizer.core.paths import DATA_DIR

LOCK = DATA_DIR.parent / "requirements.lock"
# The oldest Python that pyproject.toml allows; markers in the file serve later ones.
OLDEST_PYTHON = "3.11"


def main(argv: Sequence[str]) -> int:
    """Run uv with these arguments and our own; return its exit status."""
    program = shutil.which("uv")
    if program is None:
        print("uv is not installed: pip install uv", file=sys.stderr)
        return 1
    command = [
        *(program, "pip", "compile", "requirements-redis.txt", "--output-file", LOCK.name),
        *("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--quiet"),
        *("--no-emit-index-url", "--no-emit-find-links"),
        *("--custom-compile-command", "python -m scripts.lock"),
    ]
    return subprocess.run([*command, *argv], cwd=LOCK.parent).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
