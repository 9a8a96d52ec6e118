"""A topic that is added cannot be forgotten: every place that goes by topics is asked for each of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from core.outbox.models import Topic
from core.workflows.operations import gauges_work, leased, recover
from tests.support.world import ENDS
from worker import sandbox, work
from worker.app import PREFIX, app

app.loader.import_default_modules()  # as a worker does when it starts


def forgotten(topics: Iterable[str]) -> dict[str, set[str]]:
    """The topics that some place does not know, by place."""
    rows = {topic: leasing.kind for topic, leasing in leased.KINDS.items()}
    heard = str(gauges_work._HEARD)
    known = {
        "workers take it": set(work.KINDS),
        "its child can be started": {t for t, kind in work.KINDS.items() if kind.child in sandbox.KINDS},
        "lost work is taken back": {t for t in leased.KINDS if f"recover_lost_{t}" in recover.DUTIES},
        "Celery has a task": {name.removeprefix(PREFIX) for name in app.tasks if name.startswith(PREFIX)},
        "its workers are heard of": {t for t, kind in rows.items() if kind.model.__tablename__ in heard},
        "fault tests know its end": set(ENDS),
    }
    asked = set(topics)
    return {place: asked - {str(topic) for topic in found} for place, found in known.items()}


def test_every_topic_is_known_everywhere():
    assert not any(forgotten(Topic).values())


def test_a_topic_that_is_added_is_missed_everywhere():
    assert all(missed == {"added"} for missed in forgotten([*Topic, "added"]).values())


@pytest.mark.parametrize("topic", Topic)
def test_a_kind_is_the_same_to_workers_and_to_the_reaper(topic: Topic):
    assert work.KINDS[topic].leased is leased.KINDS[topic].kind
    assert leased.KINDS[topic].kind.topic is topic
