"""Which work needs an ability. It has the SQL of :mod:`core.workflows.jobs.abilities`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, String, case, cast, literal, null, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.audits.models import Audit
from core.evaluation.metric import Suite
from core.jobs.models import Job
from core.methods import registry
from core.outbox.models import Topic
from core.privacy.accounting.audited import MECHANISMS
from core.privacy.accounting.plan import DECLARED

FULL_SUITE = f"suite:{Suite.FULL}"
"""Learned comparisons of a release with its original."""
TRAINED_AUDIT = "dp_sgd"
AUDITED_TRAINING = f"audit:{TRAINED_AUDIT}"
"""The audit of the mechanism that trains."""


def common() -> frozenset[str]:
    """Name what every worker of this version has: common methods, and declarations."""
    return registry.common() | {DECLARED}


def of_job() -> ColumnElement[Any]:
    """State the ability that a job's run needs. It is a column about a job; NULL where every worker has
    it."""
    return case((Job.method.in_(common()), null()), else_=Job.method)


def _of_audit() -> ColumnElement[Any]:
    plain = registry.common().union(MECHANISMS) - {TRAINED_AUDIT}
    return case(
        (Audit.method.in_(plain), null()),
        (Audit.method == TRAINED_AUDIT, literal(AUDITED_TRAINING)),
        else_=Audit.method,
    )


def _of_suite() -> ColumnElement[Any]:
    return case((Job.spec["suite"].astext == str(Suite.FULL), literal(FULL_SUITE)), else_=null())


def needs(topic: Topic) -> Any:
    """Select ids and abilities of the topic's work. Not every worker can do what is selected; None where
    every one can."""
    rows: dict[Topic, tuple[Any, ColumnElement[Any]]] = {
        Topic.RUN: (Job.id, of_job()),
        Topic.EVALUATE: (Job.id, _of_suite()),
        Topic.AUDIT: (Audit.id, _of_audit()),
    }
    if topic not in rows:
        return None
    row_id, ability = rows[topic]
    return select(row_id.label("id"), cast(ability, String).label("ability")).where(ability.is_not(None))


def needed(session: Session, topic: Topic, ids: set[str]) -> dict[str, str]:
    """Find the ability that each piece of work needs. They are those that not every worker can do."""
    wanting = needs(topic)
    if wanting is None or not ids:
        return {}
    rows = wanting.subquery()
    found = session.execute(select(rows.c.id, rows.c.ability).where(rows.c.id.in_(ids)))
    return {row_id: str(ability) for row_id, ability in found}


def has_method(able: frozenset[str]) -> ColumnElement[bool]:
    """State that a worker has the job's method. It is a condition: the method is one of what a worker can
    do."""
    return Job.method.in_(able)


def within(topic: Topic, row_id: InstrumentedAttribute[str], able: frozenset[str]) -> ColumnElement[bool]:
    """State that a worker's abilities suffice for the work. It is a condition about work of the topic, by the
    column of its id."""
    rows = needs(topic).subquery()
    return row_id.not_in(select(rows.c.id).where(rows.c.ability.not_in(able)))
