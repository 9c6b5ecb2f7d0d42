"""A load: requests that a server is asked to answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServingLoad:
    """Requests of one length: `users` who each wait for their answer, or `requests_per_second`
    at random times. One of the two is None.

    Attributes:
        prompt, answer: tokens of a request.
        shared: of the prompt, those that all requests begin with, which engines for servers keep.
    """

    users: int | None
    requests_per_second: float | None
    prompt: int
    answer: int
    shared: int = 0
