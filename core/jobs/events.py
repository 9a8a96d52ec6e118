"""Progress that a caller may see. It is a stage from a plain vocabulary of names, and two step counts.

Stages are numbered together with the states that the job comes to, which a trigger of the database records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from core.errors import InvalidInput
from core.jobs import repository

STAGE = re.compile(r"[a-z][a-z_ -]{0,63}")
MAX_STEPS = 2**53


class Step(NamedTuple):
    """How far a stage is: ``done`` of ``total`` steps."""

    stage: str
    done: int
    total: int


def record(session: Session, job_id: str, steps: Sequence[Step], *, limit: int) -> None:
    """Record the job's next events, in order. Nothing is recorded once the job has ``limit`` stages.

    The caller holds the job's row.
    Raises what :func:`check` does.
    """
    for step in steps:
        check(*step)
    events, stages = repository.count_events(session, job_id)
    for number, step in enumerate(steps[: max(limit - stages, 0)], start=events + 1):
        repository.add_event(session, job_id, sequence=number, **step._asdict())


def check(stage: str, done: int, total: int) -> None:
    """Refuse a stage that is no plain name. InvalidInput: digits or free text could carry data."""
    if not STAGE.fullmatch(stage):
        raise InvalidInput("A stage is a name of lower-case letters.", field="stage")
    if not 0 <= done <= MAX_STEPS or not 0 <= total <= MAX_STEPS:
        raise InvalidInput("Step counts lie between 0 and 2**53.", field="done")
