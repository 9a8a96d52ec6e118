"""Whose turn it is. It is the order in which work that waits is claimed, and how many jobs may wait.

The rule, first to last:

1. a job that pays before a free sample of a published model;
2. the tenant with the fewest jobs in the hands of workers;
3. of those, the tenant whose latest job began longest ago, or that has had none;
4. of its jobs, the oldest.

Jobs that only a worker with a GPU may claim are a queue of their own, by the same rule, and so are those of
each method that not every worker has: no queue is looked into for another's sake.

So a tenant waits for no more than the running jobs and one job of each other tenant, however many another has
queued. All of it is public: what is counted is jobs and times that callers see by polling.

Uploads, and what looks at releases afterwards, are claimed by 2 to 4, at a desk of their own each. There the
time at which a tenant was last served is written down (:class:`Turn`), and a turn costs O(n) for n that wait.

Of jobs, every step is a look into an index. Tenants that have some waiting are found by leaping from one to
the next, so that a turn costs O(t log n) for t such tenants among n jobs; what ``but`` leaves out comes on
top where it stands before a tenant's oldest job that it does not.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, func, or_, select, text, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.jobs.models import (
    GPU_AND_QUEUED,
    LEASED_JOB,
    PAID_AND_QUEUED,
    SAMPLE_AND_QUEUED,
    Job,
    Turn,
)


def fairest(*, waiting: str, but: ColumnElement[bool]) -> Select[Any]:
    """Select the id of the job whose turn it is. It is among those that wait.

    ``waiting``: which do, a condition that an index has. ``but``, about a job: of those whose turn it cannot
    be.
    """
    waits = text(waiting)
    # From tenant to tenant by leaps in the index: each step asks for the next name,
    # however many jobs the last one has (PostgreSQL plans no such scan by itself).
    tenants = select(func.min(Job.tenant).label("tenant")).where(waits).cte("waiting", recursive=True)
    following = select(func.min(Job.tenant)).where(waits, Job.tenant > tenants.c.tenant)
    # After the last tenant comes a NULL, at which the leaps end.
    tenants = tenants.union_all(select(following.scalar_subquery()).where(tenants.c.tenant.is_not(None)))
    running = select(func.count()).where(text(LEASED_JOB), Job.tenant == tenants.c.tenant)
    began = select(func.max(Job.started_at)).where(
        Job.started_at.is_not(None), Job.tenant == tenants.c.tenant
    )
    oldest = (
        select(Job.id, Job.created_at)
        .where(waits, Job.tenant == tenants.c.tenant, ~but)
        .order_by(Job.created_at, Job.id)
        .limit(1)
        .lateral("oldest")
    )
    return (
        select(oldest.c.id)
        .select_from(tenants)
        .join(oldest, true())
        .order_by(
            running.scalar_subquery(),
            # Whoever was never served comes first.
            began.scalar_subquery().asc().nulls_first(),
            oldest.c.created_at,
            oldest.c.id,
        )
        .limit(1)
    )


def next_id(session: Session, *, but: ColumnElement[bool], gpu_only: bool = False) -> str | None:
    """Find the job whose turn it is. Those of which ``but`` is true are left out; None when none waits.

    Of those that wait for a GPU (``gpu_only``), or of the others.
    """
    if gpu_only:
        return session.scalars(fairest(waiting=GPU_AND_QUEUED, but=but)).one_or_none()
    but = or_(but, Job.gpu_only)
    paid = session.scalars(fairest(waiting=PAID_AND_QUEUED, but=but)).one_or_none()
    return paid or session.scalars(fairest(waiting=SAMPLE_AND_QUEUED, but=but)).one_or_none()


def serve(session: Session, desk: str, *, waiting: FromClause, held: FromClause) -> tuple[str, str] | None:
    """Serve the tenant whose turn it is at the desk. Returned are topic and id of its work; None when none
    waits.

    ``waiting`` has the columns ``topic``, ``id``, ``tenant``, ``created_at``, and ``held`` the ``tenant`` of
    each piece of work at the desk that is in the hands of a worker.
    """
    running = select(held.c.tenant, func.count().label("count")).group_by(held.c.tenant).subquery()
    turn = (
        select(waiting.c.topic, waiting.c.id, waiting.c.tenant)
        .outerjoin(running, running.c.tenant == waiting.c.tenant)
        .outerjoin(Turn, (Turn.tenant == waiting.c.tenant) & (Turn.desk == desk))
        .order_by(
            func.coalesce(running.c.count, 0),
            Turn.served_at.asc().nulls_first(),
            waiting.c.created_at,
            waiting.c.id,
        )
        .limit(1)
    )
    found = session.execute(turn).one_or_none()
    if found is None:
        return None
    # Not now(): turns in transactions that began together must not be of one moment.
    served = insert(Turn).values(desk=desk, tenant=found.tenant, served_at=func.clock_timestamp())
    again = {"served_at": served.excluded.served_at}
    session.execute(served.on_conflict_do_update(index_elements=[Turn.desk, Turn.tenant], set_=again))
    return found.topic, found.id
