"""Which work a worker takes next. :mod:`core.jobs.turns` has the rule."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Select, false, literal, or_, select, union_all

from core.audits import repository as audits
from core.audits.models import AuditState
from core.datasets import repository as datasets
from core.datasets import sensitive_repository as lists
from core.datasets.models import ListState, VersionState
from core.identity.service import Principal
from core.jobs import repository, turns
from core.jobs import shard_repository as shards
from core.jobs.models import EvaluationState, Job, ShardState
from core.jobs.repository import Standing
from core.outbox import repository as outbox
from core.outbox.models import Topic
from core.streams import repository as streams
from core.workflows.common.context import Services
from core.workflows.jobs import abilities, abilities_repository

Rows = Select[str, str, datetime]
# What waits, and what a worker holds, of each topic. Topics whose messages share a queue share a desk.
DESKS: dict[str, dict[Topic, tuple[Rows, Rows]]] = {
    "uploads": {
        Topic.INGEST: (
            datasets.versions_in(VersionState.QUEUED),
            datasets.versions_in(VersionState.VALIDATING),
        ),
        Topic.LINKS: (lists.lists_in(ListState.QUEUED), lists.lists_in(ListState.CHECKING)),
    },
    "shards": {
        Topic.SHARD: (shards.shards_in(ShardState.WAITING), shards.shards_in(ShardState.DRAWING)),
    },
    "checks": {
        Topic.EVALUATE: (
            repository.evaluations_in(EvaluationState.PENDING),
            repository.evaluations_in(EvaluationState.RUNNING),
        ),
        Topic.AUDIT: (audits.audits_in(AuditState.QUEUED), audits.audits_in(AuditState.RUNNING)),
    },
}


def next_work(
    services: Services,
    topic: Topic,
    passed_over: Collection[str] = (),
    *,
    gpu_only: bool = False,
    ability: str | None = None,
) -> tuple[Topic, str] | None:
    """Find the work that is next. Work of the topic waits; it may be of a topic next to it.

    Without what is ``passed_over``; None when none can be claimed. It is not held, as in :func:`next_job`,
    where ``gpu_only`` and ``ability`` are explained.
    """
    for desk, topics in DESKS.items():
        if topic in topics:
            # Over all topics of the desk: what a tenant holds of one counts against its turn at the others.
            held = union_all(*(held for _, held in topics.values())).subquery()
            waiting = union_all(*(_waiting(each, topics[each][0], passed_over, ability) for each in topics))
            with services.db.transaction() as session:
                found = turns.serve(session, desk, waiting=waiting.subquery(), held=held)
            return None if found is None else (Topic(found[0]), found[1])
    job_id = next_job(services, passed_over, gpu_only=gpu_only, ability=ability)
    return None if job_id is None else (Topic.RUN, job_id)


def _waiting(
    topic: Topic, waits: Rows, passed_over: Collection[str], ability: str | None
) -> Select[str, str, str, datetime]:
    rows = waits.subquery()
    found = select(literal(str(topic)).label("topic"), rows.c.id, rows.c.tenant, rows.c.created_at)
    wanting = abilities_repository.needs(topic)
    if wanting is not None:
        needy = wanting.subquery()
        if ability is None:
            # Without an ability: what needs one is left to the workers that have it.
            found = found.where(rows.c.id.not_in(select(needy.c.id)))
        else:
            found = found.where(rows.c.id.in_(select(needy.c.id).where(needy.c.ability == ability)))
    elif ability is not None:
        # Nothing of this topic needs an ability, so that one finds nothing here.
        found = found.where(false())
    return found.where(rows.c.id.not_in(passed_over), rows.c.id.not_in(outbox.not_yet_due(topic)))


def next_job(
    services: Services,
    passed_over: Collection[str] = (),
    *,
    gpu_only: bool = False,
    ability: str | None = None,
) -> str | None:
    """Find the job that is next. It is without those that are ``passed_over``; None when none can be claimed.

    Of those that only a worker with a GPU may claim (``gpu_only``), of those that need the ``ability``, or of
    those that any worker may claim. It is not held: of two workers that look at once, one claims it, and the
    other looks again. So each sees what the ones before it run.
    """
    with services.db.transaction() as session:
        but = or_(not_its_turn(passed_over), _not_by(gpu_only, ability))
        return turns.next_id(session, but=but, gpu_only=gpu_only)


def _not_by(gpu_only: bool, ability: str | None) -> ColumnElement[bool]:
    """About a job: its method is not one of those that are looked for."""
    if gpu_only:
        return ~abilities.may_run()
    if ability is None:
        return Job.method.not_in(abilities_repository.common())
    return Job.method != ability


def not_its_turn(passed_over: Collection[str] = ()) -> ColumnElement[bool]:
    """State that the job is not next. It is a condition about a job: it is passed over, waits for an earlier
    snapshot, or pauses after it was handed back."""
    return or_(
        Job.id.in_(passed_over),
        Job.id.in_(streams.held_up()),
        Job.id.in_(outbox.not_yet_due(Topic.RUN)),
    )


def standing(services: Services, principal: Principal) -> Standing:
    """Count the caller's jobs that have not ended."""
    with services.db.transaction() as session:
        return repository.standing(session, tenant=principal.tenant, key_id=principal.key_id)
