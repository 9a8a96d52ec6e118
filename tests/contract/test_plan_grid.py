"""Requests of every shape are planned as they were: by digest, or refused in the same words."""

from __future__ import annotations

import json

import pytest

from core.methods import registry
from tests.support.plan_grid import STORED, rows

AUTO = "auto"


@pytest.mark.audits
def test_a_grid_of_requests_is_planned_as_it_is_stored():
    stored = json.loads(STORED.read_text())
    assert set(stored) == {*registry.generators(), AUTO}
    assert sum(each["asked"] for each in stored.values()) >= 10_000
    assert rows() == stored
