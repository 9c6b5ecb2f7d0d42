"""In turns: many users on boards that do not hold all of their sequences at once.

Servers queue requests beyond their scheduler's limit (vLLM's `--max-num-seqs`, SGLang's
`--max-running-requests`), so that fewer boards are slower rather than too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gpusizer.advice.candidates import served_users
from gpusizer.core.bisection import largest_holding
from gpusizer.fit.audience import audience_of
from gpusizer.fit.division import asked_split
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import choose
from gpusizer.fit.preference_key import PreferenceKey, preference_key
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import judged
from gpusizer.fit.study import ScopedCache, Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Split
from gpusizer.speed.classes import SERVING

# At least one in this number of users is served at once: the others wait for three answers or
# fewer. Recipes of Kaito and Databricks start models of 7B to 70B on boards that hold 17 to 52 of
# 64 users with 2,048 tokens each.
FEWEST_AT_ONCE = 4
_BETTER_WEIGHTS = PreferenceKey._fields.index("boards")


def study_of(study: Study, config: RunConfig) -> Study:
    """Return the study for which a way was made, whose batch may be shorter."""
    limit = config.estimate.placement.workload.max_num_seqs
    return study if limit == study.workload.max_num_seqs else _with_batch(study, limit)


def on_fewer_boards(
    study: Study, gpu: Gpu, counts: Sequence[int], taken: RunConfig | None, enough: float
) -> RunConfig | None:
    """Return the way on the fewest boards that serve users in turns, None without one."""
    # Fewer than the boards taken; a quarter of the users or more are served at once, each at
    # `enough` tokens/s, in a precision that is not better on the boards taken.
    for boards in counts:
        if taken is not None and boards >= taken.boards:
            return None
        config = on_these_boards(study, Machine.with_boards(gpu, boards))
        if (
            config is not None
            and _is_as_good(study, config, taken)
            and _pace(study, config) >= enough
        ):
            return config
    return None


def on_these_boards(study: Study, machine: Machine) -> RunConfig | None:
    """Return the way on a machine with the most users at once, None below a quarter of them."""
    if audience_of(study) != "many" or study.workload.max_num_seqs is not None:
        return None
    each = (asked_split(study.workload) or Split()).users_each(study.workload.concurrency)
    fewest = ceil(each / FEWEST_AT_ONCE)
    least = _with_batch_of(study, machine, fewest)
    if least is None:
        return None

    def way_for(more: int) -> RunConfig | None:
        return _with_batch_of(study, machine, fewest + more, least)

    most = largest_holding(lambda more: way_for(more) is not None, each - 1 - fewest)
    return way_for(most) or least


def _with_batch_of(
    study: Study, machine: Machine, limit: int, like: RunConfig | None = None
) -> RunConfig | None:
    # It surely fits with `limit` users at once; `like` fixes the quantization and the engine.
    shorter = _with_batch(study, limit)
    if like is None:
        config = choose(shorter, [machine], whole=True)
    else:
        config = judged(shorter, machine, shorter.reestimate(like.estimate), usual=like.is_usual)
    if config is None or config.verdict is not Verdict.FITS:
        return None
    return config if config.estimate.engine.abilities.speed_family == SERVING else None


_BATCHES: ScopedCache[int | None, Study] = ScopedCache()


def _with_batch(study: Study, limit: int | None) -> Study:
    return _BATCHES.get(study.quants_scope, limit, lambda: study.with_workload(max_num_seqs=limit))


def _is_as_good(study: Study, config: RunConfig, taken: RunConfig | None) -> bool:
    # The criteria before the number of boards are compared.
    if taken is None:
        return True
    own = preference_key(study_of(study, config), config)
    return own[:_BETTER_WEIGHTS] <= preference_key(study, taken)[:_BETTER_WEIGHTS]


def _pace(study: Study, config: RunConfig) -> float:
    own = study_of(study, config)
    together = served_users(own, config, percentiles=False)
    return 0.0 if together is None else together.user_rate(in_turns=True).likely
