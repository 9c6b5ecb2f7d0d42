"""Agreement with published recommendations as last counted: its file, and its section of a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from bench.recommended_setups import Recommendation
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import toml_of
from gpusizer.core.units import percent_text

FILE = GENERATED_DIR / "recommendations.json"
ALL = "all"
_TEXTS = toml_of(__file__)
_TITLES: Mapping[str, str] = _TEXTS["titles"]
_DIVIDED = _TEXTS["divided"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of recommendations: all, met by the first row, met by one of three, sensible."""

    rows: int
    first: int
    of_three: int
    sensible: int

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of the rows, in the order of the fields."""
        return self.first / self.rows, self.of_three / self.rows, self.sensible / self.rows


Groups = Mapping[str, Counts]  # counts by the title of a use, and of all rows


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts, and the day of their last change."""

    as_of: str
    groups: Groups


def title_of(wanted: Recommendation) -> str:
    """Return the title of the group in which a recommendation is counted."""
    title = _TITLES[wanted.use]
    if wanted.use not in _DIVIDED["uses"]:
        return title
    return f"{title}, {_DIVIDED['named' if wanted.names_card else 'open']}"


def titles() -> Iterator[str]:
    """Yield the titles of all groups, in the order of the table."""
    for use, title in _TITLES.items():
        if use in _DIVIDED["uses"]:
            yield from (f"{title}, {_DIVIDED[kind]}" for kind in ("open", "named"))
        else:
            yield title
    yield ALL


def read(path: Path = FILE) -> Agreement:
    """Return the published counts."""
    stored = json.loads(path.read_text("utf-8"))
    groups = {title: Counts(**counts) for title, counts in stored["groups"].items()}
    return Agreement(stored["as_of"], groups)


def publish(groups: Groups, path: Path = FILE) -> Agreement:
    """Write the file; its date changes only if the numbers do."""
    if path.is_file() and (last := read(path)).groups == groups:
        return last
    as_of = date.today().isoformat()
    lines = [f"  {json.dumps(title)}: {json.dumps(asdict(n))}" for title, n in groups.items()]
    body = ",\n".join(lines)
    path.write_text(f'{{\n "as_of": "{as_of}",\n "groups": {{\n{body}\n }}\n}}\n', "utf-8")
    return Agreement(as_of, groups)


def section(agreement: Agreement) -> Iterator[str]:
    """Yield the lines of the section of `docs/accuracy.md`."""
    yield _TEXTS["head"].format(rows=agreement.groups[ALL].rows, as_of=agreement.as_of)
    yield "| | rows | first | of three | sensible |"
    yield "|---|--:|--:|--:|--:|"
    for title, counts in agreement.groups.items():
        shares = (percent_text(share) for share in counts.shares)
        yield f"| {title} | {counts.rows} | {' | '.join(shares)} |"
