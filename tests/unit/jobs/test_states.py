"""The table of job states."""

from __future__ import annotations

import itertools

import pytest

from core.errors import InvalidTransition
from core.jobs.models import JobState
from core.jobs.states import LEASED, TERMINAL, TRANSITIONS, check


def test_every_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(JobState)


def test_only_what_is_in_the_table_is_allowed() -> None:
    for current, following in itertools.product(JobState, JobState):
        if following in TRANSITIONS[current]:
            check(current, following)
        else:
            with pytest.raises(InvalidTransition):
                check(current, following)


def test_ended_jobs_stay_as_they_are() -> None:
    ended = {JobState.PUBLISHED, JobState.FAILED, JobState.CANCELLED, JobState.REJECTED}
    assert ended == TERMINAL
    assert not LEASED & TERMINAL


def test_every_state_leads_to_an_end_and_a_charge_to_publication_alone() -> None:
    for state in JobState:
        reached, frontier = {state}, {state}
        while frontier:
            frontier = {f for s in frontier for f in TRANSITIONS[s]} - reached
            reached |= frontier
        assert reached & TERMINAL
    assert TRANSITIONS[JobState.PUBLISHING] == {JobState.PUBLISHED}


def test_an_unknown_state_is_refused() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        check("nowhere", JobState.QUEUED)
