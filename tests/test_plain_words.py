"""scripts.plain_words: the words that it finds, and those that it leaves alone."""

from __future__ import annotations

from scripts.plain_words import finds_in_code, finds_in_text, is_read

MODULE = '''"""What a module holds."""
# Nobody asks for it.
def count_blocks(tensors):
    """Return the blocks that the tensors fill.

    One that stands alone counts; the result is None if there is none."""
    whoever = "nobody"
    return whoever
'''


def test_openers_and_riddles_of_docstrings_and_comments_are_found() -> None:
    found = {(find.line, find.word) for find in finds_in_code("module.py", MODULE)}
    assert found == {(1, "What"), (2, "Nobody"), (6, "stands"), (6, "is none")}


def test_a_document_has_no_openers() -> None:
    text = "What a page says.\nIt is made anew."
    assert [str(find) for find in finds_in_text("page.md", text)] == [
        "page.md:2: 'anew'; better “again”"
    ]


def test_paths_narrow_the_files_that_are_read() -> None:
    forms = "gpusizer/ui/page/forms.py"
    assert is_read("gpusizer/fit/machine.py", []) and is_read(forms, [])
    assert is_read(forms, ["gpusizer/ui/page"]) and not is_read(forms, ["gpusizer/ui/pag"])
