"""Selection of the quantizations that an answer shows, and that a ranking may pick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.validation import fail
from gpusizer.fit.compatibility import has_cache_type
from gpusizer.fit.requirements import DEFAULT_REQUIREMENTS, Requirements
from gpusizer.hub.model_ref import ModelRef
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.quants import Quant, all_quants, find_quant
from gpusizer.memory.quants.exllama import exllama_runs
from gpusizer.memory.quants.native import native_quant, native_under
from gpusizer.memory.quants.table import aliases
from gpusizer.memory.quants.variants import find_variant, quant_read, variant_quants
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import kind_of
from gpusizer.usecases.requests.request_fields import ALL_QUANTS, NATIVE_QUANT


@dataclass(frozen=True, slots=True)
class QuantSelection:
    """Quantizations, each with whether it is the checkpoint as stored."""

    shown: tuple[tuple[Quant, bool], ...]  # rows of the answer, from most to least faithful
    rankable: tuple[tuple[Quant, bool], ...]  # those that a ranking may pick
    native: Quant  # stored format of the checkpoint; for a GGUF repository the file that was read

    def cached_as(self, kv_dtype: str) -> QuantSelection:
        """Return the quantizations that an engine supports with `kv_dtype`.

        Raises InvalidRequest if no engine of any of them has the type.
        """

        def has_engine(pair: tuple[Quant, bool]) -> bool:
            return any(has_cache_type(ENGINES[slug], kv_dtype) for slug in pair[0].engines)

        shown = tuple(filter(has_engine, self.shown))
        if not shown:
            raise InvalidRequest(field="kv_dtype", value=kv_dtype, reason="no_such_cache")
        return replace(self, shown=shown, rankable=tuple(filter(has_engine, self.rankable)))


def select_quants(
    wanted: Sequence[str],
    profile: ModelProfile,
    engine: str | None = None,
    requirements: Requirements = DEFAULT_REQUIREMENTS,
) -> QuantSelection:
    """Return the requested quantizations: slugs, "native" or "all".

    "all" are those that the engine runs; a ranking may pick from these what the demands allow.
    "all" of a GGUF repository are its own files. Raises UnknownQuant, and InvalidRequest for one
    that the engine does not run.
    """
    own = variant_quants(profile)
    if own:
        return _of_files(wanted, own, profile, engine, requirements)
    native = native_quant(profile)
    table = [quant for quant in all_quants() if quant.shown and quant.slug != native.slug]
    everything = sorted([native, *table], key=lambda quant: quant.order)
    if ALL_QUANTS in wanted:
        shown = [quant for quant in everything if _runs(quant, engine, profile)]
        rankable = [
            quant for quant in shown if _worth_ranking(quant, native, profile, requirements)
        ]
    else:
        named = {NATIVE_QUANT: native_under(engine, profile), native.slug: native}
        shown = [named.get(slug) or named.get(slug.lower()) or find_quant(slug) for slug in wanted]
        _refuse_mismatch(shown, engine)
        rankable = shown
    return QuantSelection(_paired(shown, native), _paired(rankable, native), native)


def _of_files(
    wanted: Sequence[str],
    own: tuple[Quant, ...],
    profile: ModelProfile,
    engine: str | None,
    requirements: Requirements,
) -> QuantSelection:
    native = quant_read(profile)
    if ALL_QUANTS in wanted:
        shown = list(own)
    else:
        shown = [
            native if slug == NATIVE_QUANT else find_variant(slug, own) or find_quant(slug)
            for slug in wanted
        ]
    _refuse_mismatch(shown, engine)
    paired = tuple((quant, quant in own) for quant in shown)
    taken = tuple(
        pair for pair in paired if ALL_QUANTS not in wanted or requirements.takes(pair[0], profile)
    )
    return QuantSelection(paired, taken, native)


def every_quant(
    profile: ModelProfile, engine: str | None, also: Sequence[tuple[Quant, bool]]
) -> tuple[tuple[Quant, bool], ...]:
    """Return all quantizations that the engine runs, and those in `also`, most faithful first."""
    pairs = {quant.slug: (quant, native) for quant, native in also}
    for quant, native in select_quants((ALL_QUANTS,), profile, engine).shown:
        pairs.setdefault(quant.slug, (quant, native))
    return tuple(sorted(pairs.values(), key=lambda pair: pair[0].order))


def _paired(quants: Sequence[Quant], native: Quant) -> tuple[tuple[Quant, bool], ...]:
    return tuple((quant, quant.slug == native.slug) for quant in quants)


def _worth_ranking(
    quant: Quant, native: Quant, profile: ModelProfile, requirements: Requirements
) -> bool:
    # A quantized checkpoint is never ranked in a wider format.
    if profile.quantization is None:
        return requirements.takes(quant, profile)
    return quant is native or (requirements.takes(quant, profile) and quant.order > native.order)


def _runs(quant: Quant, engine: str | None, profile: ModelProfile) -> bool:
    if quant.moe_only and not (profile.architecture and profile.architecture.experts):
        return False
    if not exllama_runs(quant, profile):
        return False
    if engine is None:
        kind = kind_of(profile)
        return any(kind in ENGINES[slug].abilities.kinds for slug in quant.engines)
    return engine in quant.engines


def _refuse_mismatch(quants: Sequence[Quant], engine: str | None) -> None:
    for quant in quants:
        if engine is not None and engine not in quant.engines:
            raise InvalidRequest(
                field="engine", value=engine, reason="does_not_run", quant=quant.name
            )


_LATEST = "latest"  # Ollama's tag for the usual file: it names no quantization.


def asked_quants(stated: tuple[str, ...], ref: ModelRef, profile: ModelProfile) -> tuple[str, ...]:
    """Return quantizations to answer for: those stated, else the one in the model's name.

    For a GGUF repository the named file or tag is read, and other stated ones are computed from it;
    elsewhere a tag names a row of the table: "org/name:Q4_K_M" is sized in Q4_K_M. Raises
    UnknownQuant for an unknown tag, and InvalidRequest if `stated` names others.
    """
    if profile.format == "gguf":
        named = ref.file or ref.tag
        return (NATIVE_QUANT,) if named and stated == (ALL_QUANTS,) else stated
    tag = named_tag(ref)
    if not tag:
        return stated
    slug = find_quant(tag).slug
    if not _agree(stated, tag, slug):
        raise fail("quant", ", ".join(stated), "tag_differs", tag=tag)
    return (slug,)


def refuse_tag(ref: ModelRef, profile: ModelProfile) -> None:
    """Raise InvalidRequest for a tag where no quantization can be requested.

    The tag of a GGUF repository names the file that was read and is allowed.
    """
    if named_tag(ref) and profile.format != "gguf":
        raise fail("model", f"{ref.repo_id}:{ref.tag}", "tag_not_read", tag=ref.tag or "")


def named_tag(ref: ModelRef) -> str:
    """Return the quantization after the colon, or ""."""
    return "" if (ref.tag or _LATEST).lower() == _LATEST else ref.tag or ""


def _agree(stated: Sequence[str], tag: str, slug: str) -> bool:
    words = {text.strip().lower() for text in stated}
    words |= {aliases().get(word, word) for word in words}
    return ALL_QUANTS in words or tag.lower() in words or slug in words
