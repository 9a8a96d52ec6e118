"""Jobs that another version of the service has stored: an earlier one, or a later one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from core.jobs.models import Job, JobState
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.specs import spec_of
from core.workflows.jobs import queries
from core.workflows.jobs.samples import SampleRequest, submit_sample
from tests.support.world import CALLER, Piece, World, open_world

NEWER_KEYS = ("named_links", "derived", "chosen_because")
"""What the first version did not write; of a snapshot none before this one wrote the first."""


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    found = open_world(settings)
    yield found
    found.close()


def rewrite(world: World, piece: Piece, **added: Any) -> None:
    """The job's stored spec has the keys that the first version wrote, and what is added."""
    with world.services.db.transaction() as session:
        row = session.get_one(Job, piece.subject_id)
        release = {name: value for name, value in row.spec["release"].items() if name not in NEWER_KEYS}
        row.spec = row.spec | {"release": release | added}


def test_jobs_snapshots_and_samples_of_the_old_form_are_read_published_and_compared(world: World) -> None:
    first, snapshot = world.job(), world.tick()
    rewrite(world, first)
    rewrite(world, snapshot)
    assert world.work(first)
    made, _ = submit_sample(
        world.services, CALLER, first.subject_id, SampleRequest(suite="quick"), secrets.token_hex(8)
    )
    further = Piece(Topic.RUN, made.id)
    rewrite(world, further)
    for piece in (snapshot, further):
        before = queries.get_job(world.services, CALLER, piece.subject_id)
        assert world.work(piece)
        after = queries.get_job(world.services, CALLER, piece.subject_id)
        assert (before.state, after.state) == (JobState.QUEUED, JobState.PUBLISHED)
        assert (before.epsilon, before.stream_id, before.step, before.sample_of) == (
            after.epsilon,
            after.stream_id,
            after.step,
            after.sample_of,
        )
    for piece in (first, snapshot, further):
        assert world.work(Piece(Topic.EVALUATE, piece.subject_id))
        assert world.state(Piece(Topic.EVALUATE, piece.subject_id)) == "done"
        assert world.flaws() == []
    seen = [queries.get_job(world.services, CALLER, each.subject_id) for each in (first, snapshot, further)]
    assert [(each.stream_id, each.step, each.sample_of) for each in seen] == [
        (None, None, None),
        (world.stream.id, 0, None),
        (None, None, first.subject_id),
    ]
    assert [spec_of(world.row(each)).release.chosen_because for each in (first, snapshot)] == [None, None]


@pytest.mark.parametrize("make", ["job", "snapshot"])
def test_a_job_that_asks_for_what_only_a_later_version_knows_is_shown_and_fails_at_no_cost(
    world: World, make: str
) -> None:
    piece = world.kinds[make]()
    rewrite(world, piece, of_next_year=True)
    assert queries.get_job(world.services, CALLER, piece.subject_id).state == JobState.QUEUED
    assert world.work(piece)
    row = world.row(piece)
    assert (row.state, row.first_read_at) == (JobState.FAILED, None)
    assert world.entries(piece.subject_id) == ["reserve", "release"]
    assert world.flaws(piece) == []
