"""Memory that a visitor states for all picked GPUs, applied to those that can have it."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.core.units import GB, GIB
from gpusizer.fit.machine_parser import parse_kind
from gpusizer.gpus import Catalogue
from gpusizer.gpus.own_memory import FreeMemory, split_memory
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.request_fields import OwnMemoryFields

_BEYOND = "free_memory_beyond"
_STATED_NOWHERE = dict.fromkeys(OwnMemoryFields.model_fields)


def on_possible_gpus(
    request: SizeRequest, gpus: Sequence[str], catalogue: Catalogue
) -> tuple[SizeRequest, tuple[str, ...], tuple[GpusizerError, ...]]:
    """Return the request, the GPUs with the stated memory, and the errors of those without it.

    GPUs that cannot have the stated memory are counted whole: a desktop with 20 GB free is also
    compared with a card of 12 GB. If all GPUs can have it, or none is stated, nothing changes.
    Raises InvalidRequest if it is stated in two ways.
    """
    memory = request.own_memory
    refusals = {
        gpu: error for gpu in gpus if (error := _refusal(gpu, catalogue, memory)) is not None
    }
    if not refusals:
        return request, tuple(gpus), ()
    placed = tuple(gpu if gpu in refusals else _with(gpu, memory) for gpu in gpus)
    return request.model_copy(update=_STATED_NOWHERE), placed, tuple(refusals.values())


def _refusal(pick: str, catalogue: Catalogue, memory: FreeMemory) -> InvalidRequest | None:
    # The error of a GPU with less memory than stated.
    if not memory.is_stated or split_memory(pick)[1].is_stated:
        return None
    try:
        UserGpus(catalogue, memory).find(parse_kind(pick).name)
    except InvalidRequest as error:
        return error if error.fields.get("reason") == _BEYOND else None
    except GpusizerError:
        return None
    return None


def _with(pick: str, memory: FreeMemory) -> str:
    # Unless the visitor has written some after the GPU's name.
    if split_memory(pick)[1].is_stated:
        return pick
    kind = parse_kind(pick)
    name = kind.name if kind.boards is None else f"{kind.boards}x{kind.name}"
    beside = "" if kind.ram_bytes is None else f" + {kind.ram_bytes / GIB:g} GB RAM"
    if memory.free_bytes is not None:
        return f"{name} ({memory.free_bytes / GB:.3f} GB free){beside}"
    return f"{name} ({(memory.used_bytes or 0) / GB:.3f} GB used){beside}"
