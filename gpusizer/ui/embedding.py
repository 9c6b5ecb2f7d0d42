"""The page inside another one: `?embed=true` leaves out its header and footer.

Gradio leaves out its own frame only in its `<gradio-app>` element; it reads no `embed` of an
address. `?__theme=light`, `dark` or `system` is Gradio's and needs nothing here.
"""

from __future__ import annotations

EMBED_CLASS = "gs-embed"
"""Class of the document's element, by which the stylesheet hides the frame."""

EMBED_PARAMETERS = ("embed", "__theme")
"""Parameters that stay in the address when another question is asked."""

EMBED_SCRIPT = (
    "<script>if (new URLSearchParams(location.search).get('embed') === 'true')"
    f" document.documentElement.classList.add('{EMBED_CLASS}');</script>"
)
"""Part of the document's head, so that the frame is never seen."""
