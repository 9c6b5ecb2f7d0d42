"""Candidates: each GPU with the way to run the model that a policy ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from gpusizer.advice.policies import LAST, POLICIES, RankedCandidate, SortKey, in_order
from gpusizer.fit.audience import is_ever_offered
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.division import asked_boards, board_counts
from gpusizer.fit.picture_time import picture_seconds, picture_work
from gpusizer.fit.platforms import SERVER_BOARDS
from gpusizer.fit.preference import best_on_boards, fastest_on_boards
from gpusizer.fit.preference_key import suitability_of
from gpusizer.fit.recommendation import (
    NEVER_OFFERED,
    UNAVAILABLE,
    bought_computer,
    computer_of,
)
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.fit.run_config import RunConfig, pool_on
from gpusizer.fit.run_configs import least_bytes
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import SpeedEvidence, speed_evidence, user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, CostAssumptions
from gpusizer.gpus.on_offer import is_available
from gpusizer.gpus.purchase import current_day
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant
from gpusizer.serving import Served, load_of_users, served
from gpusizer.speed import Rate

FASTEST = "fastest"
# GPUs of the most bandwidth, on one board and on many, among which the fastest is searched.
_MAY_BE_FASTEST = 10


# GPUs, each with the most boards of it that may be offered; None for no limit.
Offers = Sequence[tuple[Gpu, int | None]]


def candidates_of(
    study: Study,
    offers: Offers,
    rank_by: str,
    assumptions: CostAssumptions = DEFAULT_ASSUMPTIONS,
    enough: float = READING_SPEED,
) -> list[RankedCandidate]:
    """Return GPUs on which the model runs, best first, with the figures of one order."""
    configs = ways_to_rank(study, offers)
    found = [_candidate_of(study, config, assumptions, enough) for config in configs]
    if rank_by == FASTEST:
        found = [_swift(study, candidate) for candidate in found]
    return in_order(found, POLICIES[rank_by])


def in_groups(study: Study, offers: Offers) -> list[tuple[Offers, SortKey]]:
    """Return the offers by what is known of a GPU alone, those that rank first at the front.

    Each group comes with the least `Conditions.key` of all later ones. The first is on offer to
    the audience and supported; only it has alternatives to the first place. The second is not on
    offer today or no longer supported, the third never for this audience.
    """
    today = current_day()
    groups: tuple[list[tuple[Gpu, int | None]], ...] = ([], [], [])
    for offer in offers:
        gpu = offer[0]
        group = 2 if not is_ever_offered(study, gpu) else 0 if is_available(gpu, today) else 1
        groups[group].append(offer)
    return list(zip(groups, (UNAVAILABLE, NEVER_OFFERED, LAST), strict=True))


def _candidate_of(
    study: Study, config: RunConfig, assumptions: CostAssumptions, enough: float
) -> RankedCandidate:
    speed, users = user_speed(study, config), study.workload.concurrency
    total = None if speed is None else speed * users
    together = served_users(study, config, percentiles=False) if users > 1 else None
    if together is not None:
        total = together.output_tokens_per_second.likely
        speed = together.user_rate(in_turns=study.workload.takes_turns).likely
    drawn = picture_seconds(study, config)
    evidence = evidence_of(study, config, speed, drawn)
    seconds = None if drawn is None else drawn.likely
    return RankedCandidate(
        config,
        speed,
        total,
        assumptions,
        enough,
        evidence,
        seconds,
        suitability=suitability_of(study, config),
    )


def swiftest(study: Study, candidates: Sequence[RankedCandidate]) -> list[RankedCandidate]:
    """Return the candidates, with the fastest way on GPUs that may be the fastest."""
    offered = [
        candidate
        for candidate in candidates
        if candidate.score.stands_beside and not candidate.score.not_on_offer
    ]
    # Tokens come as fast as weights are read: by one board, or by as many as share them.
    reached = {
        candidate.config.gpu.slug: _bandwidths(candidate.config.gpu) for candidate in offered
    }
    fastest = {
        slug
        for by in range(2)
        for slug in sorted(reached, key=lambda slug: -reached[slug][by])[:_MAY_BE_FASTEST]
    }
    return [_swift(study, c) if c.config.gpu.slug in fastest else c for c in candidates]


def _bandwidths(gpu: Gpu) -> tuple[float, float]:
    # Bytes a second of one board, and of all boards of one computer.
    most = max((n for n in board_counts(gpu) if not computer_of(gpu, n)), default=1)
    one = gpu.bandwidth_bytes_per_second or 0.0
    return one, one * min(most, SERVER_BOARDS)


def _swift(study: Study, candidate: RankedCandidate) -> RankedCandidate:
    # On as many boards as one server or computer takes; the candidate itself if it is the fastest.
    if candidate.drawn is not None:
        return candidate
    gpu = candidate.config.gpu
    asked = asked_boards(study.workload, gpu)
    counts = board_counts(gpu) if asked is None else (asked,)
    is_rented_whole = candidate.score.suitability.for_many or gpu.is_for_servers
    needs = computer_of if is_rented_whole else bought_computer
    counts = tuple(n for n in counts if n <= SERVER_BOARDS and not needs(gpu, n))
    config = fastest_on_boards(study, gpu, counts)
    if config is None:
        return candidate
    swift = _candidate_of(study, config, candidate.assumptions, candidate.enough)
    is_faster = (swift.speed or 0.0) > (candidate.speed or 0.0)
    return swift if is_faster else candidate


def smallest_boards(study: Study, gpus: Iterable[Gpu]) -> RankedCandidate | None:
    """Return the best way on the smallest of `gpus` that surely holds the model, if any."""
    # GPUs are searched in the order of the least boards that their memory allows and of their
    # labels, until no other can be smaller.
    weights = min(least_bytes(study, quant, native) for quant, native in study.quants)

    def least(gpu: Gpu) -> tuple[int, float]:
        return max(1, math.ceil(weights / gpu.memory_bytes)), gpu.memory_marketing_gb

    possible = [gpu for gpu in gpus if least(gpu)[0] <= board_counts(gpu)[-1]]
    swift = [it for it in _runners(study) if not it[1].abilities.launches_kernels]
    slow = not any(_is_run(swift, gpu) for gpu in possible)
    best: RankedCandidate | None = None
    for (boards, label), alike in groupby(sorted(possible, key=least), least):
        if best is not None and (boards, slow, label) > _size(best)[:3]:
            break
        found = candidates_of(study, [(gpu, None) for gpu in alike], "smallest")
        surely = [each for each in found if each.config.verdict is Verdict.FITS]
        best = min([*([best] if best else []), *surely], key=_size, default=None)
    return best


def _runners(study: Study) -> list[tuple[Quant, Engine]]:
    # Quantizations with the engines that run the model in them.
    return [(quant, engine) for quant, _ in study.quants for engine in study.engines(quant)]


def _is_run(runners: Sequence[tuple[Quant, Engine]], gpu: Gpu) -> bool:
    return any(runs_on(quant, engine, gpu) for quant, engine in runners)


def _size(candidate: RankedCandidate) -> tuple[int, bool, float, float]:
    # Fewest boards, an engine made for serving, the smallest label, then the fastest.
    config = candidate.config
    able, label = config.estimate.engine.abilities, config.gpu.memory_marketing_gb
    return (config.boards, able.launches_kernels, label, -(candidate.speed or 0.0))


def ways_to_rank(study: Study, offers: Offers) -> list[RunConfig]:
    """Return the best way on boards of each GPU on sale, with all of the model on them."""
    found, runners = [], _runners(study)
    for gpu, most in offers:
        asked = asked_boards(study.workload, gpu)
        counts = board_counts(gpu) if asked is None else (asked,)
        if most is not None:
            counts = tuple(n for n in counts if n <= most)
        if not counts or gpu.status == "announced" or not _is_run(runners, gpu):
            continue
        config = best_on_boards(study, gpu, counts)
        if config is not None:
            found.append(config)
    return found


def evidence_of(
    study: Study, config: RunConfig, speed: float | None, drawn: Rate | None
) -> SpeedEvidence | None:
    """Return the evidence of a speed."""
    # Of a model with a known picture time, whether it is known on this GPU.
    if picture_work(study) is not None:
        return SpeedEvidence(measured=drawn is not None, surely_enough=True)
    return speed_evidence(study, config, speed)


def served_users(study: Study, config: RunConfig, *, percentiles: bool) -> Served | None:
    """Return the service of the stated load, else of the workload's users; None for one user."""
    # Percentiles take a simulation, which only the first place gets.
    load = study.requirements.load or load_of_users(study.workload)
    if load is None:
        return None
    estimate, gpu = config.estimate, config.gpu
    pool = pool_on(gpu, estimate)
    return served(study.profile, study.workload, estimate, gpu, pool, load, percentiles=percentiles)
