"""Links between the documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "docs/*.md",
        "bench/*.md",
        "data/*.md",
        "data/measurements/*.md",
        "skills/*/*.md",
    )
    for path in ROOT.glob(pattern)
)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


def anchors(document: Path) -> set[str]:
    """Anchors of a document's headings, as GitHub and the Hub make them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for path, anchor in _LINK.findall(document.read_text("utf-8")):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_a_readme_is_one_page() -> None:
    for name in ("README.md", "README.zh.md", "README.pt.md"):
        assert len((ROOT / name).read_text("utf-8").splitlines()) < 120, name
