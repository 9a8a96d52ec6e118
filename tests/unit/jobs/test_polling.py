"""Pauses between polls: short at first, a sixth of what was waited, half a minute at most."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core import clock
from core.settings import Settings
from core.workflows.common.polling import MOST_SECONDS, pause_seconds

BEGAN = datetime(2026, 3, 4, tzinfo=UTC)


@pytest.fixture
def settings() -> Settings:
    return Settings(poll_after_seconds=2)


def polls(settings: Settings, seconds: float, monkeypatch: pytest.MonkeyPatch) -> tuple[int, float]:
    """How often somebody asks who heeds every pause, until the job has ended; and how late the last is."""
    count, waited = 0, 0.0
    while True:
        monkeypatch.setattr(clock, "now", lambda: BEGAN + timedelta(seconds=waited))  # noqa: B023
        count += 1
        if waited >= seconds:
            return count, waited - seconds
        waited += pause_seconds(settings, BEGAN)


@pytest.mark.parametrize(("seconds", "most"), [(3, 3), (67, 20), (3_600, 150)])
def test_a_long_job_is_asked_about_less_often(settings, monkeypatch, seconds, most):
    count, late = polls(settings, seconds, monkeypatch)
    assert count <= most
    assert late <= max(settings.poll_after_seconds, min(MOST_SECONDS, seconds / 5))


def test_clocks_that_differ_do_not_make_it_shorter(settings, monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: BEGAN - timedelta(minutes=5))
    assert pause_seconds(settings, BEGAN) == 2


def test_a_longer_setting_stays(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: BEGAN + timedelta(hours=2))
    assert pause_seconds(Settings(poll_after_seconds=90), BEGAN) == 90
