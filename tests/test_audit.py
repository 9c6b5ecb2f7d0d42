"""What of pip-audit's report fails, by made-up reports. No service is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts import audit
from scripts.audit import NotAudited, findings_of

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
MENDED = {
    "name": "holed",
    "version": "1.0",
    "vulns": [{"id": "CVE-1", "fix_versions": ["1.1", "2.0"]}],
}
UNMENDED = {"name": "worn", "version": "3.2", "vulns": [{"id": "CVE-2", "fix_versions": []}]}
UNKNOWN = {"name": "own", "skip_reason": "Dependency not found on PyPI"}

CASES: list[tuple[list[dict[str, Any]], tuple[int, int], str]] = [
    ([SOUND], (0, 0), "1 packages audited, 0 to be replaced"),
    ([SOUND, MENDED], (1, 1), "FAILED: holed 1.0 has CVE-1, which 1.1 or 2.0 has not"),
    ([UNMENDED], (0, 0), "warning: worn 3.2 has CVE-2, and no version without it"),
    ([MENDED, UNMENDED], (1, 1), "warning: worn 3.2 has CVE-2"),
    ([SOUND, UNKNOWN], (0, 1), "the service does not know own"),
    ([UNKNOWN], (0, 1), "nothing was audited: the service knows none of the packages"),
    ([], (0, 1), "nothing was audited"),
]
"""Packages of a report, the exit status without and with --required, and what is said."""


@pytest.mark.parametrize(("packages", "statuses", "said"), CASES)
def test_what_a_later_version_mends_fails(
    packages: list[dict[str, Any]],
    statuses: tuple[int, int],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = json.dumps({"dependencies": packages, "fixes": []})
    monkeypatch.setattr(audit, "ask", lambda seconds: report)
    assert (audit.main([]), audit.main(["--required"])) == statuses
    assert said in capsys.readouterr().err


def test_a_service_that_is_away_fails_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(seconds: float) -> str:
        raise NotAudited(f"no answer within {seconds:g} s")

    monkeypatch.setattr(audit, "ask", ask)
    assert audit.main([]) == 0
    assert "nothing was audited: no answer within 30 s" in capsys.readouterr().err
    assert audit.main(["--required"]) == 1


@pytest.mark.parametrize(
    "report", ["", "no JSON", "[]", "{}", '{"dependencies": [{"vulns": [{}]}]}']
)
def test_another_report_is_none(report: str) -> None:
    with pytest.raises(NotAudited):
        findings_of(report)


def test_a_program_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip-audit stands for itself here as a program that waits."""

    def make(folder: Any, requirements: Any) -> None:
        assert requirements.read_text() == f"{audit.PIP_AUDIT}\n"
        program = folder / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\nexec sleep 60\n")
        program.chmod(0o755)

    monkeypatch.setattr(audit, "make", make)
    with pytest.raises(NotAudited, match=r"no answer within 0\.2 s"):
        audit.ask(0.2)


@pytest.mark.parametrize(
    "script, why",
    [("echo broken >&2; exit 1", "broken"), ("exit 1", "says nothing"), ("echo '{}'", "")],
)
def test_what_the_program_prints_is_read(
    script: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(folder: Any, requirements: Any) -> None:
        program = folder / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    monkeypatch.setattr(audit, "make", make)
    if not why:
        assert audit.ask(30) == "{}\n"
        return
    with pytest.raises(NotAudited, match=why):
        audit.ask(30)
