"""The conclusion of an answer as the first lines of its text."""

from __future__ import annotations

from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.cli.output import lines_text
from gpusizer.text import say_note


def conclusion_text(conclusion: Conclusion) -> str:
    """Write the sentence, then a line for each thing that was weighed."""
    weighed = (f"- {say_note(note)}" for note in conclusion.weighed)
    return lines_text([conclusion.sentence(say_note), *weighed])
