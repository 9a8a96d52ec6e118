"""Children of one fork server draw differently, from every source that there is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support import children
from tests.support.children import served_by

# Everything was drawn from before the fork: what has a state has it then, and a copy of it would be seen.
BEFORE = """
import json, numpy
from tests.support import first_draws
KEPT = numpy.random.default_rng()
first_draws.draws()
"""
PROGRAM = "print(json.dumps(first_draws.draws() | {'kept': repr(KEPT.bytes(16))}))"


@pytest.mark.faults
@pytest.mark.parametrize(
    "forks", [8, pytest.param(1_000, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)])]
)
def test_no_two_children_draw_the_same_from_any_source(forks: int, tmp_path: Path) -> None:
    drawn = []
    with served_by(PROGRAM, before=BEFORE, preload=True):
        for _ in range(forks):
            done = children.ended(tmp_path)
            assert done.code == 0, done.output
            drawn.append(json.loads(done.output))
    different = Counter({source: len({each[source] for each in drawn}) for source in drawn[0]})
    assert different.pop("kept") == 1, "a generator that is kept over a fork would not be noticed"
    assert set(different.values()) == {forks}, different
    assert len(different) >= 19
