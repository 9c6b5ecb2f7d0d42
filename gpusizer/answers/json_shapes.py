"""The JSON of answers: what is said of an object is written once, wherever it stands in an answer.

An answer is a dict of values and of objects; `json.dumps` asks `shape` for what it cannot write
itself. An object without a shape of its own has its fields, by their names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import singledispatch
from typing import Any

from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.core.messages import Note, Say, note_json
from gpusizer.core.printable import json_bytes
from gpusizer.core.units import significant
from gpusizer.fit.advice import Suggestion
from gpusizer.fit.capacity_limits import Largest
from gpusizer.fit.filters import GpuFilter
from gpusizer.fit.placement.from_disk import DiskReading
from gpusizer.fit.recommendation import Conditions, Score
from gpusizer.fit.speculative_speeds import SpeculativeSpeeds
from gpusizer.gpus.costs import LoadTimes
from gpusizer.hub.quantized_repos import QuantizedRepo
from gpusizer.model.architecture import Architecture, LayerSpec
from gpusizer.model.packing import StoredQuantization
from gpusizer.quality.quality import Increase, Quality, QualitySource
from gpusizer.quality.words import one_digit
from gpusizer.training.ladder import Rung
from gpusizer.training.recommendation import TrainingScore

Json = dict[str, Any]
SCHEMA_VERSION = 1


class Answered:
    """What a use case returns; its shape is the contract's object."""

    __slots__ = ()

    def to_json(self, say: Say) -> Json:
        """The contract's object as plain values; `say` writes the sentences of notes."""
        return document(self, say)

    def json_bytes(self, say: Say) -> bytes:
        """The same as JSON in UTF-8."""
        return json_bytes(self, lambda value: shape(value, say))


@dataclass(frozen=True, slots=True)
class Said:
    """Notes as one text."""

    notes: tuple[Note, ...]
    between: str = "; "


def document(value: Any, say: Say) -> Json:
    """What stands in JSON for an object or a dict of them, as plain values."""
    text = json.dumps(value, ensure_ascii=False, default=lambda part: shape(part, say))
    written: Json = json.loads(text)
    return written


def fields_of(value: Any) -> Json:
    """The fields of a dataclass by their names, whose values are not looked into."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


_RENAMED: Mapping[type, Mapping[str, str]] = {
    QuantizedRepo: {"form": "format"},
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
_PROVENANCE = {SpeculativeSpeeds: "fitted", LoadTimes: "derived"}
"""Where all numbers of an object come from."""


@singledispatch
def shape(value: Any, say: Say) -> Any:
    """What stands in JSON for an object: what it says itself, or its fields.

    Raises TypeError for one that is no dataclass.
    """
    if hasattr(value, "shape"):
        return value.shape()
    kind = type(value)
    names, source = _RENAMED.get(kind, {}), _PROVENANCE.get(kind)
    written = {names.get(name, name): part for name, part in fields_of(value).items()}
    return written | ({"provenance": source} if source else {})


@shape.register
def _note(note: Note, say: Say) -> Json:
    return note_json(note, say)


@shape.register
def _said(said: Said, say: Say) -> str:
    return said.between.join(map(say, said.notes))


@shape.register
def _conclusion(conclusion: Conclusion, say: Say) -> Json:
    return {
        "kind": conclusion.kind,
        "sentence": conclusion.sentence(say),
        "weighed": conclusion.weighed,
        "facts": conclusion.facts,
    }


@shape.register
def _quantization(stored: StoredQuantization, say: Say) -> Json:
    return {
        "method": stored.method,
        "bits": stored.bits,
        "group_size": stored.group_size,
        "kv_dtype": "fp8" if stored.fp8_cache else None,
    }


@shape.register
def _architecture(arch: Architecture, say: Say) -> Json:
    claimed = () if arch.claimed_layers is not None else ("claimed_layers",)
    return {name: value for name, value in fields_of(arch).items() if name not in claimed}


@shape.register
def _layers(spec: LayerSpec, say: Say) -> Json:
    """A run of layers without the fields that do not apply to it."""
    every = fields_of(spec)
    return {name: every[name] for name in every if every[name] is not None}


@shape.register
def _increase(increase: Increase, say: Say) -> Json:
    return {name: round(share, 4) for name, share in fields_of(increase).items()}


@shape.register
def _source(source: QualitySource, say: Say) -> Json:
    return {name: text or None for name, text in fields_of(source).items()}


@shape.register
def _quality(quality: Quality, say: Say) -> Json:
    changed = quality.tokens_changed
    return {
        "word": quality.word,
        "label": say(quality.label),
        "message": say(quality.detail()),
        "perplexity_increase": quality.increase,
        "tokens_changed": None if changed is None else one_digit(changed),
        "basis": quality.basis,
        "rows": quality.rows,
        "source": quality.source,
        "picture_distance": quality.picture_distance,
        "caveats": quality.caveats,
    }


@shape.register
def _filter(filters: GpuFilter, say: Say) -> Json:
    """The request's fields; only those that were asked for."""
    stated = {
        "vendor": filters.vendors,
        "segment": filters.segments,
        "software": filters.software,
        "status": filters.statuses,
        "rentable": filters.rentable,
        "max_usd": filters.max_usd,
        "max_usd_per_hour": filters.max_usd_per_hour,
        "max_watts": filters.max_watts,
    }
    return {name: value for name, value in stated.items() if value not in (None, ())}


@shape.register
def _conditions(score: Conditions, say: Say) -> Json:
    """The part of a `score` that serving and training have."""
    return {
        "room": score.room,
        "supported": score.ended_support is None,
        "evident": score.evident,
        "on_offer": not score.not_on_offer,
        "fast_enough": score.fast_enough,
        "one_computer": not score.computer,
    }


@shape.register
def _score(score: Score, say: Say) -> Json:
    usd = score.usd_per_hour
    return {
        **_conditions(score, say),
        "min_tok_s": score.enough,
        "usd_per_hour": None if usd is None else round(usd, 4),
        "rented": score.rented,
    }


@shape.register
def _training_score(score: TrainingScore, say: Say) -> Json:
    return {
        **_conditions(score, say),
        "trains": score.trains,
        "min_tok_s": significant(score.enough),
        "linked": score.linked,
        "measured": score.measured,
        "usd": score.usd,
        "most_usd": score.most_usd,
    }


@shape.register
def _rung(rung: Rung, say: Say) -> Json:
    """A mitigation, with bytes of one GPU."""
    return {
        **note_json(rung.note, say),
        "saving_bytes": rung.saving_bytes,
        "saving_alone_bytes": rung.alone_bytes,
        "total_bytes": rung.total_bytes,
        "fits": rung.fits,
    }


@shape.register
def _suggestion(suggestion: Suggestion, say: Say) -> Json:
    """A change that makes it fit, or helps (`enough` false) where no single one does.

    `change` are the request fields that make it.
    """
    return {
        **note_json(suggestion.note, say),
        "change": dict(suggestion.change),
        "saving_bytes": suggestion.saving_bytes,
        "verdict": suggestion.verdict,
        "headroom_bytes": suggestion.headroom_bytes,
        "enough": suggestion.enough,
    }


@shape.register
def _largest(largest: Largest, say: Say) -> Json:
    return {
        "users": largest.users,
        "context": largest.context,
        "context_at_users": largest.context_at_users,
        "users_at_context": largest.users_at_context,
        "quant": largest.quant.slug if largest.quant else None,
        "engine": largest.engine.slug if largest.engine else None,
    }


@shape.register
def _disk(disk: DiskReading, say: Say) -> Json:
    return {
        "bytes_per_second": disk.bytes_per_second,
        "resident_bytes": disk.resident_bytes,
        "missing_bytes": disk.missing_bytes,
        "bytes_per_token": disk.token_bytes,
        "most_tokens_per_second": disk.most_tokens_per_second,
        "provenance": "derived",
    }
