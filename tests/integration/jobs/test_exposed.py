"""A job whose account is exposed while it runs: its guarantee is void, so nothing of it is published."""

from __future__ import annotations

from core.identity.service import Principal
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.workflows.context import Services
from tests.support.inline import taken
from tests.support.releases import job_row, queued_job, ready_dataset, spent, stored_keys, violations


def test_a_claim_that_was_voided_meanwhile_is_not_published(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    with services.db.transaction() as session:
        ledger.expose(
            session,
            job.account_id,
            job_id="job_unprotected",
            digests={"edges.parquet": "a" * 64},
            actor="worker",
            reason="unprotected release",
        )
    assert taken(services.settings, Topic.RUN, job.id)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "account_exposed")
    assert spent(services, row) == ("1", "0")  # it had read: the reservation is spent
    assert stored_keys(services, "releases") == []
    assert violations(services) == []
