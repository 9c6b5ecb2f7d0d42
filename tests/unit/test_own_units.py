"""Speeds of models without a stream of tokens, by hand-computed figures."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.speed.prefill import flops_per_second
from gpusizer.speed.work import ModelFacts, Work
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.documents import written
from tests.sizers import embedded_sizer

EMBEDDING, WHISPER = "Qwen/Qwen3-Embedding-8B", "openai/whisper-large-v3"


def sized(model: str, **fields: Any) -> Report:
    return size(embedded_sizer(), {"model": model, "gpu": "4090", **fields})


def test_an_embedding_model_reads_as_fast_as_its_products_are_made() -> None:
    report = sized(EMBEDDING, context=512, quant="native")
    place = report.ranking[0]
    facts = ModelFacts.reading(report.profile, report.workload)
    assert place.read is not None and facts is not None and place.decode is None
    rate = flops_per_second(Work.from_facts(facts, place.fit.estimate), place.fit.gpu)
    assert rate is not None and facts.prompt == 512
    # 2 FLOP a parameter; attention over 512 tokens adds a few per cent
    most = rate / (2 * facts.matrix_parameters)
    assert 0.9 * most < place.read.likely < most
    assert place.read.low < place.read.likely < place.read.high


def test_longer_documents_are_fewer() -> None:
    short, long = (sized(EMBEDDING, context=n).ranking[0].read for n in (512, 8192))
    assert short is not None and long is not None
    assert short.likely > long.likely and short.likely / 512 > 16 * long.likely / 8192


def test_sound_is_a_window_read_and_its_words_written() -> None:
    report = sized(WHISPER, quant="native")
    place = report.ranking[0]
    assert place.heard is not None and place.speeds is not None and place.decode is None
    assert place.speeds.decode is not None
    # 30 s hold 75 words, which are 100 tokens; the encoder takes less than writing them
    writing = 30 * place.speeds.decode.likely / 100
    assert 0.8 * writing < place.heard.likely < writing


@pytest.mark.parametrize(
    ("model", "field", "said"),
    [
        (EMBEDDING, "read_tokens_per_second", "documents of 512 tokens"),
        (WHISPER, "audio_seconds_per_second", "seconds of sound a second"),
    ],
)
def test_every_answer_has_the_unit_of_its_model(model: str, field: str, said: str) -> None:
    report = sized(model, context=512 if model == EMBEDDING else 448)
    document = written(report)
    assert document["ranking"][0][field]["likely"] > 0
    assert said in document["answer"]["sentence"] and "tok/s for one" not in str(document["answer"])


def test_a_model_that_writes_has_none_of_them() -> None:
    (place,) = sized("Qwen/Qwen3-8B").ranking
    assert place.read is None and place.heard is None
    assert "read_tokens_per_second" not in written(sized("Qwen/Qwen3-8B"))["ranking"][0]


def test_a_ranking_of_a_recogniser_has_no_tokens_a_second() -> None:
    report = size(embedded_sizer(), {"model": WHISPER})
    assert all(place.decode is None and place.heard is not None for place in report.ranking)
    assert "tok/s" not in str(written(report)["answer"])


def test_speech_recognition_is_advised_on_a_card_on_offer() -> None:
    """A narrow band of tokens/s weighs nothing if its reader waits for no token."""
    first = size(embedded_sizer(), {"model": WHISPER, "top": 1}).ranking[0]
    assert not first.score.not_on_offer and first.score.evident
    assert first.fit.gpu.segment == "consumer" and (first.costs.buy_usd or 9999) < 500
    assert first.heard is not None and first.heard.low > 10  # times as fast as it is spoken
