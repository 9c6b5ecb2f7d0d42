"""A day shortly after the newest prices in the data, so that no answer depends on today's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, tzinfo

import pytest

from gpusizer.gpus import purchase

PRICED_DAY = date(2026, 11, 22)


@pytest.fixture
def priced_day(monkeypatch: pytest.MonkeyPatch) -> Iterator[date]:
    """Let prices be judged on PRICED_DAY."""
    set_day(monkeypatch, PRICED_DAY)
    yield PRICED_DAY


def set_day(monkeypatch: pytest.MonkeyPatch, day: date) -> None:
    """Let prices be judged on a day."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(day.year, day.month, day.day, tzinfo=tz or UTC)

    monkeypatch.setattr(purchase, "datetime", Clock)
