"""Compares gpusizer's answers with the cases of a set.

    python -m bench.model_types.compare [FILE] [--report FILE]

Without a file the set of the repository is compared. `--report` writes the faults as Markdown, for
an issue, and an empty file if all is right. The last line counts the right ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.model_types.cases import KEPT_CASES, read_cases
from bench.model_types.comparison import right_of, verdict_on
from bench.model_types.report import line_of, report_of


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare answers with the cases of a set.")
    parser.add_argument("cases", type=Path, nargs="?", default=KEPT_CASES)
    parser.add_argument("--report", type=Path)
    chosen = parser.parse_args()
    found = read_cases(chosen.cases)
    verdicts = [verdict_on(case) for case in found.cases]
    for verdict in verdicts:
        if not verdict.is_right:
            print(line_of(verdict))
    if chosen.report:
        chosen.report.write_text(report_of(found, verdicts), "utf-8")
    print(right_of(verdicts))


if __name__ == "__main__":
    main()
