"""A dataset is archived. Its content is erased, its ledger and its fingerprints stay."""

from __future__ import annotations

from core.datasets import objects, service, vault
from core.datasets import sensitive_repository as sensitive_lists
from core.datasets.models import Dataset, DatasetState
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.streams import repository as streams
from core.streams import service as stream_service
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_jobs_of

log = get_logger(__name__)


def archive_dataset(services: Services, principal: Principal, dataset_id: str) -> Dataset:
    """Archive the dataset. Nothing of its content can be read again; its jobs are cancelled, its streams
    closed; its ledger stays.

    The content key is destroyed together with the change of state; then the bytes are deleted. Safe to
    repeat: a repetition deletes what a failure of the storage left. Published releases stay. Raises
    Forbidden, NotFound, StorageError.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        dataset = service.lock(session, principal.tenant, dataset_id)
        if dataset.state != DatasetState.ARCHIVED:
            service.archive(session, dataset)
            # Without it what is sealed is beyond reading, whatever becomes of the bytes below.
            vault.destroy_key(session, dataset.id)
            sensitive_lists.delete(session, sensitive_lists.of_dataset(session, dataset.id))
            for stream in streams.open_of_dataset(session, dataset.id):
                stream_service.close(session, stream)
            cancel_jobs_of(session, services.settings, dataset.id, actor=principal.key_id)
            streams.forget_findings(session, dataset.id)  # after the jobs: whoever ends one holds it first
    # After the commit: bytes deleted by a transaction that fails would be lost. What is left has no key.
    services.store.delete_prefix(objects.prefix(dataset_id))
    log.info("dataset_archived", dataset_id=dataset_id)
    return dataset
