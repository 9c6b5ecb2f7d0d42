"""Compares answers with published recommendations.

    python -m bench.recommendations [--rows FILE] [--only TEXT] [--misses]
    python -m bench.recommendations --write-docs

Every row of `data/measurements/recommendations.jsonl`, or of a file in that form, is asked once, in
this process and offline, as a reader of its source would ask. It counts how often the first row of
the answer is a set-up that the source accepts, how often one of the first three cards or of the
alternatives is, and how often no suggestion breaks a rule (`bench/recommendation_rules.py`).
`--only` asks rows with TEXT in their id or use, `--misses` prints the rows that miss, and
`--write-docs` writes `data/generated/recommendations.json` and the section of `docs/accuracy.md`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bench import agreement
from bench.accuracy_table import load_accuracy
from bench.embedded_answers import offline_answers
from bench.publication import DOCUMENT, document
from bench.recommendation_rules import Advice, broken
from bench.recommended_setups import FILE, Recommendation, Suggestion, read_recommendations
from gpusizer.core.errors import GpusizerError
from gpusizer.ui.server.answer_cache import Answers

_REFUSED = ("does_not_fit", "not_supported")
_CARDS = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """Comparison of an answer with a recommendation."""

    wanted: Recommendation
    said: str  # the answer's first sentence, or the code of its error
    headline: Suggestion | None = None  # first row that fits, or None
    # rows with the first three distinct cards, and the alternatives
    others: tuple[Suggestion, ...] = ()
    missed: tuple[str, ...] = ()  # parts in which the headline differs from the nearest set-up
    # rules that the headline or an alternative breaks, with its kind
    broken: tuple[tuple[str, str], ...] = ()

    @property
    def first(self) -> bool:
        """Whether the headline is one of the set-ups."""
        return self.headline is not None and not self.missed

    @property
    def of_three(self) -> bool:
        """Whether one of the first three cards or of the alternatives is one of the set-ups."""
        return any(not self.wanted.missed_by(item) for item in self.others)

    @property
    def sensible(self) -> bool:
        """Whether there is a suggestion, and all keep the rules."""
        return self.headline is not None and not self.broken


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and the rows that miss, or write the file and the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.recommendations")
    parser.add_argument("--rows", type=Path, default=FILE, metavar="FILE", help="rows to ask")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with it in id or use")
    parser.add_argument("--misses", action="store_true", help="print the rows that miss")
    parser.add_argument("--write-docs", action="store_true", help="publish the figures")
    options = parser.parse_args(arguments)
    if options.write_docs and (options.only or options.rows != FILE):
        parser.error("--write-docs is about all rows of the project")
    wanted = [
        row
        for row in read_recommendations(options.rows)
        if options.only in row.id or options.only in row.use
    ]
    answers = offline_answers()
    judgements = [asked(answers, row) for row in wanted]
    print(table(judgements))
    if options.misses:
        print(*_miss_lines(judgements), sep="\n")
    if options.write_docs:
        agreement.publish(groups_of(judgements))
        DOCUMENT.write_text(document(load_accuracy()), "utf-8")


def asked(answers: Answers, wanted: Recommendation) -> Judgement:
    """Ask as a reader of the source would, and compare."""
    try:
        answer = answers.ask(*wanted.question(), None).json()
    except GpusizerError as error:
        return Judgement(wanted, error.code)
    return judge(wanted, answer)


def judge(wanted: Recommendation, answer: Mapping[str, Any]) -> Judgement:
    """Compare a public answer with a recommendation."""
    said = answer["answer"]["sentence"]
    fitting = [item for item in answer["ranking"] if item["verdict"] not in _REFUSED]
    beside = [Suggestion.from_row(item["kind"], item) for item in answer.get("alternatives", ())]
    if not fitting:
        return Judgement(wanted, said, others=tuple(beside))
    headline = Suggestion.from_row("headline", fitting[0])
    by_card: dict[str, Suggestion] = {}
    for item in fitting:
        by_card.setdefault(item["gpu"], Suggestion.from_row("", item))
    return Judgement(
        wanted,
        said,
        headline,
        (*list(by_card.values())[:_CARDS], *beside),
        wanted.missed_by(headline),
        tuple(
            (rule, item.kind)
            for item in (headline, *beside)
            for rule in broken(Advice.from_suggestion(wanted, item, answer))
        ),
    )


def groups_of(judgements: Sequence[Judgement]) -> dict[str, agreement.Counts]:
    """Count by use, and in all."""
    lines = [
        (title, True, item.first, item.of_three, item.sensible)
        for item in judgements
        for title in (agreement.title_of(item.wanted), agreement.ALL)
    ]
    columns = ["title", "rows", "first", "of_three", "sensible"]
    sums = pd.DataFrame(lines, columns=columns).groupby("title").sum()
    return {
        title: agreement.Counts(*map(int, sums.loc[title]))
        for title in agreement.titles()
        if title in sums.index
    }


def table(judgements: Sequence[Judgement]) -> str:
    """Write the counts and their shares in percent, then missed parts and broken rules."""
    frame = pd.DataFrame(
        {
            title: [counts.rows, *(f"{share:.0%}" for share in counts.shares)]
            for title, counts in groups_of(judgements).items()
        },
        index=["rows", "first", "of three", "sensible"],
    )
    parts = Counter(part for item in judgements for part in item.missed)
    rules = Counter(rule for item in judgements for rule in {rule for rule, _ in item.broken})
    counted = [f"parts that miss: {dict(parts)}", f"rules broken: {dict(rules)}"]
    return "\n".join((frame.T.to_string(), *counted))


def _miss_lines(judgements: Sequence[Judgement]) -> Iterator[str]:
    # Rows whose headline is no set-up or that break a rule.
    for item in judgements:
        if item.first and item.sensible:
            continue
        wanted = item.wanted
        command, fields = wanted.question()
        near = " (of three)" if item.of_three else ""
        yield f"\n{wanted.id}: {', '.join(item.missed) or 'no suggestion'}{near}"
        yield f"  asked   {command} {' '.join(f'{k}={v}' for k, v in fields.items())}"
        yield from (f"  accepts {setup.text}" for setup in wanted.setups)
        yield f"  said    {item.said}"
        yield from (f"  breaks  {rule} ({kind})" for rule, kind in item.broken)
        yield f"  source  {wanted.source_url}"


if __name__ == "__main__":
    main()
