"""Commands for MLX.

Source of the options: mlx_lm/server.py and mlx_lm/convert.py of ml-explore/mlx-lm, 0.28 and later.
Neither program has an option for a revision.
"""

from __future__ import annotations

import re

from gpusizer.core.messages import Note
from gpusizer.launch.base import LaunchCommand, LaunchPlan, Options, above_one, command

_GROUP = 64  # group size of the MLX rows of data/quants.csv
_BITS = re.compile(r"mlx-(\d)bit")


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8080."""
    # The server loads 16-bit repositories as they are; for fewer bits `mlx_lm.convert` runs first.
    # The cache grows with the request, so there is no option for the context.
    bits = _BITS.fullmatch(plan.quant)
    _, untold = plan.cached_as()
    context = Note("launch_no_flag", engine=plan.engine, setting="context")
    notes = (context, *untold, *plan.no_revision, *plan.one_node)
    model, lines = model_of(plan), []
    if bits and model != plan.repo_id:
        lines.append(_convert(plan, model, bits[1]))
    elif not plan.stored and plan.quant != "bf16":
        notes += (Note("launch_needs_repository", quant=plan.quant_name),)
    users = above_one(plan.workload.concurrency)
    lines.append(command(("mlx_lm.server",), {"--model": model, "--decode-concurrency": users}))
    return plan.runs("\n".join(lines), *notes)


def model_of(plan: LaunchPlan) -> str:
    """Return the repository to load, or the folder of its converted weights."""
    if plan.stored or plan.quantized or not _BITS.fullmatch(plan.quant):
        return plan.repo_id
    return f"{plan.repo_id.rpartition('/')[2]}-{plan.quant}"


def _convert(plan: LaunchPlan, folder: str, bits: str) -> str:
    options: Options = {
        "--hf-path": plan.repo_id,
        "--mlx-path": folder,
        "--quantize": True,
        "--q-bits": bits,
        "--q-group-size": _GROUP,
    }
    return command(("mlx_lm.convert",), options)
