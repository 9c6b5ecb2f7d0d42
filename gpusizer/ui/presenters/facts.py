"""The facts of a model, each number with a mark for its provenance."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from markupsafe import Markup

from gpusizer.model.profile import ComponentSize, ModelProfile
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words

_HUB = "https://huggingface.co/"
_MAX_LISTED = 8

Fact = tuple[str, str, str | None, str | None]
"""Name, value, small print, provenance."""


def facts_html(profile: ModelProfile, words: Words) -> Markup:
    """Write the facts of a model, its components and its caveats."""
    return render(
        "facts.html",
        words,
        model=profile.repo_id,
        href=_HUB + quote(profile.repo_id, errors="replace"),
        source=_source(profile, words),
        facts=_facts(profile, words),
        components=_components(profile, words),
        caveats=[words.note(caveat) for caveat in profile.caveats],
    )


def _source(profile: ModelProfile, words: Words) -> str:
    sha = f" · {profile.sha[:8]}" if profile.sha else ""
    gated = f" · {words('gated')}" if profile.gated else ""
    date = profile.retrieved_at[:10]
    return f"@ {profile.revision}{sha} · {words(f'source.{profile.source}', date=date)}{gated}"


def _facts(profile: ModelProfile, words: Words) -> Iterator[Fact]:
    yield "parameters", words.count(profile.parameters), words.whole(profile.parameters), "exact"
    if profile.active_parameters != profile.parameters:
        active = profile.active_parameters
        yield "active", words.count(active), words.whole(active), "derived"
    dtypes = sorted(profile.stored_parameters_by_dtype.items(), key=lambda item: -item[1])
    elements = sum(count for _, count in dtypes)
    shares = [f"{dtype} {words.share(count, elements)}" for dtype, count in dtypes[:_MAX_LISTED]]
    stored = profile.quantization
    name = f"{stored.method} {stored.bits}-bit" if stored else profile.native_dtype
    yield "stored", name, ", ".join(shares), "exact"
    yield (
        "weights",
        f"{words.amount_gb(profile.weight_bytes)} = {words.amount(profile.weight_bytes)}",
        words(
            "files",
            files=words.whole(profile.file_count),
            tensors=words.whole(profile.tensor_count),
        ),
        "exact",
    )
    yield from _context_facts(profile, words)
    yield "license", profile.license or words("unknown"), profile.library, None


def _context_facts(profile: ModelProfile, words: Words) -> Iterator[Fact]:
    arch = profile.architecture
    if arch is None:
        return
    if profile.max_context is not None:
        tokens = words("tokens", count=words.whole(profile.max_context))
        yield "max_context", tokens, None, "exact"
    if profile.kv_cache_bytes_per_token:
        per_token = f"{words.number(profile.kv_cache_bytes_per_token / 1024, ',.1f')} KiB"
        detail = words("kv_bytes", count=words.whole(profile.kv_cache_bytes_per_token))
        yield "kv_per_token", per_token, detail, "derived"
    heads = words("heads", heads=arch.attention_heads or "?", kv=arch.kv_heads or "?")
    experts = words("experts", used=arch.experts_per_token, all=arch.experts)
    detail = f"{heads} · {experts}" if arch.experts else heads
    yield (
        "architecture",
        words("layers", model_type=arch.model_type, count=arch.layers),
        detail,
        None,
    )


def _components(profile: ModelProfile, words: Words) -> list[tuple[str, str]]:
    """Return the names of components with their sizes; none where there is only one."""
    if len(profile.components) < 2:
        return []
    total = sum(component.weight_bytes for component in profile.components)
    return [(item.name, _component_size(item, total, words)) for item in profile.components]


def _component_size(component: ComponentSize, total_bytes: int, words: Words) -> str:
    parameters, size = words.count(component.parameters), words.amount(component.weight_bytes)
    return f"{parameters} · {size} · {words.share(component.weight_bytes, total_bytes)}"
