"""bench.mutants: where its slips stand, and what it sees of a tree of two functions."""

from __future__ import annotations

from pathlib import Path

from bench.mutants import ROOT, UNIT, Outcome, Slip, nearest_tests, probe, slips

KINDS = {"arithmetic", "order", "units", "verdicts"}


def slip(before: str, after: str) -> Slip:
    return Slip("test_half", "arithmetic", "gpusizer/half.py", before, after, "made up")


TOY = {
    "gpusizer/__init__.py": "",  # an installed gpusizer would come before a package without one
    "gpusizer/half.py": "def half(n): return n // 2\ndef twice(n): return n * 2\n",
    f"{UNIT}/test_half.py": "from gpusizer.half import *\ndef test_half(): assert half(6) == 3\n",
}
FARTHER = {
    "gpusizer/third.py": "from gpusizer.half import half\n",
    f"{UNIT}/test_twice.py": "from gpusizer.half import twice\n",
    f"{UNIT}/test_third.py": "from gpusizer import third\n",
    f"{UNIT}/test_apart.py": "",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_every_slip_stands_in_its_file_once() -> None:
    table = slips()
    assert len(table) == 60 == len({(one.file, one.before) for one in table})
    for one in table:
        assert one.stands_in(ROOT), one
        assert one.before != one.after and one.kind in KINDS, one
        assert (ROOT / one.first_file).is_file(), one


def test_a_slip_is_killed_survives_or_is_stale(tmp_path: Path) -> None:
    """Nothing tests `twice`; `return n` stands there twice, `n // 3` nowhere."""
    tree = written(tmp_path, TOY)
    before = (tree / "gpusizer/half.py").read_text()
    killed = Outcome("killed", f"{UNIT}/test_half.py::test_half")
    assert probe(slip("n // 2", "n // 3"), tree) == killed
    assert probe(slip("n * 2", "n * 3"), tree) == Outcome("survived")
    assert probe(slip("n // 3", "n // 2"), tree) == Outcome("stale")
    assert probe(slip("return n", "return 1"), tree) == Outcome("stale")
    assert (tree / "gpusizer/half.py").read_text() == before


def test_the_nearest_tests_come_first(tmp_path: Path) -> None:
    tree = written(tmp_path, {**TOY, **FARTHER})
    batches = nearest_tests(slip("n // 2", "n // 3"), tree)
    stems = [[Path(file).stem for file in batch] for batch in batches]
    assert stems == [["test_half"], ["test_twice"], ["test_third"], ["test_apart"]]
