"""Builds every model type of the installed transformers and writes the cases.

    pip install -r bench/model_types/requirements.txt
    python -m bench.model_types.build [--only llama,bert] [--out FILE]

Without `--out` the set of the repository is written again; types named by `--only` replace theirs,
and the others stay.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import transformers

from bench.model_types.built_models import NotBuilt, build_case, model_types
from bench.model_types.cases import KEPT_CASES, Case, CaseSet, read_cases, write_cases


def main() -> None:
    parser = argparse.ArgumentParser(description="Build every model type and write the cases.")
    parser.add_argument("--only", default="", help="model types, between commas")
    parser.add_argument("--out", type=Path, default=KEPT_CASES)
    chosen = parser.parse_args()
    cases: dict[str, Case] = {}
    not_built: dict[str, str] = {}
    if chosen.only and chosen.out.exists():
        before = read_cases(chosen.out)
        cases.update((case.model_type, case) for case in before.cases)
        not_built.update(before.not_built)
    for model_type in chosen.only.split(",") if chosen.only else model_types():
        cases.pop(model_type, None)
        not_built.pop(model_type, None)
        try:
            cases[model_type] = build_case(model_type)
        except NotBuilt as error:
            not_built[model_type] = str(error)
            print(f"{model_type}: {error}", file=sys.stderr, flush=True)
    found = CaseSet(transformers.__version__, tuple(cases.values()), not_built)
    write_cases(found, chosen.out)
    print(f"{len(cases)} built, {len(not_built)} not")


if __name__ == "__main__":
    main()
