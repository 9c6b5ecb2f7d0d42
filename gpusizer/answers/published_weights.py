"""What the published files of a quantization weigh, beside the plain conversion that is estimated.

Publishers leave parts wide that a recipe by its name alone would narrow (attention in FP8 or 16
bits in most NVFP4 files), so the file that exists is told wherever the Hub's listing has its size.
"""

from collections.abc import Iterator, Sequence

from gpusizer.answers.report import EstimateRow
from gpusizer.core.messages import Note
from gpusizer.core.units import GIB, significant
from gpusizer.hub.listed_models import QuantizedRepo

_FORMS = frozenset({"awq", "gptq", "fp8", "nvfp4", "mxfp4"})  # one repository is one width
_ALIKE = 0.02  # of the published size: headers, scales and embeddings differ by less


def published_notes(repos: Sequence[QuantizedRepo], rows: Sequence[EstimateRow]) -> Iterator[Note]:
    """A note for each converted quantization whose most downloaded repository weighs otherwise."""
    for row in rows:
        form = row.estimate.quant.slug.partition("-")[0]
        alike = (repo for repo in repos if repo.form == form and repo.weight_bytes)
        repo = next(alike, None)
        if row.estimate.native or form not in _FORMS or repo is None or not repo.weight_bytes:
            continue
        if abs(row.file_bytes / repo.weight_bytes - 1) > _ALIKE:
            yield Note(
                "published_weights",
                quant=row.estimate.quant.name,
                repo_id=repo.repo_id,
                published=significant(repo.weight_bytes / GIB),
                converted=significant(row.file_bytes / GIB),
            )
