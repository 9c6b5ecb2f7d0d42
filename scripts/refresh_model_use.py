"""Write the use of the embedded models to `data/generated/model_use.csv`.

    python -m scripts.refresh_model_use

Asks the Hub at HF_ENDPOINT, anonymously, one request of its API for each embedded model (the Hub
allows 500 in 5 minutes: docs/hub/rate-limits). A model that cannot be read keeps its row.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from urllib.parse import urlencode

from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from gpusizer.core.loose_values import read_day
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.settings import Settings
from gpusizer.text import say_error
from gpusizer.usecases.models_for.live_use import COLUMNS, ModelUse, embedded_use
from scrapers.cache.stored import EmbeddedSnapshots
from scrapers.client.failures import HubResource
from scrapers.client.http import HubSession
from scrapers.client.http_response import HubRequest
from scrapers.client.hub_api import parse_answer, read_count
from scrapers.client.read_budget import ReadBudget
from scrapers.limits import Limits

_EXPANDED = ("downloads", "likes", "createdAt")


def main(argv: Sequence[str]) -> int:
    """Write the table; return 1 if a model could not be read, else 0."""
    parser = argparse.ArgumentParser(prog="python -m scripts.refresh_model_use")
    parser.add_argument("--date", type=date.fromisoformat, default=date.today(), help="as_of")
    parser.add_argument(
        "--output", type=Path, default=GENERATED_DIR, help="default: data/generated"
    )
    arguments = parser.parse_args(argv)
    settings = Settings.from_environment(os.environ)
    uses = embedded_use(arguments.output)
    failures = 0
    repo_ids = EmbeddedSnapshots(settings.snapshots_folder).ids()
    with HubSession(settings.endpoint, cdn_origins=settings.cdn_origins) as session:
        for repo_id in repo_ids:
            try:
                uses[repo_id.casefold()] = read_use(session, repo_id, arguments.date)
            except ModelUnreadable as error:
                failures += 1
                print(f"{repo_id}: {say_error(error)}", file=sys.stderr)
    write(repo_ids, uses, arguments.output)
    return 1 if failures else 0


def read_use(session: HubSession, repo_id: str, day: date) -> ModelUse:
    """Read the use of a model from the Hub. Raises ModelUnreadable."""
    url = f"{session.endpoint}/api/models/{repo_id}"
    query = urlencode([("expand", name) for name in _EXPANDED])
    budget = ReadBudget(repo_id, Limits())
    body = session.get(
        HubRequest(f"{url}?{query}", HubResource(repo_id), "info_bytes"), budget
    ).body
    answer = parse_answer(body, budget)
    if not isinstance(answer, dict):
        raise HubUnreachable(repo_id=repo_id, reason="unexpected_answer")
    return ModelUse(
        created=read_day(answer.get("createdAt"), day),
        downloads=read_count(answer.get("downloads")),
        likes=read_count(answer.get("likes")),
        as_of=day,
        source=url,
    )


def write(repo_ids: Iterable[str], uses: dict[str, ModelUse], output: Path) -> None:
    """Write a row for each model with known use."""
    with (output / "model_use.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for repo_id in repo_ids:
            use = uses.get(repo_id.casefold())
            if use is not None:
                figures = (use.created, use.downloads, use.likes, use.as_of, use.source)
                table.writerow([repo_id, *("" if value is None else value for value in figures)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
