"""What the command line shows on a terminal of 80 columns."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from core.ids import new_id
from core.jobs.models import JobReason, JobState
from core.methods.registry import generators
from graphveil.cli import render


def listed(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> list[str]:
    job = {
        "id": new_id("job"),
        "created_at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "method": max(generators(), key=len),
        "epsilon": "0.123456789",
        "state": max(JobState, key=len).value,
        "reason": None,
        "label": None,
    } | changed
    monkeypatch.setattr(render.out, "width", 80, raising=False)
    with render.out.capture() as shown:
        render.jobs([SimpleNamespace(**job)])  # type: ignore[list-item]
    assert job["id"] in shown.get()
    return shown.get().splitlines()


def test_the_widest_job_stands_on_two_lines_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = listed(monkeypatch, reason=max(JobReason, key=len).value, label="flights")
    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].endswith(max(JobState, key=len).value)
    assert "epsilon 0.123456789" in lines[1]


def test_what_a_job_has_not_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    assert listed(monkeypatch, method="dcsbm", epsilon="1")[1] == "    dcsbm, epsilon 1"
