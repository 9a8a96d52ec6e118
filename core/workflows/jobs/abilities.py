"""What workers can do, and which of them may do what.

Every worker has the engine's common methods. Others need libraries that only some images have, or another
package, as do learned comparisons and audits: each such need is an ability, named by its method or, of what
is no method, as below. Workers tell theirs; what none has is refused when it is planned, and a job whose
method's last worker has gone fails with its budget returned. While no worker has told anything, nothing is
refused: jobs wait for the first.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.errors import WorkerMissing
from core.evaluation.metric import LEARNED_NEEDS, Suite
from core.jobs import repository
from core.jobs.models import JobReason, JobState
from core.methods import registry
from core.methods.base import Method
from core.outbox.models import Topic
from core.privacy.accounting.audited import MECHANISMS
from core.workers import repository as workers
from core.workflows.common.context import Services
from core.workflows.common.sweeps import sweep
from core.workflows.jobs import abilities_repository
from core.workflows.jobs.abilities_repository import (
    AUDITED_TRAINING,
    FULL_SUITE,
    TRAINED_AUDIT,
)
from core.workflows.releases import settle

ACTOR = "reaper"
ADD = "start a worker of the image graphveil-worker-papers"


def here() -> frozenset[str]:
    """Name what this process could do."""
    able = set(registry.runnable()) | abilities_repository.common()
    if not registry.missing(LEARNED_NEEDS):
        able.add(FULL_SUITE)
    if registry.installed("torch"):
        able.add(AUDITED_TRAINING)
    return frozenset(able)


def beyond() -> frozenset[str]:
    """Name what this process could do that not every worker can."""
    return here() - abilities_repository.common()


def of_audit(method: str) -> str:
    """Name the ability that an audit of the method or mechanism needs."""
    return AUDITED_TRAINING if method == TRAINED_AUDIT else method


class OfWorkers:
    """What the service's workers can do. It is looked up when it is first needed, and then known."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asked = False
        self._told: frozenset[str] | None = None

    def __contains__(self, ability: object) -> bool:
        if ability in abilities_repository.common():
            return True
        if not self._asked:
            self._told, self._asked = workers.abilities(self._session), True
        return self._told is None or ability in self._told

    def refusal(self, generator: Method) -> WorkerMissing:
        """Say that no worker has the method, and what helps."""
        return self._missing(f"the method {generator.name}", "name another method")

    def require_suite(self, suite: Suite) -> None:
        """Raise WorkerMissing where no worker can compare by the suite."""
        if suite is Suite.FULL and FULL_SUITE not in self:
            raise self._missing("the learned comparisons of the suite full", "ask for standard")

    def require_audit(self, method: str) -> None:
        """Raise WorkerMissing where no worker can run the audit of the method."""
        plain = method in MECHANISMS and method != TRAINED_AUDIT
        if not plain and of_audit(method) not in self:
            raise self._missing(f"what an audit of {method} runs", "audit another method")

    def _missing(self, what: str, instead: str) -> WorkerMissing:
        return WorkerMissing(f"No worker has {what} at present: {instead}, or {ADD}.")


def may_run() -> ColumnElement[bool]:
    """State that this process has the job's method."""
    return abilities_repository.has_method(here())


def fit(topic: Topic, row_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """State that this process can do the work. It is a condition about work of the topic, by the column of
    its id."""
    return abilities_repository.within(topic, row_id, here())


def give_up_methods(services: Services) -> int:
    """Fail jobs that wait for a missing method. No worker has it any more."""
    with services.db.transaction() as session:
        available = workers.abilities(session)
        if available is None:
            return 0
        able = available | abilities_repository.common()
        ids = repository.queued_but(session, able, services.settings.sweep_limit)

    def give_up(job_id: str) -> None:
        with services.db.transaction() as session:
            job = repository.locked(session, job_id)
            if job is not None and job.state == JobState.QUEUED:
                settle.fail(session, services.settings, job, JobReason.METHOD_MISSING, actor=ACTOR)

    return sweep(ids, give_up, subject=str)
