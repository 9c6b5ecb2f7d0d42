"""Fields of a target, a draft model, a least speed and a budget, which the size tab folds away."""

from __future__ import annotations

import gradio as gr

from gpusizer.ui.presenters.words import Words


def serving_fields(words: Words) -> tuple[gr.Number, gr.Number, gr.Number, gr.Number]:
    """Build requests per second, tokens of prompt and answer, and milliseconds to the first."""
    return (
        gr.Number(None, label=words("rate.label"), info=words("rate.info")),
        gr.Number(None, label=words("prompt.label"), info=words("prompt.info"), precision=0),
        gr.Number(None, label=words("answer.label"), info=words("answer.info"), precision=0),
        gr.Number(None, label=words("ttft.label"), info=words("ttft.info")),
    )


def draft_fields(words: Words) -> tuple[gr.Textbox, gr.Number]:
    """Build the second model's ID, and the share of its guesses that are accepted."""
    return (
        gr.Textbox(
            label=words("draft.label"),
            info=words("draft.info"),
            placeholder=words("model.placeholder"),
            max_lines=1,
            html_attributes=gr.InputHTMLAttributes(
                autocorrect="off", autocapitalize="off", spellcheck=False
            ),
        ),
        gr.Number(
            None,
            label=words("acceptance.label"),
            info=words("acceptance.info"),
            minimum=0,
            maximum=1,
            step=0.05,
        ),
    )


def wish_fields(words: Words) -> tuple[gr.Number, gr.Number]:
    """Build the tokens a second that each user should see, and the dollars to spend on GPUs."""
    return (
        gr.Number(None, label=words("least_speed.label"), info=words("least_speed.info")),
        gr.Number(None, label=words("budget.label"), info=words("budget.info")),
    )
