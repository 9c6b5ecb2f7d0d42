"""GPU cards side by side: fit to scale, speed, specifications and price of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gpusizer.advice import Suggestion
from gpusizer.comparison import Compared, Comparison
from gpusizer.costs import RentalQuote, rental_quote
from gpusizer.fit import Fit, Verdict
from gpusizer.gpus import Gpu, Price
from gpusizer.inverse import Largest
from gpusizer.notes import Note
from gpusizer.ranking import Ranked
from gpusizer.speed import Rate, Speeds
from gpusizer.ui.presenters.bars import segments
from gpusizer.ui.presenters.commands import launch_html
from gpusizer.ui.presenters.figures import DASH, percent
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.marks import parts_legend, verdict_badge
from gpusizer.ui.presenters.words import Words
from gpusizer.units import GB, TERA

_UNBROKEN_HYPHEN = "\u2011"
SUGGESTED = 4
"""Suggestions of a card; the JSON has all."""
Spec = tuple[str, str, str | None]
"""Name of the line, its value, small print."""


def cards_html(
    comparison: Comparison | None, picks: Sequence[str], message: str, words: Words
) -> Html:
    """The picked GPUs in the order picked, and the field that adds one."""
    items = comparison.items if comparison else ()
    launch = partial(launch_html, comparison, words) if comparison else None
    cards = [
        _card(item, pick, words, launch(item.ranked) if launch and item.ranked else None)
        for item, pick in zip(items, picks, strict=False)
    ]
    grid = el("div", join(cards), class_="gs-cards")
    legend = parts_legend(words, "free", "reserve") if comparison and comparison.profile else None
    return el(
        "section",
        words.heading("cards"),
        _adder(words),
        el("p", message, class_="gs-message", role="status") if message else None,
        legend,
        grid if cards else el("p", words("cards.empty"), class_="gs-empty"),
        class_="gs-section",
        id="gs-cards",
    )


def gpu_names_html(names: Sequence[str]) -> Html:
    """Names the adding field suggests."""
    return el("datalist", join(el("option", value=name) for name in names), id="gs-gpu-names")


def _adder(words: Words) -> Html:
    return el(
        "form",
        el("input", name="gpu", list="gs-gpu-names", maxlength=100, autocomplete="off",
           placeholder=words("cards.placeholder"), aria_label=words("cards.add.label")),
        el("button", words("cards.add"), type="submit", class_="gs-button"),
        class_="gs-adder",
    )  # fmt: skip


def _card(item: Compared, pick: str, words: Words, command: Html | None) -> Html:
    ranked = item.ranked
    count = ranked.fit.count if ranked else item.count or 1
    remove = el("button", "×", type="button", class_="gs-remove", data_remove=pick,
                aria_label=words("cards.remove", gpu=item.gpu.name))  # fmt: skip
    name = f"{count} × {item.gpu.name}" if count > 1 else item.gpu.name
    return el(
        "article",
        el("header", el("h3", name), remove),
        _fit(ranked.fit, words) if ranked else None,
        el("dl", join(_line(spec, words) for spec in _specs(item.gpu, ranked, words))),
        _advice(ranked, words) if ranked else None,
        command or el("div"),  # holds its place, so that rows of all cards stay level
        words.listed(_reasons(ranked), "gs-notes") if ranked else None,
        class_="gs-card" if ranked else "gs-card gs-card-plain",
        data_gpu=item.gpu.slug,
    )


def _fit(fit: Fit, words: Words) -> Html:
    """Verdict, bar and what is left or missing on one GPU."""
    estimate, capacity = fit.estimate, fit.gpu.device_memory_bytes
    used = estimate.per_gpu.total.likely
    spare = "cards.spare" if fit.headroom_bytes >= 0 else "cards.short"
    used_of = words("cards.used", used=words.amount(used), capacity=words.amount(capacity))
    return el(
        "div",
        el("p", verdict_badge(fit.verdict, words),
           el("span", f"{estimate.quant.name} · {estimate.engine.name}", class_="gs-small")),
        _capacity_bar(fit, words),
        el("p", used_of if fit.count == 1 else words("cards.each", used=used_of),
           el("strong", words(spare, amount=words.amount(abs(fit.headroom_bytes)))),
           class_="gs-capacity"),
        class_="gs-fit",
    )  # fmt: skip


def _capacity_bar(fit: Fit, words: Words) -> Html:
    """Use against the memory of one GPU; what goes beyond it sticks out over the line."""
    capacity, memory = fit.gpu.device_memory_bytes, fit.estimate.per_gpu
    used = memory.total.likely
    scale = max(capacity, used)
    free = max(0, fit.headroom_bytes)
    reserve = max(0, capacity - used - free)
    rest = [
        el("span", class_=f"gs-{name}", style=f"width:{percent(amount, scale)}",
           title=f"{words(f'part.{name}')}: {words.amount(amount)}")
        for name, amount in (("free", free), ("reserve", reserve))
    ]  # fmt: skip
    limit = None
    if used > capacity:
        limit = el("b", style=f"left:{percent(capacity, scale)}", title=words.amount(capacity))
    return el(
        "div",
        join(segments(memory, scale, words)),
        join(rest),
        limit,
        class_="gs-bar gs-bar-over" if limit else "gs-bar",
    )


def _reasons(ranked: Ranked) -> list[Note]:
    """All but the verdict, and without what the advice above says already."""
    advised = any(one.note.code == "try_offload" for one in ranked.advice[:SUGGESTED])
    return [note for note in ranked.reasons[1:] if not advised or note.code != "layers_that_fit"]


def _advice(ranked: Ranked, words: Words) -> Html:
    """What would make it fit, least painful first; empty, to hold its place, where it does."""
    title = None
    if ranked.fit.verdict is not Verdict.FITS:
        state = "safer" if ranked.fit.verdict is Verdict.TIGHT else "fit"
        alone = any(one.enough for one in ranked.advice)
        title = el("h4", words(f"advice.{state}" if alone else "advice.none"))
    items = [_suggestion(one, words) for one in ranked.advice[:SUGGESTED]]
    listed = el("ol", join(items)) if items else None
    return el("div", title, listed, class_="gs-advice")


def _suggestion(one: Suggestion, words: Words) -> Html:
    key = "advice.after" if one.enough or one.headroom_bytes >= 0 else "advice.short"
    after = words(key, saving=words.amount(one.saving_bytes),
                  headroom=words.amount(abs(one.headroom_bytes)))  # fmt: skip
    return el("li", words.note(one.note), el("small", after))


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
        yield from _performance(ranked, words)
    yield (
        "memory",
        words.amount(gpu.memory_bytes),
        words("spec.label", label=words.number(gpu.memory_marketing_gb, "g"), type=gpu.memory_type,
              basis=words(f"basis.{gpu.memory_basis}")),
    )  # fmt: skip
    yield _known("bandwidth", gpu.bandwidth_bytes_per_second, GB, "GB/s", words)
    yield _known("fp16", gpu.fp16_flops, TERA, "TFLOPS", words)
    yield _known("power", gpu.power_watts, 1, "W", words)
    yield _links(gpu, words)
    yield _price(gpu.buy, gpu.release_year, words)
    yield _rent(rental_quote(gpu), words)


def _performance(ranked: Ranked, words: Words) -> Iterator[Spec]:
    """Speeds and context, which only mean something where a model that writes text fits."""
    silent = ranked.decode is None and ranked.prefill is None
    if not ranked.fit.verdict.all_on_gpu or silent:
        for name in ("decode", "prefill"):
            yield name, DASH, None
    else:
        yield _rate("decode", ranked.decode, words)
        yield _rate("prefill", ranked.prefill, words)
        if ranked.speeds is not None:
            yield from _with_users(ranked.speeds, words)
    if ranked.largest is not None:
        yield from _limits(ranked.largest, words)


def _with_users(speeds: Speeds, words: Words) -> Iterator[Spec]:
    """The wait for an answer, and totals where several users were asked for."""
    first = speeds.first_token
    if first is not None:
        yield (
            "first_token",
            words("seconds", time=words.speed(first.likely, 2)),
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


def _limits(most: Largest, words: Words) -> Iterator[Spec]:
    """The most that surely fits, one thing changed at a time."""
    context, users = most.context_at_users, most.users_at_context
    yield (
        "max_context",
        words("tokens", count=words.whole(context)) if context else DASH,
        words("spec.at_users", users=words.whole(most.users)) if context else None,
    )
    yield (
        "max_users",
        words.whole(users) if users else DASH,
        words("spec.at_context", context=words.whole(most.context)) if users else None,
    )
    engine = most.engine.name if most.engine else None
    yield "best_quant", most.quant.name if most.quant else DASH, engine


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


def _price(price: Price | None, release_year: int, words: Words) -> Spec:
    if price is None:
        return "buy", words("unknown"), None
    date = (price.date or str(release_year)).replace("-", _UNBROKEN_HYPHEN)
    basis = words(f"basis.{price.basis}", date=date)
    return "buy", words.usd(price.usd), basis


def _rent(quote: RentalQuote | None, words: Words) -> Spec:
    """The likely price of an hour, and between what providers ask for it."""
    if quote is None or quote.likely_usd is None:
        return "rent", words("unknown"), None
    ends = (quote.low_usd, quote.high_usd)
    asked = dict.fromkeys(words.usd(price) for price in ends if price is not None)
    date = (quote.as_of or "").replace("-", _UNBROKEN_HYPHEN)
    return (
        "rent",
        words.usd(quote.likely_usd),
        words("basis.rent", asked="–".join(asked), date=date),
    )
