"""Look for known vulnerabilities of the packages in `requirements.lock`.

    python3 scripts/audit.py [--required]

pip-audit, in an environment of its own, asks PyPI about their names and versions. A vulnerability
that a later version fixes is a failure; one without such a version is a warning. An unreachable
service and unknown packages are reported; they are failures only with --required, so that tests
pass without a network. Exits with 1 for a failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.environment import ROOT, CannotPrepare, make

PIP_AUDIT = "pip-audit==2.10.1"
_OPTIONS = (
    *("--require-hashes", "--disable-pip", "--requirement", str(ROOT / "requirements.lock")),
    *("--format", "json", "--progress-spinner", "off"),
)
_SECONDS, _SECONDS_IF_REQUIRED = 30, 600


class NotAudited(Exception):
    """Raised if nothing is known about the packages; the text is the reason."""


@dataclass(frozen=True)
class Findings:
    """Result of an audit, a line for each vulnerability."""

    mended: tuple[str, ...]  # fixed by a later version
    unmended: tuple[str, ...]  # present in every version
    unknown: tuple[str, ...]  # packages that the service does not know
    known: int  # number of packages that it knows


def main(arguments: Sequence[str]) -> int:
    """Audit, print the findings, and return the exit status."""
    required = "--required" in arguments
    try:
        found = findings_of(ask(_SECONDS_IF_REQUIRED if required else _SECONDS))
    except NotAudited as reason:
        say(f"nothing was audited: {reason}")
        return int(required)
    for line in found.unmended:
        say(f"warning: {line}, and no version without it")
    for line in found.mended:
        say(f"FAILED: {line}")
    if found.unknown:
        say(f"the service does not know {', '.join(found.unknown)}")
    say(f"{found.known} packages audited, {len(found.mended)} to be replaced")
    return int(bool(found.mended) or (required and bool(found.unknown)))


def say(line: str) -> None:
    """Print a line about the audit on standard error."""
    print(f"audit: {line}", file=sys.stderr, flush=True)


def ask(seconds: float) -> str:
    """Return the output of pip-audit. Raises NotAudited if it is unavailable, or takes longer."""
    with tempfile.TemporaryDirectory(prefix="gpusizer-audit-") as name:
        folder, requirements = Path(name) / "venv", Path(name) / "audit.txt"
        requirements.write_text(f"{PIP_AUDIT}\n", encoding="utf-8")
        try:
            make(folder, requirements)
            command = [folder / "bin" / "python", "-m", "pip_audit", *_OPTIONS]
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except (CannotPrepare, OSError) as error:
            raise NotAudited(str(error)) from error
        except subprocess.TimeoutExpired:
            raise NotAudited(f"no answer within {seconds:g} s") from None
    if not done.stdout.strip():
        raise NotAudited(done.stderr.strip()[-300:] or "pip-audit says nothing")
    return done.stdout


def findings_of(report: str) -> Findings:
    """Parse pip-audit's JSON. Raises NotAudited for other texts, or if it knows no package."""
    try:
        packages: Sequence[Mapping[str, Any]] = json.loads(report)["dependencies"]
        mended, unmended, unknown = [], [], []
        for package in packages:
            if "skip_reason" in package:
                unknown.append(package["name"])
            for found in package.get("vulns", ()):
                line = f"{package['name']} {package['version']} has {found['id']}"
                if found["fix_versions"]:
                    mended.append(f"{line}, which {' or '.join(found['fix_versions'])} has not")
                else:
                    unmended.append(line)
    except (ValueError, KeyError, TypeError) as error:
        raise NotAudited(f"pip-audit's report is another than expected: {error!r}") from error
    known = len(packages) - len(unknown)
    if not known:
        raise NotAudited("the service knows none of the packages")
    return Findings(tuple(mended), tuple(unmended), tuple(unknown), known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
