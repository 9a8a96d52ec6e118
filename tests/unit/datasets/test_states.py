"""The table of what may happen to datasets and versions."""

from __future__ import annotations

from itertools import product

import pytest

from core.datasets.models import Dataset, DatasetState, DatasetVersion, VersionState
from core.datasets.service import STEPS, Event, apply
from core.errors import InvalidTransition

D, V = DatasetState, VersionState


def test_every_event_has_a_step() -> None:
    assert set(STEPS) == set(Event)


@pytest.mark.parametrize(("event", "state"), list(product(Event, DatasetState)))
def test_what_is_not_in_the_table_is_refused(event: Event, state: DatasetState) -> None:
    dataset = Dataset(id="ds_1", state=state)
    if state in STEPS[event].dataset:
        apply(event, dataset)
        assert dataset.state == STEPS[event].dataset[state]
    else:
        with pytest.raises(InvalidTransition) as refused:
            apply(event, dataset)
        assert dataset.state == state
        assert refused.value.members == {"state": str(state)}


def test_a_refused_version_leaves_the_dataset_alone() -> None:
    dataset, version = Dataset(state=D.VALIDATING), DatasetVersion(state=V.QUEUED)
    with pytest.raises(InvalidTransition):
        apply(Event.ACCEPTED, dataset, version)
    assert (dataset.state, version.state) == (D.VALIDATING, V.QUEUED)


def test_nothing_follows_archiving() -> None:
    assert all(D.ARCHIVED not in step.dataset for step in STEPS.values())
    assert all(V.ERASED not in step.version for event, step in STEPS.items() if event is not Event.ARCHIVED)


def test_a_ready_dataset_stays_ready_until_it_is_archived() -> None:
    leaves = {event for event, step in STEPS.items() if step.dataset.get(D.READY, D.READY) != D.READY}
    assert leaves == {Event.ARCHIVED}


def test_every_state_can_be_reached_and_archived() -> None:
    reached = {D.REGISTERED}
    while more := {s.dataset[d] for s in STEPS.values() for d in reached if d in s.dataset} - reached:
        reached |= more
    assert reached == set(D)
    assert set(STEPS[Event.ARCHIVED].dataset) == set(D) - {D.ARCHIVED}


def test_unknown_states_are_errors() -> None:
    with pytest.raises(ValueError, match="melted"):
        apply(Event.ARCHIVED, Dataset(state="melted"))
