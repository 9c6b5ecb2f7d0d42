"""Tells of a failed command: on standard error, and as an error object where JSON is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gpusizer.answers.report import error_json
from gpusizer.cli.output import print_json
from gpusizer.core.errors import GatedModel, GpusizerError, ModelNotFound, PrivateOrMissing
from gpusizer.core.printable import printable
from gpusizer.text import say_error, text

_WITHOUT_ACCESS = (ModelNotFound, PrivateOrMissing, GatedModel)


def tell_failure(error: GpusizerError, argv: Sequence[str], model: str | None) -> int:
    """Print the failure and return its exit code."""
    message = say_error(error)
    if "--json" in argv or argv[:1] == ["batch"]:
        print_json(error_json(error, message, model))
    print(printable(f"gpusizer: {message}"), file=sys.stderr)
    if isinstance(error, _WITHOUT_ACCESS):
        print(text("error.shell_without_access", "en"), file=sys.stderr)
    return error.exit_code
