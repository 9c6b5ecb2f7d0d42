"""Write the sections on requests in `docs/contract.md` from the request models.

    python -m scripts.write_contract

The rest of the page is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusizer.core.paths import DATA_DIR
from gpusizer.usecases.requests.request_docs import FieldDescription, described_groups
from gpusizer.usecases.use_cases import USE_CASES

PAGE = DATA_DIR.parent / "docs" / "contract.md"
BEGIN = "<!-- requests: written by `python -m scripts.write_contract` -->"
END = "<!-- end of requests -->"

_KINDS = {int: "integer", float: "number", bool: "boolean", str: "text", tuple: "list of texts"}


def updated(page: str) -> str:
    """Return the page with its sections on requests replaced."""
    text_before, _, after_begin = page.partition(BEGIN)
    _, _, text_after = after_begin.partition(END)
    return f"{text_before}{BEGIN}\n\n{requests_text()}\n{END}{text_after}"


def requests_text() -> str:
    """Write a section for each request; groups of fields listed before are only named."""
    sections: list[str] = []
    listed: dict[tuple[FieldDescription, ...], str] = {}
    for name, question in USE_CASES.items():
        sections.append(f"### `{name}`\n")
        shared: dict[str, list[str]] = {}
        for heading, fields in described_groups(question.request).items():
            if fields in listed:
                shared.setdefault(listed[fields], []).append(heading)
            else:
                listed[fields] = name
                sections.append(_table(heading, fields))
        for earlier, headings in shared.items():
            sections.append(f"As in `{earlier}`: {', '.join(headings)}.\n")
    return "\n".join(sections)


def _table(heading: str, fields: Iterable[FieldDescription]) -> str:
    lines = ("| field | type | default | bounds or choices | meaning |", "|---|---|---|---|---|")
    rows = (f"| {' | '.join(_cells(field))} |" for field in fields)
    return "\n".join((f"**{heading}**\n", *lines, *rows)) + "\n"


def _cells(field: FieldDescription) -> Iterator[str]:
    yield f"`{field.name}`"
    has_unit = field.kind in (int, float) and field.unit != "N"
    yield f"{_KINDS[field.kind]}, {field.unit}" if has_unit else _KINDS[field.kind]
    yield "required" if field.required else field.default_text
    yield field.choices_text or field.bounds_text
    yield field.meaning.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
