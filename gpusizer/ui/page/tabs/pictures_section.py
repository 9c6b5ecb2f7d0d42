"""Pictures of an answer, in an accordion; they are drawn when a visitor first unfolds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import gradio as gr

from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, html, query_box
from gpusizer.ui.presenters.charts.plot import PLOTS
from gpusizer.ui.presenters.pieces.words import Words

_WIDTH = 480  # pixels; in a narrower column plots stand below each other


@dataclass(frozen=True, slots=True)
class PicturesPart:
    """The accordion with the pictures."""

    folded: gr.Accordion  # the accordion
    drawn: gr.Textbox  # query whose pictures are drawn, "" before the accordion is first unfolded
    parts: Mapping[str, Part]  # components filled by the pictures, by name

    def follow(self, query: gr.Textbox, handlers: Handlers, listeners: Listeners) -> None:
        """Draw the pictures when the accordion is unfolded, and from then on for every query."""
        drawn = self.drawn
        parts: dict[str, Part] = {"drawn": drawn, **self.parts}
        outputs = [*parts.values()]

        def draw(asked: str, token: gr.OAuthToken | None) -> dict[Part, object]:
            shown = handlers.draw(asked, token)
            return {parts[name]: value for name, value in shown.items()}

        def redraw(asked: str, shown: str, token: gr.OAuthToken | None) -> dict[Part, object]:
            return {drawn: gr.skip()} if shown in ("", asked) else draw(asked, token)

        self.folded.expand(draw, [query], outputs, **listeners("draw"))
        changes = [query.change, drawn.change]  # the query may change while they are drawn
        gr.on(changes, redraw, [query, drawn], outputs, **listeners("redraw"))


def build(words: Words) -> PicturesPart:
    """Build the accordion, which is invisible until there is an answer."""
    summary = words("pictures.summary")
    folded = gr.Accordion(summary, open=False, visible=False, elem_id="gs-pictures")
    drawn = query_box("gs-drawn")
    parts: dict[str, Part] = {}
    with folded, gr.Row(elem_classes=["gs-figures"]):
        for name in PLOTS:
            parts |= {f"{name}.{part}": built for part, built in figure(name).items()}
    return PicturesPart(folded, drawn, parts)


def figure(name: str) -> dict[str, Part]:
    # Invisible until there is data: Gradio's script fetches Vega when the first plot becomes
    # visible.
    with gr.Column(visible=False, min_width=_WIDTH, elem_id=f"gs-{name}-picture") as column:
        above = html("", f"gs-{name}-above")
        plot = gr.Plot(
            show_label=False,
            container=False,
            visible=False,
            elem_id=f"gs-{name}-plot",
            elem_classes=["gs-plot"],
        )
        below = html("", f"gs-{name}-below")
    return {"column": column, "above": above, "plot": plot, "below": below}
