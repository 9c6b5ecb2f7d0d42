"""Load the application with visitors, and print the results.

    python -m bench.load [SCENARIO …] [--visitors N] [--seconds S] [--soak-calls N]

The application runs as `app.py` does, over an emulated Hub on loopback; echo and Gradio's figures
come from an empty page. Client, Hub and servers share this machine. A call counts as refused if its
answer is 429 or 503 with `Retry-After`, or an error object with that meaning; every other failed
call is an error, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from functools import partial

from bench.emulated_hub import hub_process
from bench.load.replicas import models_of
from bench.load.scenarios import MOST_NAMED, SCENARIOS, Plan, repositories
from bench.load.visitors import HEAD


def main(argv: Sequence[str]) -> int:
    """Run the named scenarios, or all."""
    usual = Plan()
    parser = argparse.ArgumentParser(
        prog="python -m bench.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(SCENARIOS)}; default all")
    parser.add_argument("--visitors", type=int, default=usual.visitors)
    parser.add_argument("--seconds", type=float, default=usual.seconds, help="of a measurement")
    parser.add_argument(
        "--rounds", type=int, default=usual.rounds, help="of the speeds and of replicas"
    )
    parser.add_argument("--models", type=int, default=usual.models, help="of the soak")
    parser.add_argument("--soak-calls", type=int, default=usual.soak_calls)
    options = vars(parser.parse_args(argv))
    names = options.pop("scenarios") or list(SCENARIOS)
    unknown = sorted(set(names) - set(SCENARIOS))
    if unknown:
        parser.error(f"no scenario {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what was started, too
    plan = Plan(**options)
    errors = 0
    models = max(plan.models, plan.visitors, MOST_NAMED, models_of(plan.rounds))
    with hub_process(partial(repositories, models)) as hub:
        print(HEAD, flush=True)
        for name in names:
            for met in SCENARIOS[name](hub, plan):
                print(met.row(), flush=True)
                errors += met.kinds["error"]
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
