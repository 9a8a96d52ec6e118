"""Which traces jobs belong to: the traceparents that their submissions left with them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.jobs.models import Job


def traceparents(session: Session, job_ids: Collection[str]) -> dict[str, str]:
    """Those of the jobs that have any, by job id."""
    asked = select(Job.id, Job.traceparent).where(Job.id.in_(job_ids), Job.traceparent.is_not(None))
    return {job_id: str(traceparent) for job_id, traceparent in session.execute(asked)}
