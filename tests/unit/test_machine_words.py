"""One grammar of cards and machines, in every field that takes some."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.request import CompareRequest, SizeRequest
from gpusizer.answers.trainer import train
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.errors import GpusizerError, InvalidRequest, UnknownGpu
from gpusizer.core.units import GIB
from gpusizer.fit.machine_words import KindWords, is_rig, parse_kind, parse_rig, split_machines
from gpusizer.gpus import load_catalogue
from gpusizer.text import say_error
from gpusizer.ui.page_state import PageState
from tests.sizers import embedded_sizer

_MODEL = "Qwen/Qwen3-8B"
_RAM = 64 * GIB


@pytest.mark.parametrize(
    ("text", "machines"),
    [
        ("4090, 2x3090, L40S, A100", ("4090", "2x3090", "L40S", "A100")),
        ("4090；L40S、A100", ("4090", "L40S", "A100")),
        ("4090 and L40S or A100", ("4090", "L40S", "A100")),
        ("4090 和 L40S", ("4090", "L40S")),
        ("3060 + 64 GB RAM", ("3060 + 64 GB RAM",)),
        ("3060, 64 GB RAM, L40S", ("3060 + 64 GB RAM", "L40S")),
        ("4090 (20.5 GB free), 2x3090", ("4090 (20.5 GB free)", "2x3090")),
        ("Ryzen AI Max+ 395 128GB, 4090", ("Ryzen AI Max+ 395 128GB", "4090")),
    ],
)
def test_lists_of_machines_are_split(text: str, machines: tuple[str, ...]) -> None:
    assert split_machines([text.replace("；", ";")]) == machines


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4090", KindWords("4090")),
        ("2x3090", KindWords("3090", 2)),
        ("RTX 3090 x2", KindWords("RTX 3090", 2)),
        ("3060 + 64 GB RAM", KindWords("3060", None, _RAM)),
        ("3060 + 64gb ram", KindWords("3060", None, _RAM)),
        ("RTX 3060 + 64 GB", KindWords("RTX 3060", None, _RAM)),
        ("3060 with 64GB of RAM", KindWords("3060", None, _RAM)),
        ("2x 3090 + 2x32GB DDR5", KindWords("3090", 2, _RAM)),
        ("4090 + 4090 + 64 GB", KindWords("4090", 2, _RAM)),
        ("Ryzen AI Max+ 395 128GB", KindWords("Ryzen AI Max+ 395 128GB")),
    ],
)
def test_one_kind_of_card_is_read_with_its_memory(text: str, words: KindWords) -> None:
    assert parse_kind(text) == words


def test_cards_of_several_kinds_are_a_rig() -> None:
    assert is_rig("3090 + 3060") and not is_rig("Ryzen AI Max+ 395 128GB")
    assert parse_rig("3090 + 3060 + 64 GB").cards == ("3090", "3060")
    for text, word in (("3090 + 3060", "several kinds"), ("64 GB RAM", "without a card")):
        with pytest.raises(InvalidRequest) as error:
            parse_kind(text)
        assert word in say_error(error.value, "en")


def test_each_field_reads_the_same_machine() -> None:
    sizer = embedded_sizer()
    text = "3060 + 64 GB RAM, 2x3090"
    asked: dict[str, Any] = {"model": _MODEL, "gpu": text}
    places = sizer.size(SizeRequest.from_fields(asked)).ranking
    compared = sizer.compare(CompareRequest.from_fields({"model": _MODEL, "gpus": text})).items
    expected = [("rtx-3060-12gb", 1, _RAM), ("rtx-3090-24gb", 2, None)]
    assert [_machine(place.fit) for place in places] == expected
    assert [_machine(item.ranked.fit) for item in compared if item.ranked] == expected
    trained = train(sizer.fetch, sizer.catalogue, TrainingRequest.from_fields(asked))
    assert [(item.fit.gpu.slug, item.fit.count) for item in trained.ranking] == [
        pair[:2] for pair in expected
    ]
    assert "training_ram_unused" in {note.code for note in trained.notes}
    models = sizer.models_for(ModelsRequest.from_fields({"gpu": "3060, 64 GB", "models": [_MODEL]}))
    assert (models.machine.gpu.slug, models.machine.ram_bytes) == ("rtx-3060-12gb", _RAM)


def _machine(fit: Any) -> tuple[str, int, int | None]:
    return fit.gpu.slug, fit.count, fit.way.machine.ram_bytes


def test_a_number_of_boards_counts_beside_a_machine_with_one_card() -> None:
    fields = {"model": _MODEL, "gpu": "3060 + 64 GB RAM", "gpu_count": 2}
    [place] = embedded_sizer().size(SizeRequest.from_fields(fields)).ranking
    assert _machine(place.fit) == ("rtx-3060-12gb", 2, _RAM)


def test_memory_beside_one_card_is_not_that_of_another() -> None:
    fields = {"model": "Qwen/Qwen3-30B-A3B", "gpus": ["3060 + 64 GB RAM", "3060 + 8 GB RAM"]}
    items = embedded_sizer().compare(CompareRequest.from_fields(fields)).items
    verdicts = [item.ranked.fit.verdict.name for item in items if item.ranked]
    assert verdicts[0] != verdicts[1]


def test_one_gpu_field_takes_a_machine_of_several_kinds() -> None:
    request = SizeRequest.from_fields({"model": _MODEL, "gpu": "3090 + 3060 + 64 GB RAM"})
    assert (request.gpus, request.rig) == ((), "3090 + 3060 + 64 GB RAM")


def test_the_address_keeps_machines_apart() -> None:
    state = PageState(model=_MODEL, gpus=("3060 + 64 GB RAM", "2x3090"))
    assert PageState.from_query(state.query) == state


def test_a_mac_named_by_its_computer_and_memory_is_found() -> None:
    catalogue = load_catalogue()
    for text in ("Mac Studio 128 GB", "mac studio 128gb", "Mac Studio 128", "mac-studio-128gb"):
        assert catalogue.find(text).name == "Apple M5 Max 128GB"
    assert catalogue.find("Mac Studio 512GB").name == "Apple M5 Ultra 512GB"
    place = (
        embedded_sizer()
        .size(SizeRequest.from_fields({"model": _MODEL, "gpu": "Mac Studio 128 GB"}))
        .ranking[0]
    )
    [taken] = [note for note in place.fit.gpu.statements if note.code == "computer_taken"]
    assert "Apple M4 Max 128GB" in str(taken.fields["others"])


@pytest.mark.parametrize("text", ["RTX 4900", "3060 7GB", "Mac Studio 48TB", "rtx-3060-9gb"])
def test_gpus_are_suggested_by_their_names(text: str) -> None:
    catalogue = load_catalogue()
    with pytest.raises(UnknownGpu) as error:
        catalogue.find(text)
    suggestions = error.value.fields["suggestions"]
    assert isinstance(suggestions, list)
    assert set(suggestions) <= {gpu.name for gpu in catalogue.gpus}
    assert all(catalogue.find(name).name == name for name in suggestions)


def test_a_long_list_is_refused() -> None:
    with pytest.raises(GpusizerError):
        SizeRequest.from_fields({"model": _MODEL, "gpu": ["a;" * 200] * 20})
