"""Fields of a target, a draft model, a least speed and a budget, which the size tab folds away."""

from __future__ import annotations

from typing import Any

import gradio as gr

from gpusizer.core.messages import Note
from gpusizer.fit.demands import DEFAULT_MAX_LOSS
from gpusizer.quality.words import WORDS
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tabs.tab_fields import number_field


def serving_fields(words: Words) -> dict[str, Any]:
    """Build requests per second, tokens of prompt and answer, and milliseconds to the first."""
    return {
        "requests_per_second": number_field(words("rate.label"), words("rate.info")),
        "prompt_tokens": number_field(words("prompt.label"), words("prompt.info")),
        "answer_tokens": number_field(words("answer.label"), words("answer.info")),
        "ttft_ms": number_field(words("ttft.label"), words("ttft.info")),
    }


def draft_fields(words: Words) -> dict[str, Any]:
    """Build the second model's ID, and the share of its guesses that are accepted."""
    return {
        "draft_model": gr.Textbox(
            label=words("draft.label"),
            info=words("draft.info"),
            placeholder=words("model.placeholder"),
            max_lines=1,
            html_attributes=gr.InputHTMLAttributes(
                autocorrect="off", autocapitalize="off", spellcheck=False
            ),
        ),
        "acceptance_rate": number_field(
            words("acceptance.label"), words("acceptance.info"), step=0.05
        ),
    }


def wish_fields(words: Words) -> dict[str, Any]:
    """Build the most that a quantization may lose, the tokens a second that each user should see,
    and the dollars to spend on GPUs."""
    losses = [(words.note(Note(f"loss_{word}")), word.value) for word in WORDS]
    return {
        "max_loss": gr.Dropdown(
            losses,
            value=DEFAULT_MAX_LOSS.value,
            label=words("max_loss.label"),
            info=words("max_loss.info"),
        ),
        "min_tok_s": number_field(words("least_speed.label"), words("least_speed.info")),
        "max_usd": number_field(words("budget.label"), words("budget.info")),
    }
