"""PageState: the question on the page, its checked request, and its query string."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.machine_parser import split_machines
from gpusizer.ui.page.forms import (
    FORMS,
    OF_NAMED_GPUS,
    FieldValue,
    hidden_fields,
    number_text,
    query_of,
)
from gpusizer.ui.presenters.choices import ModelUse
from gpusizer.usecases.requests.request import RANKINGS, SizeRequest

_FORM = FORMS["size"]
_MAX_QUERY_CHARS = 4000
_MOST_PLACES, _MOST_NAME_CHARS = 64, 300
_KEPT_REQUESTS = 64
_OF_EVERY_GPU: Mapping[str, object] = {
    name: info.default
    for name, info in SizeRequest.model_fields.items()
    if (info.alias or name) in (*OF_NAMED_GPUS, "rig")
}
_BESIDE = ("rank_by", "rows", "filled", "plans", "tab", "as_card")
ALL_ROWS = "all"  # value of `rows` for a ranking of every GPU


@dataclass(frozen=True, slots=True)
class PageState:
    """A question about one model as typed; `request` is its checked form.

    `stated` holds the texts of the form's other fields that differ from their defaults. `gpus` are
    the places of the comparison; the page itself has filled the first `filled` of them. `plans`
    tells whether these have one quantization or each its best, `rows` whether every GPU is listed.

    >>> PageState.from_query("model=a/b&context=4096&gpus=4090,2x3090")
    PageState(model='a/b', stated={'context': '4096'}, gpus=('4090', '2x3090'), \
rank_by='recommended', rows='', filled='', plans='', tab='', as_card='')
    """

    model: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    gpus: tuple[str, ...] | None = None
    rank_by: str = RANKINGS[0]
    rows: str = ""
    filled: str = ""
    plans: str = ""
    tab: str = ""
    as_card: str = ""

    @classmethod
    def from_query(cls, query: str) -> PageState:
        """Return the state of a query string; unknown names are ignored."""
        address = dict(parse_qsl(query[:_MAX_QUERY_CHARS].lstrip("?"), keep_blank_values=True))
        beside: dict[str, Any] = {name: address[name] for name in _BESIDE if address.get(name)}
        if "gpus" in address:
            gpus = split_machines([address["gpus"]])[:_MOST_PLACES]
            beside["gpus"] = tuple(gpu[:_MOST_NAME_CHARS] for gpu in gpus)
        return cls(**beside).showing(_FORM.read(address))

    def showing(self, texts: Mapping[str, str]) -> PageState:
        """Return the question with the form's texts instead of its own."""
        stated = {**texts}
        return replace(self, model=stated.pop("model", ""), stated=stated)

    def stating(self, values: Mapping[str, object]) -> PageState:
        """Return the question with the values of some fields of a form; empty ones are defaults."""
        return self.showing(_FORM.texts({**self.texts, **values}))

    def without_hidden(self, use: ModelUse) -> PageState:
        """Return the question without the fields that the page hides for its model."""
        hidden = hidden_fields(use)
        if hidden.isdisjoint(self.stated):
            return self
        kept = {name: text for name, text in self.stated.items() if name not in hidden}
        return replace(self, stated=kept)

    @property
    def machines(self) -> tuple[str, ...]:
        """The visitor's own machine; there may be several."""
        return split_machines([self.stated.get("gpu", "")])

    @property
    def places(self) -> tuple[str, ...]:
        """Places to compare: the visitor's own machine, then the GPUs."""
        return tuple(dict.fromkeys((*self.machines, *(self.gpus or ()))))

    @property
    def texts(self) -> dict[str, str]:
        """Texts of the form, with the model."""
        return {"model": self.model, **self.stated}

    @property
    def form(self) -> dict[str, FieldValue]:
        """Values of the form's fields, with those of the visitor's own machine."""
        return _FORM.values(self.texts)

    def shows(self, values: Mapping[str, object]) -> bool:
        """Return whether a form with these values shows this question."""
        form = self.form
        return all(
            number_text(value).strip() == number_text(form[name]) for name, value in values.items()
        )

    @property
    def about_no_place(self) -> PageState:
        """The question without its order and its places, which change a part of the answer."""
        usual = PageState()
        unstated = {name: getattr(usual, name) for name in _BESIDE if name != "as_card"}
        return replace(self, gpus=None, **unstated)

    @property
    def query(self) -> str:
        """Query string: the model, and all values but the tab that differ from their defaults."""
        usual = PageState()
        beside = {name: getattr(self, name) for name in _BESIDE if name != "tab"}
        stated = {name: text for name, text in beside.items() if text != getattr(usual, name)}
        gpus = {} if self.gpus is None else {"gpus": ",".join(self.gpus)}
        model = {"model": self.model} if self.model else {}
        return query_of({**model, **self.stated, **gpus, **stated})

    @property
    def request(self) -> SizeRequest:
        """The checked question with the visitor's machine, without the GPUs to compare.

        Raises InvalidRequest.
        """
        fields = _FORM.fields(self.texts)
        return _checked((*fields.items(), ("rank_by", self.rank_by), ("as_card", self.as_card)))

    @property
    def about_every_gpu(self) -> SizeRequest:
        """The request without fields for named GPUs: machine, free memory, own prices.

        Raises InvalidRequest for any other field.
        """
        try:
            request = self.request
        except InvalidRequest:
            stated = {name: text for name, text in self.stated.items() if name not in OF_NAMED_GPUS}
            request = replace(self, stated=stated).request
        return request.model_copy(update=_OF_EVERY_GPU)

    def as_author(self, terms: Mapping[str, object]) -> PageState:
        """Return the question with the settings of the author's command, as the form shows them."""
        taken = {name: str(terms[name]) for name in ("context", "engine") if name in terms}
        return replace(self.stating(taken), as_card="true")

    def picking(self, gpus: Iterable[str]) -> PageState:
        """Return the question with other GPUs to compare."""
        return replace(self, gpus=tuple(dict.fromkeys(gpus)), filled="")

    def filling(self, gpus: Iterable[str]) -> PageState:
        """Return the question with GPUs that the page chooses."""
        filled = self.picking(gpus)
        return replace(filled, filled=_count(len(filled.gpus or ())))

    @property
    def own_gpus(self) -> tuple[str, ...]:
        """GPUs that the visitor has picked."""
        return (self.gpus or ())[self._filled :]

    def with_gpu(self, gpu: str, places: int) -> PageState | None:
        """Return the question with a further GPU, or None if the visitor has picked `places`
        already.

        One that the page chose is replaced: the oldest of these, and last the first choice of the
        answer, which is the one that visitors compare with.
        """
        chosen = [other for other in (self.gpus or ())[: self._filled] if other != gpu]
        picked = [*(other for other in self.own_gpus if other != gpu), gpu]
        if gpu in self.own_gpus or gpu in self.machines:
            return self
        if len(picked) > places:
            return None
        while chosen and len(self.machines) + len(chosen) + len(picked) > places:
            del chosen[min(1, len(chosen) - 1)]
        return replace(self, gpus=(*chosen, *picked), filled=_count(len(chosen)))

    def without_gpu(self, gpu: str) -> PageState:
        """Return the question without a GPU."""
        chosen = [other for other in (self.gpus or ())[: self._filled] if other != gpu]
        picked = [other for other in self.own_gpus if other != gpu]
        return replace(self, gpus=(*chosen, *picked), filled=_count(len(chosen)))

    @property
    def _filled(self) -> int:
        return int(self.filled) if self.filled.isdecimal() and len(self.filled) < 3 else 0


@lru_cache(_KEPT_REQUESTS)
def _checked(fields: tuple[tuple[str, str], ...]) -> SizeRequest:
    # The calls of a page state the same fields: its answer, its places, its pictures, its files.
    return SizeRequest.from_fields(dict(fields))


def _count(number: int) -> str:
    return str(number) if number else ""
