"""How we know: errors against measurements, methods, what cannot be known, and the API."""

from __future__ import annotations

from gpusizer.accuracy import load_accuracy
from gpusizer.ui import scripts
from gpusizer.ui.presenters import frame
from gpusizer.ui.presenters.accuracy import accuracy_html
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tabs.kit import html


def build(words: Words) -> None:
    """Build the tab."""
    html(accuracy_html(load_accuracy(), words), "gs-accuracy-block")
    html(frame.method_html(words), "gs-method-block")
    html(frame.api_html(words), "gs-api-block", scripts.copy_script(frame.ORIGIN))
