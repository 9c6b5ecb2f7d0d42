"""What stands in JSON for one part of an answer, for tests that look at parts."""

from __future__ import annotations

import json
from typing import Any

from gpusizer.core.messages import Say
from gpusizer.usecases.json_shapes import shape


def document(value: object, say: Say) -> dict[str, Any]:
    """The part as plain values, as it would stand in an answer."""
    text = json.dumps(value, default=lambda part: shape(part, say))
    written: dict[str, Any] = json.loads(text)
    return written
