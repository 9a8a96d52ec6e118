"""What an event stream tells besides a job's steps."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from api.schemas.common import Answer
from api.schemas.jobs import CURATORS, STATES


class StateChange(Answer):
    """The job came to this state."""

    sequence: int = Field(description="Steps and states of a job share one numbering.")
    state: str = Field(description=STATES)
    created_at: datetime | None = Field(description=CURATORS)


class End(Answer):
    """Nothing follows: the job has ended."""

    state: str = Field(description="published, failed, cancelled or rejected.")
