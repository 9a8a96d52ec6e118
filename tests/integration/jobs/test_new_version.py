"""A submission that waits while the dataset's version changes plans for the new one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import text

from core import ids
from core.datasets.models import Dataset, DatasetVersion, VersionState
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.jobs.submit import JobRequest, submit_job
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import ready_dataset


def waits_for_a_lock(services: Services) -> bool:
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with services.db.transaction() as session:
        return session.execute(text(query)).scalar_one() > 0


def test_a_version_that_arrives_while_a_submission_waits_is_used(services: Services, principal: Principal):
    dataset = ready_dataset(services, principal)
    with ThreadPoolExecutor(1) as other:
        with services.db.transaction() as session:
            held = session.get_one(Dataset, dataset.id, with_for_update=True, populate_existing=True)
            fresh = DatasetVersion(
                id=ids.new_id(ids.VERSION),
                dataset_id=dataset.id,
                number=2,
                state=VersionState.READY,
                graph_schema=held.graph_schema,
            )
            session.add(fresh)
            held.current_version_id = fresh.id
            session.flush()
            asked = other.submit(
                submit_job, services, principal, JobRequest(dataset_id=dataset.id, epsilon="1"), "k1"
            )
            while not waits_for_a_lock(services):
                assert not asked.done()
        job, replayed = asked.result(timeout=PATIENCE_SECONDS)
    assert (job.version_id, replayed) == (fresh.id, False)
