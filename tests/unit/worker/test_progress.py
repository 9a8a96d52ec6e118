"""What a child tells of its progress depends on its counts alone, never on how long a step took."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from worker.sandbox import Channel


def told(path: Path, steps: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """What reaches the supervisor of these steps."""
    events, answers = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), os.open(os.devnull, os.O_RDONLY)
    channel = Channel(events, answers)
    for stage, done, total in steps:
        channel.progress(stage, done, total)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(line["stage"], line["done"], line["total"]) for line in lines]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands where its one entry says."""
    now = [0.0]
    for name in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, name, lambda: now[0])
    return now


def test_which_steps_are_told_does_not_depend_on_how_long_each_took(
    tmp_path: Path, clock: list[float]
) -> None:
    def steps(slow: int) -> Iterable[tuple[str, int, int]]:
        for done in range(61):
            yield "fit", done, 60
            clock[0] += 10.0 if done == slow else 0.0

    assert told(tmp_path / "a", steps(23)) == told(tmp_path / "b", steps(41))


def test_a_stage_is_told_at_its_start_its_end_and_every_twentieth(tmp_path: Path) -> None:
    steps = [("load", 0, 1), ("load", 1, 1), *(("fit", done, 1000) for done in range(1001)), ("load", 0, 1)]
    assert told(tmp_path / "a", steps) == [
        ("load", 0, 1),
        ("load", 1, 1),
        *(("fit", done, 1000) for done in range(0, 1001, 50)),
        ("load", 0, 1),
    ]


def test_a_stage_without_steps_is_told_once(tmp_path: Path) -> None:
    assert told(tmp_path / "a", [("fit", 0, 0), ("fit", 0, 0)]) == [("fit", 0, 0)]
