"""bench.mutants: where its slips stand."""

from __future__ import annotations

from bench.mutants import ROOT, slips

KINDS = {"arithmetic", "order", "units", "verdicts"}


def test_every_slip_stands_in_its_file_once() -> None:
    table = slips()
    assert len(table) == 60 == len({(one.file, one.before) for one in table})
    for one in table:
        assert one.stands_in(ROOT), one
        assert one.before != one.after and one.kind in KINDS, one
        assert (ROOT / one.first_file).is_file(), one
