"""The commands `size`, `gpus` and `compare`: each prints one answer, as JSON or as text."""

from __future__ import annotations

import argparse

from gpusizer.answers.sizer import Sizer
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.output import print_json, print_text
from gpusizer.cli.tables import comparison_text, listing_text, report_text
from gpusizer.text import say_note


def run_size(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `size MODEL`."""
    report = sizer.size(request_fields(arguments))
    if arguments.json:
        print_json(report.to_json(say_note))
    else:
        print_text(report_text(report))


def run_gpus(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `gpus [QUERY]`."""
    listing = sizer.gpus({**request_fields(arguments), "query": " ".join(arguments.query)})
    if arguments.json:
        print_json(listing.to_json(say_note))
    else:
        print_text(listing_text(listing))


def run_compare(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `compare GPU GPU …`; with `--model` it also prints how the model runs on each."""
    fields = {**request_fields(arguments), "gpus": arguments.gpus}
    comparison = sizer.compare(fields)
    if arguments.json:
        print_json(comparison.to_json(say_note))
    else:
        print_text(comparison_text(comparison))
