"""Answers of commands as JSON or with all details."""

from __future__ import annotations

import argparse

from gpusizer.api.answers import ANSWERS
from gpusizer.cli.details import details_text
from gpusizer.cli.output import print_json, print_text
from gpusizer.text import say_note


def print_document(record: object, arguments: argparse.Namespace) -> None:
    """Print an answer as JSON, or in full; `copies` of models belong to the full text."""
    document = ANSWERS[arguments.command].from_record(record, say_note).document()
    if arguments.json:
        print_json(document)
    else:
        print_text(details_text(document, copies=getattr(arguments, "copies", False)))
