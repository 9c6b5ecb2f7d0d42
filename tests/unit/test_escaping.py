"""Texts of repositories and users are escaped on every part of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpusizer.core.errors import InvalidModelId, ModelNotFound, UnknownGpu
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.beside.side_by_side import gpu_names_html, side_by_side_html
from gpusizer.ui.presenters.catalogue import COLUMNS as CATALOGUE_COLUMNS
from gpusizer.ui.presenters.pieces import frame
from gpusizer.ui.presenters.pieces.addresses import PATHS
from gpusizer.ui.presenters.pieces.errors import chips_html, error_html
from gpusizer.ui.presenters.pieces.grid import gpu_cell
from gpusizer.ui.presenters.pieces.words import Words
from tests.hostile import ATTACKS
from tests.pages import ENGLISH, cells, hostile_sizer, inert, page_markup
from tests.sizers import embedded_sizer


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_of_a_hostile_repository_is_escaped(language: Language) -> None:
    markup = page_markup(hostile_sizer(), "hostile/model", Words(language))
    page = inert(markup)
    attributes = [item for _, found in page.elements for item in found.items()]
    links = [value or "" for name, value in attributes if name in ("href", "src", "action")]
    own_prefixes = ("https://huggingface.co/", "#gs-", f"{PATHS[language]}?tab=compare&gpus=")
    assert all(link.startswith(own_prefixes) for link in links)
    assert "`" not in markup
    assert "window.pwned" in page.text  # shown as text, not lost


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    "render",
    [
        lambda text: error_html(InvalidModelId(value=text, reason=text), [text], ENGLISH),
        lambda text: error_html(ModelNotFound(repo_id=text), [text], ENGLISH),
        lambda text: error_html(UnknownGpu(value=text, suggestions=[text]), (), ENGLISH),
        lambda text: chips_html([text], text),
        lambda text: side_by_side_html(None, (), text, ENGLISH),
        lambda text: gpu_names_html([text]),
        lambda text: frame.status_html(text, (), ENGLISH),
    ],
)
def test_typed_text_is_escaped(attack: str, render: Callable[[str], str]) -> None:
    inert(render(attack))


@pytest.mark.parametrize("attack", ATTACKS)
def test_names_in_a_grid_are_escaped(attack: str) -> None:
    gpu = replace(embedded_sizer().catalogue.gpus[0], name=attack, architecture=attack)
    gpu = replace(gpu, interconnect=attack)
    inert(cells(CATALOGUE_COLUMNS, [gpu]))
    assert "${" not in gpu_cell(attack, attack, "slug", ENGLISH)
