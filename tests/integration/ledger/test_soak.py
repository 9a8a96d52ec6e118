"""A short soak of a stream's account; ``benchmarks.ledger_soak`` runs the full one."""

from __future__ import annotations

import pytest

from benchmarks.ledger_soak import CHUNK, SHARE, soak


@pytest.mark.slow  # twenty seconds of two processes; races and the state machine run every time
def test_two_processes_fill_every_window_and_none_overflows(database_url: str) -> None:
    stages = list(soak(database_url, ticks=4 * CHUNK, window=7, stage=2 * CHUNK, stretch=5))
    assert [stage["ticks"] for stage in stages] == [2 * CHUNK, 4 * CHUNK]
    for stage in stages:
        assert stage["fullest_window"] == stage["capacity"] == 7 * SHARE
        outcomes = stage["outcomes"]
        assert min(outcomes[name] for name in ("charged", "forfeited", "given back", "refused")) > 0
        assert outcomes["contest won"] == outcomes["contest lost"] == 2
    assert "milliseconds_per_tick_alone" in stages[0]
    assert "milliseconds_per_tick_stretch" in stages[1]
    assert stages[-1]["chain_walked"]


def test_a_soak_refuses_what_its_processes_cannot_share(database_url: str) -> None:
    with pytest.raises(ValueError, match="whole chunks"):
        next(soak(database_url, ticks=100, window=7, stage=100))
