"""The quality of one quantization of one model: the entry point of this package."""

# A measurement of this model and recipe wins; else the model's own level carries over from its
# other files; else a relation over bits, size and importance matrix; else the usual loss of the
# format's class. docs/quality.md has the rules on one page.

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from gpusizer.core.messages import Note
from gpusizer.memory.engines import abilities_of
from gpusizer.memory.quants.publishers import IMPORTANCE_MATRIX, file_overrides
from gpusizer.memory.quants.table import Quant
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.evidence import MeasuredLoss, kin_of, published
from gpusizer.quality.kv_loss import SENSITIVE, CacheLoss, cache_loss
from gpusizer.quality.pictures import picture_distance, picture_word
from gpusizer.quality.prediction import (
    CLASS,
    MEASURED,
    MEASURED_MODEL,
    NARROW_BITS,
    NATIVE,
    predict,
)
from gpusizer.quality.quality import (
    Increase,
    LossWord,
    Quality,
    QualitySource,
    tokens_changed,
    word_of,
)
from gpusizer.quality.relation import PLAIN, TRAINED, LossCase, QualityRecipe, recipe_of

_SMALL_PARAMETERS = 1_500_000_000
_TOOL_BITS = 2.5
# Entries of a vocabulary up to which a model counts as trained before 2024.
_OLD_VOCABULARY = 66_000
_FITTED_ON = QualitySource("data/measurements/quality.jsonl", "", "")
_NOTHING = Quality(LossWord.NONE, Increase(0.0, 0.0, 0.0), 0.0, NATIVE)
_SUFFERS_FIRST = LossWord.NOTICEABLE


def quality_of(
    profile: ModelProfile,
    quant: Quant,
    sizes: WeightSizes | None,
    *,
    native: bool | None = None,
    workload: Workload | None = None,
    kv_dtype: str | None = None,
    engine: str | None = None,
) -> Quality:
    """Return the loss of this quantization against the weights as they were released.

    Args:
        sizes: of the weights at this quantization; None if only the name is known.
        native: whether these are the unchanged files of the repository.
        workload: states the use of an importance matrix, and the type of the cache.
        kv_dtype: element type of the cache; None for that of the workload.
        engine: slug of the engine, which may rotate the cache; None for that of the workload.
    """
    workload = workload or Workload()
    bits = 8 * sizes.total / profile.parameters if sizes and profile.parameters else None
    gguf = any(map(_reads_gguf, quant.engines[:1]))
    # Outside the table: of the file for GGUF, else as it is named.
    width = max(min(bits, 16.0), 1.0) if gguf and bits else max(quant.bits, 1.0)
    recipe = recipe_of(quant.slug, width, gguf=gguf)
    if profile.pipeline is not None:
        return _of_pictures(profile, recipe)
    weights = _of_weights(profile, recipe, quant.slug, bits, workload, native=bool(native))
    kv_dtype = kv_dtype or workload.kv_dtype
    engine = engine or workload.engine or (quant.engines[0] if quant.engines else "")
    return _with_cache(weights, profile, kv_dtype, engine, workload.engine_version)


def _reads_gguf(engine: str) -> bool:
    return abilities_of(engine).reads == "gguf"


def _of_weights(
    profile: ModelProfile,
    recipe: QualityRecipe,
    slug: str,
    bits: float | None,
    workload: Workload,
    *,
    native: bool,
) -> Quality:
    if _loses_nothing(profile, recipe, native=native):
        return _NOTHING
    if recipe.family == TRAINED:
        recipe = replace(recipe, family="iq")
        if native:
            return _NOTHING
    maker = _maker(profile, slug)
    matrix = workload.importance_matrix
    if matrix is None and IMPORTANCE_MATRIX in file_overrides(maker):
        matrix = True
    arch = profile.architecture
    vocabulary = arch.vocab_size if arch else None
    recent = (vocabulary or _OLD_VOCABULARY + 1) > _OLD_VOCABULARY
    case = LossCase(recipe, bits if recipe.is_gguf else None, profile.parameters, matrix, recent)
    names = (profile.repo_id, *profile.base_models[:3])
    return _predicted(case, names, maker, arch is not None and arch.generates)


def _loses_nothing(profile: ModelProfile, recipe: QualityRecipe, *, native: bool) -> bool:
    # The weights are the released ones, or hold every value of them. A release in few bits (gpt-oss
    # in MXFP4, DeepSeek in FP8, Kimi in INT4) is its own reference.
    stored = profile.quantization
    if recipe.family == PLAIN:
        return True
    if stored is None or profile.format == "gguf" or profile.is_quantized_copy:
        return False
    released_bits = stored.bits or 8
    wider = recipe.bits >= 2 * released_bits
    return native or wider or recipe.slug in _same(stored.method, released_bits)


def _same(method: str, bits: int) -> tuple[str, ...]:
    # quantizations that hold every value of a release in few bits
    if method == "fp8" or bits == 8:
        return ("fp8", "q8_0", "bf16")
    return ("mxfp4", "mxfp4_moe", "q8_0") if method == "mxfp4" else ("q4_0", "q8_0")


def _maker(profile: ModelProfile, slug: str) -> str:
    # named by the slug, or the owner of a repository of GGUF files
    named = slug.partition("@")[2]
    owner = profile.repo_id.partition("/")[0] if profile.format == "gguf" else ""
    return (named or owner).casefold()


@lru_cache(maxsize=4096)
def _predicted(case: LossCase, names: tuple[str, ...], maker: str, generates: bool) -> Quality:
    # cached: one question asks for it some hundred times
    predicted = predict(case, published(), tuple(map(kin_of, names)), maker)
    basis, rows = predicted.basis, predicted.rows
    caveats = list(_caveats(case, generates=generates))
    own = [one for one in rows if one.row["repo"].casefold() in {n.casefold() for n in names}]
    if basis == MEASURED and not own:
        basis = MEASURED_MODEL
    if rows and not own:
        caveats.append(Note("quality_kin", repo_id=rows[0].row["repo"]))
    word = word_of(predicted.likely)
    if word.rank >= _SUFFERS_FIRST.rank:
        caveats.append(Note("quality_reasoning"))
    count = len(rows) or sum(map(len, published().by_kin.values()))
    return Quality(
        word=word,
        increase=Increase(predicted.low, predicted.likely, predicted.high),
        tokens_changed=tokens_changed(predicted.likely),
        basis=basis,
        rows=count,
        source=_source(own or rows) if rows else _FITTED_ON,
        caveats=tuple(caveats),
        careful=case.parameters < _SMALL_PARAMETERS,
    )


def _source(rows: Sequence[MeasuredLoss]) -> QualitySource:
    # the source with the most rows
    of_source = Counter(one.row["source_group"] for one in rows)
    row = max(rows, key=lambda one: of_source[one.row["source_group"]]).row
    return QualitySource(row["source_group"], row["source_url"], row["date"])


def _caveats(case: LossCase, *, generates: bool) -> list[Note]:
    caveats = []
    if case.recipe.is_gguf and case.recipe.bits < NARROW_BITS:
        word = {True: "yes", False: "no", None: "unknown"}[case.matrix]
        caveats.append(Note(f"quality_matrix_{word}"))
    if case.recipe.bits < _TOOL_BITS:
        caveats.append(Note("quality_tools"))
    if case.parameters < _SMALL_PARAMETERS:
        caveats.append(Note("quality_small_model"))
    if not generates:
        caveats.append(Note("quality_other_kind"))
    return caveats


def _with_cache(
    weights: Quality, profile: ModelProfile, kv_dtype: str, engine: str, version: str | None
) -> Quality:
    # losses of weights and cache add up
    rotated = _reads_gguf(engine) and version is None
    added = cache_loss(kv_dtype, engine, rotated=rotated)
    if not added.likely or weights.increase is None or not profile.kv_cache_bytes_per_token:
        return weights
    model_type = profile.architecture.model_type if profile.architecture else ""
    caveats = [*weights.caveats, Note("quality_kv", kv_dtype=kv_dtype)]
    if model_type.startswith(SENSITIVE):
        caveats.append(Note("quality_kv_sensitive"))
    if added.high > 0.01:
        caveats.append(Note("quality_kv_long"))
    return _added(weights, added, tuple(caveats))


def _added(weights: Quality, added: CacheLoss, caveats: tuple[Note, ...]) -> Quality:
    base = weights.increase or Increase(0.0, 0.0, 0.0)
    increase = Increase(base.low, base.likely + added.likely, base.high + added.high)
    native = weights.basis == NATIVE
    return replace(
        weights,
        word=word_of(increase.likely),
        increase=increase,
        tokens_changed=tokens_changed(increase.likely),
        basis=CLASS if native else weights.basis,
        source=QualitySource("cache", added.source.split()[0], "") if native else weights.source,
        caveats=caveats,
    )


def _of_pictures(profile: ModelProfile, recipe: QualityRecipe) -> Quality:
    # an image model draws another picture of similar quality
    if recipe.family == PLAIN:
        return replace(_NOTHING, increase=None, tokens_changed=None, picture_distance=0.0)
    known = picture_distance(profile.repo_id, recipe.slug)
    distance = known[0] if known else None
    source = None
    if known:
        row = known[1]
        source = QualitySource(row["source_group"], row["source_url"], row["date"])
    return Quality(
        word=picture_word(distance, recipe.bits),
        increase=None,
        tokens_changed=None,
        basis=MEASURED if known else CLASS,
        rows=int(known is not None),
        source=source,
        picture_distance=distance,
    )
