"""The memory that a visitor states of all picked GPUs, on those of them that can have it."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.core.units import GB, GIB
from gpusizer.fit.machine_words import parse_kind
from gpusizer.gpus import Catalogue
from gpusizer.gpus.own_cards import OwnCards
from gpusizer.gpus.own_memory import OwnMemory, split_memory
from gpusizer.ui.page.page_state import PageState
from gpusizer.usecases.requests.request import CompareRequest

_BEYOND = "free_memory_beyond"
_MEMORY = ("used_gb", "usable_gb")


def on_possible_gpus(
    state: PageState, catalogue: Catalogue
) -> tuple[PageState, tuple[GpusizerError, ...]]:
    """Return the question with the stated memory written to each GPU, and what those that cannot
    have it are refused for: they are counted whole.

    A desktop with 20 GB free is compared with a card of 12 GB too. A question whose GPUs can all
    have it, and one that states none, is returned as it is. Raises any GpusizerError of a request.
    """
    if not state.gpus or state.stated.keys().isdisjoint(_MEMORY):
        return state, ()
    memory = CompareRequest.from_fields({**state.fields, "gpus": list(state.gpus)}).own_memory
    refusals = {
        pick: error
        for pick in state.gpus
        if (error := _refusal(pick, catalogue, memory)) is not None
    }
    if not refusals:
        return state, ()
    gpus = tuple(pick if pick in refusals else _with(pick, memory) for pick in state.gpus)
    whole = state.stating(dict.fromkeys(_MEMORY, ""))
    return replace(whole, gpus=gpus), tuple(refusals.values())


def _refusal(pick: str, catalogue: Catalogue, memory: OwnMemory) -> InvalidRequest | None:
    """Return the error of a GPU that has less memory than is stated; None for any other GPU."""
    if split_memory(pick)[1].is_stated:
        return None
    try:
        OwnCards(catalogue, memory).find(parse_kind(pick).name)
    except InvalidRequest as error:
        return error if error.fields.get("reason") == _BEYOND else None
    except GpusizerError:
        return None
    return None


def _with(pick: str, memory: OwnMemory) -> str:
    """Write the memory after the GPU's name, unless the visitor has written some there."""
    if split_memory(pick)[1].is_stated:
        return pick
    kind = parse_kind(pick)
    name = kind.name if kind.boards is None else f"{kind.boards}x{kind.name}"
    beside = "" if kind.ram_bytes is None else f" + {kind.ram_bytes / GIB:g} GB RAM"
    if memory.free_bytes is not None:
        return f"{name} ({memory.free_bytes / GB:.3f} GB free){beside}"
    return f"{name} ({(memory.used_bytes or 0) / GB:.3f} GB used){beside}"
