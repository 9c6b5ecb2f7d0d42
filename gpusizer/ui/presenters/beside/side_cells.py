"""Cells of one GPU side by side: how the model runs on it, its costs and its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpusizer.advice.capacity_limits import Largest
from gpusizer.advice.conclusion import clauses
from gpusizer.advice.ranking import Ranked
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs
from gpusizer.memory.draft import DraftEstimate
from gpusizer.serving.served import LatencySummary, Served
from gpusizer.speed import Rate, Speeds
from gpusizer.speed.speculation import SpeculativeSpeeds
from gpusizer.ui.presenters.beside.bars import capacity_bar
from gpusizer.ui.presenters.figures import held
from gpusizer.ui.presenters.pieces.losses import loss_label
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.side_table import Best, Cell, Column
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import break_even_cell, buy_cell, hour_cell, million_cell
from gpusizer.usecases.comparison import ComparedGpu

ROWS: Mapping[str, Best | None] = {
    "verdict": None,
    "plan": None,
    "quality": None,
    "used": None,
    "draft_memory": None,
    "decode": max,
    "guessed": None,
    "prefill": max,
    "read": max,
    "heard": max,
    "drawn": min,
    "first_token": min,
    "users_total": max,
    "serving": max,
    "max_context": max,
    "max_users": max,
    "best_quant": None,
    "buy": min,
    "rent": min,
    "million": min,
    "break_even": None,
    "power": min,
    "memory": None,
    "bandwidth": None,
    "fp16": None,
    "links": None,
}
"""The rows from top to bottom, each with which of its values is the best: only totals have one."""

_Lines = Iterator[tuple[str, Cell]]


def boards_name(item: ComparedGpu, words: Words) -> str:
    """Name a column: its GPUs, and the system memory beside them."""
    ranked = item.ranked
    count = ranked.fit.count if ranked else item.count or 1
    name = clauses.boards_name(item.gpu, count)
    if ranked and ranked.fit.machine.ram_bytes:
        name += f" + {words.number(ranked.fit.machine.ram_bytes / GIB, 'g')} GB RAM"
    return name


def column_of(item: ComparedGpu, scale_bytes: int, words: Words) -> Column:
    """Return the cells of one GPU by row; bars are drawn on a scale that all GPUs share.

    What does not hold the model is the best of no row.
    """
    lines: dict[str, Cell] = {}
    if item.ranked is not None:
        lines.update(_fit(item.ranked.fit, scale_bytes, words))
        lines.update(_performance(item.ranked, words))
    lines.update(_costs(item, words))
    lines.update(_hardware(item, words))
    if item.ranked is not None and not item.ranked.fit.verdict.all_on_gpu:
        return {name: replace(cell, value=None) for name, cell in lines.items()}
    return lines


def _fit(fit: Fit, scale_bytes: int, words: Words) -> _Lines:
    """Yield the verdict, the plan and its quality; where an engine runs the model, also the memory
    used, and left or missing on one GPU."""
    estimate = fit.estimate
    quality, used = quality_at(estimate), estimate.per_gpu.total.likely
    yield "verdict", Cell(piece("verdict", words, fit.verdict))
    yield "plan", Cell(estimate.quant.name, estimate.engine.name)
    yield "quality", Cell(loss_label(quality, words), None, (words.note(quality.detail()),))
    if fit.headroom_bytes is None:
        return
    capacity, parts = words.amount(fit.gpu.device_free_bytes), held(fit.config)
    if fit.config.in_part and parts.ram_bytes:
        used = parts.gpus_bytes // len(fit.machine.gpus)
        said = words("reverse.ram", amount=words.amount(parts.ram_bytes))
    else:
        spare = "cards.spare" if fit.headroom_bytes >= 0 else "cards.short"
        said = words(spare, amount=words.amount(abs(fit.headroom_bytes)))
    used_of = words("cards.used", used=words.amount(used), capacity=capacity)
    shown = capacity_bar(fit, scale_bytes, said, words)
    band = used_of if fit.count == 1 else words("cards.each", used=used_of)
    yield "used", Cell(shown, band, (), fit.headroom_bytes)


def _performance(ranked: Ranked, words: Words) -> _Lines:
    """Yield speeds and context, which exist only where a model that generates text fits; partly in
    system memory it has a speed, and no other figure."""
    verdict = ranked.fit.verdict
    silent = ranked.decode is None and ranked.prefill is None
    if ranked.read is not None:
        yield "read", _rate(ranked.read, words)
    elif ranked.heard is not None:
        heard = words("spec.sound", speed=words.speed(ranked.heard.likely))
        yield "heard", Cell(heard, words.band(ranked.heard), (), ranked.heard.likely)
    elif ranked.drawn is not None:
        seconds = f"{words.speed(ranked.drawn.likely)} s"
        yield "drawn", Cell(seconds, words.band(ranked.drawn), (), ranked.drawn.likely)
    elif not verdict.in_memory or silent:
        yield "decode", Cell(DASH)
    else:
        yield "decode", _rate(ranked.decode, words)
        yield "prefill", _rate(ranked.prefill, words)
    if verdict.all_on_gpu and not silent:
        if ranked.speeds is not None:
            yield from _with_users(ranked.speeds, ranked.served, words)
        if ranked.speculation is not None:
            yield "guessed", _guessed(ranked.speculation, words)
    if ranked.fit.estimate.draft is not None:
        yield "draft_memory", _draft_memory(ranked.fit.estimate.draft, words)
    if ranked.largest is not None:
        yield from _limits(ranked.largest, words)


def _draft_memory(draft: DraftEstimate, words: Words) -> Cell:
    """Return the memory that a draft model takes on each GPU, which its bar includes."""
    total = draft.per_gpu.total
    band = words.amount_band(total)
    return Cell(words.amount(total.likely), draft.quant.name, (band,))


def _guessed(speeds: SpeculativeSpeeds, words: Words) -> Cell:
    """Return the speed of one user with a draft model, and the acceptance from which that gains."""
    least = speeds.break_even
    gain = (
        words("spec.never_gains")
        if least is None
        else words("spec.gains_from", share=words.share(least, 1))
    )
    if speeds.decode is None:
        return Cell(DASH, gain)
    return Cell(words.rate(speeds.decode.likely), words.band(speeds.decode), (gain,))


def _with_users(speeds: Speeds, served: Served | None, words: Words) -> _Lines:
    """Yield the wait for an answer, and totals if the request has several users: what they are
    served, as the headline says it, where that is known, else what one prompt and a step take."""
    total, users, wait = speeds.total, speeds.users, speeds.first_token
    if served is not None:
        total, users = _likely(served.output_tokens_per_second), round(served.users)
        if served.ttft_seconds is not None:
            yield "first_token", _wait_of_users(served.ttft_seconds, users, words)
    elif wait is not None:
        prompt = words("spec.after_prompt", prompt=words.whole(speeds.prompt))
        yield "first_token", Cell(_seconds(wait, words), None, (prompt,), wait.likely)
    if users > 1 or served is not None:
        full = ("serving", speeds.serving, speeds.serving_users)
        for name, rate, count in (("users_total", total, users), full):
            if rate is not None:
                yield name, _of_users(rate, words.rate(rate.likely), count, words)


def _likely(spread: LatencySummary) -> Rate:
    return Rate(spread.low, spread.likely, spread.high)


def _seconds(wait: Rate, words: Words) -> str:
    return words("seconds", time=words.speed(wait.likely, 2))


def _wait_of_users(waits: LatencySummary, users: int, words: Words) -> Cell:
    """Write the mean wait, and the median where requests were simulated."""
    likely, median = _likely(waits), waits.p50
    cell = _of_users(likely, _seconds(likely, words), users, words)
    if median is None:
        return cell
    said = words("spec.median", time=words("seconds", time=words.speed(median, 2)))
    return replace(cell, band=f"{said}; {cell.band}")


def _of_users(rate: Rate, shown: str, users: int, words: Words) -> Cell:
    of = words("spec.users_band", users=words.whole(users), band=words.band(rate))
    return Cell(shown, of, (), rate.likely)


def _limits(largest: Largest, words: Words) -> _Lines:
    """Yield the limits that surely fit when one setting changes at a time.

    A picture has no context, and no limit of users at one.
    """
    context, users = largest.context_at_users, largest.users_at_context
    if context:
        at_users = words("spec.at_users", at_once=words.at_once(largest.users))
        shown = words("tokens", count=words.whole(context))
        yield "max_context", Cell(shown, None, (at_users,), context)
    if users and context:
        at_context = words("spec.at_context", context=words.whole(largest.context))
        yield "max_users", Cell(words.whole(users), at_context, (), users)
    if largest.quant:
        engine = largest.engine.name if largest.engine else None
        yield "best_quant", Cell(largest.quant.name, engine)


def _rate(rate: Rate | None, words: Words) -> Cell:
    if rate is None:
        return Cell(words("unknown"))
    return Cell(words.rate(rate.likely), words.band(rate), (), rate.likely)


def _costs(item: ComparedGpu, words: Words) -> _Lines:
    """Yield the prices of all boards of a column, and of its tokens where the model runs on
    them."""
    ranked = item.ranked
    if ranked is None:
        costs = plan_costs(item.gpu, item.count or 1, None, DEFAULT_ASSUMPTIONS)
    else:
        costs = ranked.costs
    prices = {"buy": buy_cell(costs, words), "rent": hour_cell(costs, words)}
    if ranked is not None and not ranked.fit.verdict.all_on_gpu:
        yield from prices.items()
        return
    running = {"million": million_cell(costs, words), "break_even": break_even_cell(costs, words)}
    yield from prices.items()
    yield from ((name, cell) for name, cell in running.items() if cell is not None)


def _hardware(item: ComparedGpu, words: Words) -> _Lines:
    """Yield the power of all boards, and what one GPU is."""
    gpu, boards = item.gpu, item.ranked.fit.count if item.ranked else item.count or 1
    yield "power", _power(gpu, boards, words)
    label = words(
        "spec.label",
        label=words.number(gpu.memory_marketing_gb, "g"),
        type=gpu.memory_type,
        basis=words(f"basis.{gpu.memory_basis}"),
    )
    yield "memory", Cell(words.amount(gpu.memory_bytes), None, (label,), gpu.memory_bytes)
    yield "bandwidth", _known(gpu.bandwidth_bytes_per_second, GB, "GB/s", words)
    yield "fp16", _known(gpu.fp16_flops, TERA, "TFLOPS", words)
    yield "links", _links(gpu, boards, words)


def _known(amount: float | None, unit: float, suffix: str, words: Words) -> Cell:
    if amount is None:
        return Cell(words("unknown"))
    return Cell(f"{words.speed(amount / unit)} {suffix}", value=amount)


def _power(gpu: Gpu, boards: int, words: Words) -> Cell:
    """Return the power of all boards, below it what one takes."""
    each = _known(gpu.power_watts, 1, "W", words)
    if gpu.power_watts is None or boards == 1:
        return each
    total = _known(gpu.power_watts * boards, 1, "W", words)
    return replace(total, band=f"{boards} × {each.shown}")


def _links(gpu: Gpu, boards: int, words: Words) -> Cell:
    """Return the link to other GPUs; between several boards it is assumed."""
    pcie = None
    if gpu.pcie_generation and gpu.pcie_lanes:
        pcie = f"PCIe {gpu.pcie_generation}.0\u00a0×{gpu.pcie_lanes}"
    if not gpu.interconnect:
        inside = words("spec.unified") if gpu.unified_memory else words("unknown")
        link = words("spec.link_assumed", link="PCIe") if pcie and boards > 1 else None
        return Cell(pcie or inside, link, (words("spec.no_fabric"),))
    speed_in_words = None
    if gpu.interconnect_bytes_per_second:
        speed_in_words = f"{words.whole(gpu.interconnect_bytes_per_second / GB)} GB/s"
    parts = [part for part in (speed_in_words, pcie) if part]
    joined = gpu.interconnect if gpu.fabric_joins(boards) else "PCIe"
    link = words("spec.link_assumed", link=joined) if boards > 1 else None
    return Cell(gpu.interconnect, link, (" · ".join(parts),))
