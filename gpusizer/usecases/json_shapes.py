"""The JSON of answers: what is said of an object is written once, wherever it stands in an answer.

An answer is a dict of values and of objects; `json.dumps` asks `shape` for what it cannot write
itself. An object without a shape of its own has its fields, by their names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import singledispatch
from typing import Any, Generic, TypeVar

from gpusizer.advice.capacity_limits import Largest
from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.next_steps import Suggestion
from gpusizer.core.byte_ranges import Amount
from gpusizer.core.messages import Note, Say, note_json
from gpusizer.core.printable import json_bytes
from gpusizer.core.units import significant
from gpusizer.fit.filters import GpuFilter
from gpusizer.fit.placement.from_disk import DiskReading
from gpusizer.fit.recommendation import Conditions, Score
from gpusizer.gpus.costs import LoadTimes
from gpusizer.gpus.purpose import Criterion, Purpose
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.packing import StoredQuantization
from gpusizer.quality.quality import Increase, Quality, QualitySource, one_digit
from gpusizer.speed.speculation import SpeculativeSpeeds
from gpusizer.training.ladder import Rung
from gpusizer.training.recommendation import TrainingScore
from gpusizer.usecases.contract.objects import LayerJson

Json = dict[str, object]
"""An object of an answer before it is written: what stands in it may be objects of ours."""
Document = dict[str, Any]
"""An answer to any question as it is written: `contract.answers.ANSWERS` says what each holds."""
SCHEMA_VERSION = 1

_Form = TypeVar("_Form", bound=Mapping[str, object], covariant=True)


class Answered(Generic[_Form]):
    """What a use case returns; its shape is the contract's object, of this form."""

    __slots__ = ()

    def to_json(self, say: Say) -> _Form:
        """The contract's object as plain values; `say` writes the sentences of notes."""
        text = json.dumps(self, ensure_ascii=False, default=lambda part: shape(part, say))
        written: _Form = json.loads(text)
        return written

    def json_bytes(self, say: Say) -> bytes:
        """The same as JSON in UTF-8."""
        return json_bytes(self, lambda value: shape(value, say))


@dataclass(frozen=True, slots=True)
class Said:
    """Notes as one text."""

    notes: tuple[Note, ...]
    between: str = "; "


def fields_of(value: Any) -> Json:
    """The fields of a dataclass by their names, whose values are not looked into."""
    return parts(value, *(field.name for field in fields(value)))


def parts(value: object, *names: str) -> Json:
    """Attributes under their own names, None of nothing."""
    return {name: None if value is None else getattr(value, name) for name in names}


def ends(name: str, amount: Amount | None) -> Json:
    """The likely bytes of an amount and both ends of its band, None of nothing."""
    return {
        f"{name}_bytes": amount and amount.likely,
        f"{name}_low_bytes": amount and amount.low,
        f"{name}_high_bytes": amount and amount.high,
    }


def written(form: type, value: object, **stated: object) -> Json:
    """The fields of the contract's `form` in its order: what is stated, else attributes of `value`.

    Raises AttributeError for a field that neither has.
    """
    return {
        name: stated[name] if name in stated else getattr(value, name)
        for name in form.__annotations__
    }


def rounded(value: float | None) -> float | None:
    """A figure to four digits behind the point."""
    return None if value is None else round(value, 4)


_RENAMED: Mapping[type, Mapping[str, str]] = {
    DiskReading: {"token_bytes": "bytes_per_token"},
    QuantizedRepo: {"form": "format"},
    GpuFilter: {"vendors": "vendor", "segments": "segment", "statuses": "status"},
    SpeculativeSpeeds: {
        "guessed": "draft_tokens",
        "acceptance": "acceptance_rate",
        "decode": "decode_tokens_per_second",
        "per_user": "decode_tokens_per_second_per_user",
        "total": "decode_tokens_per_second_total",
        "break_even": "break_even_acceptance_rate",
        "break_even_shared": "break_even_acceptance_rate_of_users",
    },
}
"""Fields that the contract calls otherwise."""
_PROVENANCE = {SpeculativeSpeeds: "fitted", LoadTimes: "derived", DiskReading: "derived"}
"""Where all numbers of an object come from."""
_DERIVED = {DiskReading: ("most_tokens_per_second",), Criterion: ("met",)}
"""Properties that stand beside an object's fields."""
_STATED_ONLY: Mapping[type, tuple[object, ...]] = {GpuFilter: (None, ())}
"""Values that mean that nothing was asked for, or that a field does not apply: left out."""
_NO_FACT: Json = {"kv_heads": 1, "window": None, "wide_state": False}
"""Values of facts that a kind of layer does not have, where they are not 0."""


@singledispatch
def shape(value: Any, say: Say) -> object:
    """What stands in JSON for an object: what it says itself, or its fields.

    Raises TypeError for one that is no dataclass.
    """
    if hasattr(value, "shape"):
        return value.shape()
    kind = type(value)
    names, source = _RENAMED.get(kind, {}), _PROVENANCE.get(kind)
    every = fields_of(value) | parts(value, *_DERIVED.get(kind, ()))
    unsaid = _STATED_ONLY.get(kind, ())
    written = {names.get(name, name): part for name, part in every.items() if part not in unsaid}
    return written | ({"provenance": source} if source else {})


@shape.register
def _day(day: date, say: Say) -> str:
    return day.isoformat()


@shape.register
def _note(note: Note, say: Say) -> Json:
    return note_json(note, say)


@shape.register
def _said(said: Said, say: Say) -> str:
    return said.between.join(map(say, said.notes))


@shape.register
def _conclusion(conclusion: Conclusion, say: Say) -> Json:
    said = {"sentence": conclusion.sentence(say)}
    return said | parts(conclusion, "kind", "weighed", "facts")


@shape.register
def _quantization(stored: StoredQuantization, say: Say) -> Json:
    kv_dtype = "fp8" if stored.fp8_cache else None
    return {**parts(stored, "method", "bits", "group_size"), "kv_dtype": kv_dtype}


@shape.register
def _architecture(arch: Architecture, say: Say) -> Json:
    claimed = () if arch.claimed_layers is not None else ("claimed_layers",)
    stated = {name: value for name, value in fields_of(arch).items() if name not in claimed}
    return {"confidence": arch.confidence, **stated}


@shape.register
def _layers(run: LayerRun, say: Say) -> Json:
    """Facts of a kind that the contract does not name are left out."""
    facts = {"attention": run.layer.name, "count": run.count, **run.layer.facts()}
    named = {name: facts.get(name, _NO_FACT.get(name, 0)) for name in LayerJson.__annotations__}
    return {name: fact for name, fact in named.items() if fact is not None}


@shape.register
def _increase(increase: Increase, say: Say) -> Json:
    bands = ("low", "likely", "high")
    return {name: round(getattr(increase, name), 4) for name in bands}


@shape.register
def _source(source: QualitySource, say: Say) -> Json:
    return {name: text or None for name, text in fields_of(source).items()}


@shape.register
def _quality(quality: Quality, say: Say) -> Json:
    changed = quality.tokens_changed
    return {
        **parts(quality, "word", "basis", "rows", "source", "picture_distance", "caveats"),
        "label": say(quality.label),
        "message": say(quality.detail()),
        "perplexity_increase": quality.increase,
        "tokens_changed": None if changed is None else one_digit(changed),
    }


@shape.register
def _conditions(score: Conditions, say: Say) -> Json:
    """The part of a `score` that serving and training have."""
    return {
        **parts(score, "room", "evident", "fast_enough"),
        "supported": score.ended_support is None,
        "on_offer": not score.not_on_offer,
        "one_computer": not score.computer,
    }


@shape.register
def _score(score: Score, say: Say) -> Json:
    costs: Json = {"usd_per_hour": rounded(score.usd_per_hour), "rented": score.rented}
    if score.usd_per_thousand_pictures is not None:
        costs["usd_per_thousand_pictures"] = score.usd_per_thousand_pictures
    return {**_conditions(score, say), "min_tok_s": score.enough, **costs}


@shape.register
def _training_score(score: TrainingScore, say: Say) -> Json:
    return {
        **_conditions(score, say),
        **parts(score, "trains", "linked"),
        "measured": score.evident,
        "usd": score.rent_usd,
        "most_usd": score.value_usd,
        "min_tok_s": significant(score.enough),
    }


@shape.register
def _rung(rung: Rung, say: Say) -> Json:
    """A mitigation, with bytes of one GPU."""
    return {
        **note_json(rung.note, say),
        **parts(rung, "saving_bytes", "total_bytes", "fits"),
        "saving_alone_bytes": rung.alone_bytes,
    }


@shape.register
def _suggestion(suggestion: Suggestion, say: Say) -> Json:
    """A change that makes it fit, or helps (`enough` false) where no single one does.

    `change` are the request fields that make it.
    """
    return {
        **note_json(suggestion.note, say),
        **parts(suggestion, "change", "saving_bytes", "verdict", "headroom_bytes", "enough"),
    }


@shape.register
def _largest(largest: Largest, say: Say) -> Json:
    slugs = {"quant": largest.quant and largest.quant.slug}
    return fields_of(largest) | slugs | {"engine": largest.engine and largest.engine.slug}


@shape.register
def _purpose(purpose: Purpose, say: Say) -> Json:
    return {**fields_of(purpose), "message": Said(tuple(purpose.notes()), " ")}
