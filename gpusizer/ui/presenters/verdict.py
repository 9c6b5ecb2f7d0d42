"""The verdict: the first sentence of an answer, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpusizer.advice.alternatives import is_priced_by_rent
from gpusizer.advice.conclusion.clauses import machine_name, short_name
from gpusizer.advice.conclusion.fit import is_slow, lacks_ram, takes_more
from gpusizer.advice.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.quants import Quant
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.replicas import ServingTarget
from gpusizer.serving.serving_rows import Replicas
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words

Tone = Literal["", "yes", "slow", "no"]
"""How a verdict sounds; "" for a suggestion."""
_AN = re.compile(r"[AEIO]|[FHLMNRSX](?=[A-Z0-9])")
"""Beginnings of names that English says with a vowel first: "Arc", "RTX", "H100"."""
_APPLE = "apple"
_ONE_LINE = 28  # characters of a name


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentence that an answer begins with, text or markup."""

    sentence: str
    tone: Tone = ""


def suggested(profile: ModelProfile, place: Ranked, words: Words) -> Headline:
    """Write what to buy or rent for a model, for one person or for the users of the request."""
    fit, workload = place.fit, place.workload
    gpus = boards_phrase(fit.gpu, fit.count, words)
    fields = _fields(profile, place, words) | {"gpus": gpus}
    if place.served is not None or workload.sequences > 1:
        return _said(_for_users(place), fields, words)
    rents = place.costs.rent_usd_per_hour and is_priced_by_rent("", fit.gpu, place.costs)
    return _said("verdict.rent" if rents else "verdict.buy", fields, words)


def judged(profile: ModelProfile, place: Ranked, words: Words) -> Headline:
    """Write whether a model runs on the visitor's machine, under some engine."""
    verdict, rate = place.fit.verdict, place.user_rate or place.decode
    gpus = machine_name(place.fit.machine)
    fields = _fields(profile, place, words) | {
        "gpus": gpus,
        "speed": "" if rate is None else words.rate(rate.likely),
        "short": words.amount(place.fit.config.missing_bytes),
    }
    if verdict.runs and lacks_ram(place):
        need = words.amount(place.fit.estimate.needed.likely)
        return _said("verdict.ram_unknown", {**fields, "need": need}, words)
    slow = verdict.in_memory and is_slow(place)
    key = f"verdict.{verdict.value}_slowly" if slow else f"verdict.{verdict.value}"
    tone: Tone = "no" if not verdict.runs else "yes"
    if slow or verdict is Verdict.FROM_DISK:
        tone = "slow"
    elif verdict is Verdict.DOES_NOT_FIT:
        key = f"verdict.{place.fit.config.verdict_code}"
    elif verdict is Verdict.FITS and profile.doubts:
        key, tone = "verdict.conditional", ""
    elif takes_more(place) and verdict.all_on_gpu:
        return _on_more(profile, place, words)
    elif verdict.all_on_gpu and place.workload.concurrency > 1:
        key = f"{_for_users(place)}_own"
    return _said(key, fields, words, tone)


def _on_more(profile: ModelProfile, place: Ranked, words: Words) -> Headline:
    # Nothing is said of boards that the visitor did not name as if they were his.
    if place.workload.concurrency > 1:
        return suggested(profile, place, words)
    fields = _fields(profile, place, words) | {"gpus": machine_name(place.fit.machine)}
    tone: Tone = "" if place.fit.gpu.is_for_servers else "no"
    return _said("verdict.taken", fields | {"gpu": place.fit.gpu.name}, words, tone)


def best_of_several(place: Ranked, words: Words) -> str:
    """Write which of several machines is the best, and in which quantization."""
    weights = weights_phrase(place.fit.estimate.quant, words)
    return words("verdict.best", gpus=machine_name(place.fit.machine), weights=weights)


def served(profile: ModelProfile, target: ServingTarget, row: Replicas, words: Words) -> Headline:
    """Write the servers that answer a rate of requests."""
    fields: dict[str, object] = {
        "model": short_name(profile),
        "rate": words.number(target.requests_per_second, "g"),
        "servers": servers_phrase(row, words),
        "weights": weights_phrase(row.estimate.quant, words),
        "engine": row.estimate.engine.name,
    }
    return _said("verdict.plan", fields, words)


def boards_phrase(gpu: Gpu, boards: int, words: Words) -> str:
    """Write boards as a sentence has them: "an RTX 4090", "2 × RTX 4090"."""
    if boards > 1:
        return words("gpu.several", count=words.whole(boards), gpu=gpu.name)
    if gpu.segment == _APPLE:
        return words("gpu.mac", gpu=gpu.name)
    return words("gpu.an" if _AN.match(gpu.name) else "gpu.a", gpu=gpu.name)


def servers_phrase(row: Replicas, words: Words) -> str:
    """Write the servers of a plan, each with the GPUs of one replica."""
    if row.total_boards == 1:
        return boards_phrase(row.gpu, 1, words)
    kind = "one" if row.replicas == 1 else "single" if row.boards == 1 else "many"
    servers, count = words.whole(row.replicas), words.whole(row.boards)
    return words(f"servers.{kind}", servers=servers, count=count, gpu=row.gpu.name)


def servers_count(servers: int, boards: int, words: Words) -> str:
    """Write how many servers with how many GPUs each."""
    if servers == 1:
        return words("servers.count_one", gpus=boards)
    return words("servers.count_many", servers=servers, gpus=boards)


def weights_phrase(quant: Quant, words: Words) -> str:
    """Write a quantization with its bits: "8-bit weights (GGUF Q8_0)"."""
    name = quant.name.replace("(", "").replace(")", "")
    return words("weights", bits=whole_bits(quant), quant=name)


def whole_bits(quant: Quant) -> str:
    """Write the bits that people call a quantization by."""
    return str(int(quant.bits))


def with_name(sentence: str, name: str) -> str:
    """Write a sentence with a name that breaks at no hyphen where one line of a phone holds it."""
    if name not in sentence or len(name) > _ONE_LINE:
        return sentence
    before, after = sentence.split(name, maxsplit=1)
    return piece("with_name", before, name, after)


def _for_users(place: Ranked) -> str:
    return "verdict.turns" if place.workload.takes_turns else "verdict.users"


def _fields(profile: ModelProfile, place: Ranked, words: Words) -> dict[str, object]:
    estimate, workload = place.fit.estimate, place.workload
    return {
        "model": short_name(profile),
        "weights": weights_phrase(estimate.quant, words),
        "engine": estimate.engine.name,
        "users": workload.concurrency,
        "at_once": workload.sequences,
    }


def _said(key: str, fields: dict[str, object], words: Words, tone: Tone = "") -> Headline:
    return Headline(with_name(words(key, **fields), str(fields["model"])), tone)
