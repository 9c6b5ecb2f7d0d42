"""Cards that compare GPUs side by side: memory bar, speed, specifications and price of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gpusizer.answers.comparison import ComparedGpu, Comparison
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.fit.advice import Suggestion
from gpusizer.fit.capacity_limits import Largest
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.speculative_speeds import SpeculativeSpeeds
from gpusizer.fit.speed import Rate, Speeds
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, rental_quote
from gpusizer.gpus.purchase import current_day
from gpusizer.memory.draft import DraftEstimate
from gpusizer.ui.presenters.aligned import aligned
from gpusizer.ui.presenters.bars import segments
from gpusizer.ui.presenters.commands import launch_html
from gpusizer.ui.presenters.conclusion import conclusion_html
from gpusizer.ui.presenters.evidence import evidence_html
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.losses import loss_label
from gpusizer.ui.presenters.marks import parts_legend, verdict_badge
from gpusizer.ui.presenters.number_format import DASH, percent
from gpusizer.ui.presenters.prices import Spec, price_specs, rent_spec, running_specs
from gpusizer.ui.presenters.words import Words

SUGGESTED = 4
"""Number of suggestions on a card; the JSON has all."""


def cards_html(
    comparison: Comparison | None,
    picks: Sequence[str],
    message: str,
    words: Words,
    examples: Html | None = None,
    *,
    concluded: bool = False,
) -> Html:
    """Write the picked GPUs in the order of picking, and the field that adds one; with `concluded`
    what is concluded of them first.

    Without GPUs there are `examples`, if any.
    """
    items = comparison.items if comparison else ()
    commands = partial(_commands, comparison, words) if comparison else None
    lines = aligned([list(_specs(item.gpu, item.ranked, words)) for item in items])
    cards = [
        _card(item, pick, specs, words, commands(item.ranked) if commands and item.ranked else None)
        for item, pick, specs in zip(items, picks, lines, strict=False)
    ]
    rows = f"--gs-lines:{len(lines[0])}" if lines else None
    grid = el("div", join(cards), class_="gs-cards", style=rows)
    legend = parts_legend(words, "free", "reserve") if comparison and comparison.profile else None
    return el(
        "section",
        conclusion_html(comparison.conclusion, words)
        if comparison and concluded
        else words.heading("cards"),
        _adder(words),
        _own_cards(words),
        el("p", message, class_="gs-message", role="status") if message else None,
        legend,
        grid if cards else el("div", el("p", words("cards.empty")), examples, class_="gs-empty"),
        class_="gs-section",
        id="gs-cards",
    )


def gpu_names_html(names: Sequence[str]) -> Html:
    """Write the names that the field for adding a GPU suggests."""
    return el("datalist", join(el("option", value=name) for name in names), id="gs-gpu-names")


def _adder(words: Words) -> Html:
    return el(
        "form",
        el(
            "input",
            name="gpu",
            list="gs-gpu-names",
            maxlength=100,
            autocomplete="off",
            placeholder=words("cards.placeholder"),
            aria_label=words("cards.add.label"),
        ),
        el("button", words("cards.add"), type="submit", class_="gs-button"),
        class_="gs-adder",
    )


def _commands(comparison: Comparison, words: Words, ranked: Ranked) -> Html:
    """Write the command that starts a card, and what the card can be checked by."""
    launch = launch_html(comparison, words, ranked)
    return el("div", launch, evidence_html(comparison, words, ranked))


def _own_cards(words: Words) -> Html:
    """Write how to state free memory or describe a card, and the place for cards remembered by the
    browser (`ui/scripts/own_cards.js`)."""
    return join(
        (
            el("p", words("cards.own"), class_="gs-small"),
            el(
                "div",
                el("span", words("cards.mine"), class_="gs-small"),
                el("span", class_="gs-chips"),
                class_="gs-own",
                hidden=True,
                data_forget_label=words("cards.forget", gpu="GPU"),
            ),
        )
    )


def _card(
    item: ComparedGpu, pick: str, specs: Sequence[Spec], words: Words, command: Html | None
) -> Html:
    ranked = item.ranked
    count = ranked.fit.count if ranked else item.count or 1
    remove = el(
        "button",
        "×",
        type="button",
        class_="gs-remove",
        data_remove=pick,
        aria_label=words("cards.remove", gpu=item.gpu.name),
    )
    name = f"{count} × {item.gpu.name}" if count > 1 else item.gpu.name
    if ranked and ranked.fit.machine.ram_bytes:
        name += f" + {words.number(ranked.fit.machine.ram_bytes / GIB, 'g')} GB RAM"
    return el(
        "article",
        el("header", el("h3", name), remove),
        _fit(ranked.fit, words) if ranked else None,
        el("dl", join(_line(spec, words) for spec in specs)),
        _advice(ranked, words) if ranked else None,
        command or el("div"),  # an empty row, so that the rows of all cards stay level
        words.listed(_reasons(ranked), "gs-notes") if ranked else None,
        class_="gs-card" if ranked else "gs-card gs-card-plain",
        data_gpu=item.gpu.slug,
    )


def _fit(fit: Fit, words: Words) -> Html:
    """Write the verdict; where an engine runs the model, the bar, and the memory left or missing on
    one GPU."""
    estimate, capacity = fit.estimate, fit.gpu.device_free_bytes
    used, headroom = estimate.per_gpu.total.likely, fit.headroom_bytes
    verdict = el(
        "p",
        verdict_badge(fit.verdict, words),
        el("span", f"{estimate.quant.name} · {estimate.engine.name}", class_="gs-small"),
    )
    if headroom is None:
        return el("div", verdict, class_="gs-fit")
    spare = "cards.spare" if headroom >= 0 else "cards.short"
    used_of = words("cards.used", used=words.amount(used), capacity=words.amount(capacity))
    return el(
        "div",
        verdict,
        _capacity_bar(fit, max(0, headroom), words),
        el(
            "p",
            used_of if fit.count == 1 else words("cards.each", used=used_of),
            el("strong", words(spare, amount=words.amount(abs(headroom)))),
            class_="gs-capacity",
        ),
        class_="gs-fit",
    )


def _capacity_bar(fit: Fit, free: int, words: Words) -> Html:
    """Draw the use of one GPU's memory; use beyond it is drawn past the line of its capacity."""
    capacity, memory = fit.gpu.device_free_bytes, fit.estimate.per_gpu
    used = memory.total.likely
    scale = max(capacity, used)
    reserve = max(0, capacity - used - free)
    unused_segments = [
        el(
            "span",
            class_=f"gs-{name}",
            style=f"width:{percent(amount, scale)}",
            title=f"{words(f'part.{name}')}: {words.amount(amount)}",
        )
        for name, amount in (("free", free), ("reserve", reserve))
    ]
    limit = None
    if used > capacity:
        limit = el("b", style=f"left:{percent(capacity, scale)}", title=words.amount(capacity))
    return el(
        "div",
        join(segments(memory, scale, words)),
        join(unused_segments),
        limit,
        class_="gs-bar gs-bar-over" if limit else "gs-bar",
    )


def _reasons(ranked: Ranked) -> list[Note]:
    """Choose the reasons to show: without the verdict and without what the advice says already.

    Caveats on what the quantization loses come after them.
    """
    advised = any(suggestion.note.code == "try_offload" for suggestion in ranked.advice[:SUGGESTED])
    reasons = [note for note in ranked.reasons[1:] if not advised or note.code != "layers_that_fit"]
    return [*reasons, *quality_at(ranked.fit.estimate).caveats]


def _advice(ranked: Ranked, words: Words) -> Html:
    """Write what would make the model fit, least costly first; an empty element where it fits."""
    title = None
    if ranked.fit.verdict is not Verdict.FITS:
        state = "safer" if ranked.fit.verdict is Verdict.TIGHT else "fit"
        alone = any(suggestion.enough for suggestion in ranked.advice)
        title = el("h4", words(f"advice.{state}" if alone else "advice.none"))
    items = [_suggestion(suggestion, words) for suggestion in ranked.advice[:SUGGESTED]]
    listed = el("ol", join(items)) if items else None
    return el("div", title, listed, class_="gs-advice")


def _suggestion(suggestion: Suggestion, words: Words) -> Html:
    key = "advice.after" if suggestion.enough or suggestion.headroom_bytes >= 0 else "advice.short"
    after = words(
        key,
        saving=words.amount(suggestion.saving_bytes),
        headroom=words.amount(abs(suggestion.headroom_bytes)),
    )
    return el("li", words.note(suggestion.note), el("small", after))


def _line(spec: Spec, words: Words) -> Html:
    name, value, detail = spec
    return el(
        "div",
        el("dt", words(f"spec.{name}")),
        el("dd", value),
        el("dd", detail, class_="gs-detail") if detail else None,
    )


def _specs(gpu: Gpu, ranked: Ranked | None, words: Words) -> Iterator[Spec]:
    if ranked is not None:
        quality = quality_at(ranked.fit.estimate)
        yield "quality", loss_label(quality, words), words.note(quality.detail())
        yield from _performance(ranked, words)
    yield (
        "memory",
        words.amount(gpu.memory_bytes),
        words(
            "spec.label",
            label=words.number(gpu.memory_marketing_gb, "g"),
            type=gpu.memory_type,
            basis=words(f"basis.{gpu.memory_basis}"),
        ),
    )
    yield _known("bandwidth", gpu.bandwidth_bytes_per_second, GB, "GB/s", words)
    yield _known("fp16", gpu.fp16_flops, TERA, "TFLOPS", words)
    yield _known("power", gpu.power_watts, 1, "W", words)
    yield _links(gpu, words)
    assumed = DEFAULT_ASSUMPTIONS if ranked is None else ranked.assumptions
    if assumed.gpu_usd is None:
        yield from price_specs(gpu, current_day(), words)
    else:
        yield "buy", words.usd(assumed.gpu_usd), words("basis.own")
    if assumed.gpu_usd_per_hour is None:
        yield rent_spec(rental_quote(gpu), words)
    else:
        yield "rent", words.usd(assumed.gpu_usd_per_hour), words("basis.own")
    if ranked is not None and ranked.fit.verdict.all_on_gpu:
        yield from running_specs(ranked.costs, words)


def _performance(ranked: Ranked, words: Words) -> Iterator[Spec]:
    """Yield speeds and context, which exist only where a model that generates text fits."""
    silent = ranked.decode is None and ranked.prefill is None
    if not ranked.fit.verdict.all_on_gpu or silent:
        for name in ("decode", "prefill"):
            yield name, DASH, None
    else:
        yield _rate("decode", ranked.decode, words)
        yield _rate("prefill", ranked.prefill, words)
        if ranked.speeds is not None:
            yield from _with_users(ranked.speeds, words)
        if ranked.speculation is not None:
            yield _guessed(ranked.speculation, words)
    if ranked.fit.estimate.draft is not None:
        yield _draft_memory(ranked.fit.estimate.draft, words)
    if ranked.largest is not None:
        yield from _limits(ranked.largest, words)


def _draft_memory(draft: DraftEstimate, words: Words) -> Spec:
    """The memory that a draft model takes on each GPU, which the bar of the card includes."""
    total = draft.per_gpu.total
    band = words("tile.band", low=words.amount(total.low), high=words.amount(total.high))
    return "draft_memory", words.amount(total.likely), f"{draft.quant.name} · {band}"


def _guessed(speeds: SpeculativeSpeeds, words: Words) -> Spec:
    """The speed of one user with a draft model, and the acceptance from which that gains."""
    least = speeds.break_even
    gain = (
        words("spec.never_gains")
        if least is None
        else words("spec.gains_from", share=words.share(least, 1))
    )
    if speeds.decode is None:
        return "guessed", DASH, gain
    rate = words("tokens_per_second", speed=words.speed(speeds.decode.likely))
    return "guessed", rate, f"{words.band(speeds.decode)} · {gain}"


def _with_users(speeds: Speeds, words: Words) -> Iterator[Spec]:
    """Yield the wait for an answer, and totals if the request has several users."""
    first_token = speeds.first_token
    if first_token is not None:
        yield (
            "first_token",
            words("seconds", time=words.speed(first_token.likely, 2)),
            words("spec.after_prompt", prompt=words.whole(speeds.prompt)),
        )
    if speeds.users > 1:
        for name, rate, users in (
            ("users_total", speeds.total, speeds.users),
            ("serving", speeds.serving, speeds.serving_users),
        ):
            if rate is not None:
                total = words("tokens_per_second", speed=words.speed(rate.likely))
                yield (
                    name,
                    total,
                    words("spec.users_band", users=words.whole(users), band=words.band(rate)),
                )


def _limits(largest: Largest, words: Words) -> Iterator[Spec]:
    """Yield the limits that surely fit when one setting changes at a time."""
    context, users = largest.context_at_users, largest.users_at_context
    yield (
        "max_context",
        words("tokens", count=words.whole(context)) if context else DASH,
        words("spec.at_users", at_once=words.at_once(largest.users)) if context else None,
    )
    yield (
        "max_users",
        words.whole(users) if users else DASH,
        words("spec.at_context", context=words.whole(largest.context)) if users else None,
    )
    engine = largest.engine.name if largest.engine else None
    yield "best_quant", largest.quant.name if largest.quant else DASH, engine


def _rate(name: str, rate: Rate | None, words: Words) -> Spec:
    if rate is None:
        return name, words("unknown"), None
    return name, words("tokens_per_second", speed=words.speed(rate.likely)), words.band(rate)


def _known(name: str, amount: float | None, unit: float, suffix: str, words: Words) -> Spec:
    if amount is None:
        return name, words("unknown"), None
    value = amount / unit
    return name, f"{words.speed(value)} {suffix}", None


def _links(gpu: Gpu, words: Words) -> Spec:
    pcie = None
    if gpu.pcie_generation and gpu.pcie_lanes:
        pcie = f"PCIe {gpu.pcie_generation}.0\u00a0×{gpu.pcie_lanes}"
    if not gpu.interconnect:
        inside = words("spec.unified") if gpu.unified_memory else words("unknown")
        return "links", pcie or inside, words("spec.no_fabric")
    speed_in_words = None
    if gpu.interconnect_bytes_per_second:
        speed_in_words = f"{words.whole(gpu.interconnect_bytes_per_second / GB)} GB/s"
    return "links", gpu.interconnect, " · ".join(part for part in (speed_in_words, pcie) if part)
