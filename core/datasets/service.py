"""What may happen to a dataset and its versions. Here is too what becomes of them. No SQL, no commit.

Once a dataset has a ready version it stays ready: a further version changes nothing for its users until that
version is ready itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from core import ids
from core.datasets import repository
from core.datasets.models import Dataset, DatasetVersion
from core.datasets.models import DatasetState as D
from core.datasets.models import VersionState as V
from core.db.session import database_now
from core.errors import Conflict, InvalidTransition, NotFound


class Event(StrEnum):
    """What can happen."""

    UPLOAD_BEGUN = "an upload"
    UPLOAD_ABANDONED = "abandoning an upload"
    UPLOAD_COMPLETED = "completing an upload"
    SCHEMA_DECLARED = "declaring a schema"
    SCHEMA_PROPOSED = "proposing a schema"
    SCHEMA_CONFIRMED = "confirming a schema"
    READ_AGAIN = "reading an upload again"
    SUPERSEDED = "dropping a proposal"
    ACCEPTED = "accepting an upload"
    REJECTED = "rejecting an upload"
    RETRIED = "trying the validation again"
    ARCHIVED = "archiving"


@dataclass(frozen=True)
class Step:
    """A step of a state machine. For each state in which an event may happen it has the state that
    follows."""

    dataset: Mapping[D, D]
    version: Mapping[V, V]


STEPS: dict[Event, Step] = {
    # what happened          dataset: before -> after                       version: before -> after
    Event.UPLOAD_BEGUN: Step(
        {D.REGISTERED: D.UPLOADING, D.UPLOADING: D.UPLOADING, D.REJECTED: D.UPLOADING, D.READY: D.READY},
        {V.UPLOADING: V.UPLOADING},
    ),
    Event.UPLOAD_ABANDONED: Step({D.UPLOADING: D.REGISTERED, D.READY: D.READY}, {V.UPLOADING: V.UPLOADING}),
    Event.UPLOAD_COMPLETED: Step({D.UPLOADING: D.VALIDATING, D.READY: D.READY}, {V.UPLOADING: V.QUEUED}),
    Event.SCHEMA_DECLARED: Step({D.REGISTERED: D.REGISTERED, D.REJECTED: D.REGISTERED}, {}),
    Event.SCHEMA_PROPOSED: Step({D.VALIDATING: D.REGISTERED}, {V.VALIDATING: V.PROPOSED}),
    Event.SCHEMA_CONFIRMED: Step(
        {D.REGISTERED: D.VALIDATING, D.REJECTED: D.VALIDATING}, {V.PROPOSED: V.QUEUED, V.REJECTED: V.QUEUED}
    ),
    Event.READ_AGAIN: Step({D.REGISTERED: D.VALIDATING}, {V.PROPOSED: V.QUEUED}),
    Event.SUPERSEDED: Step({D.VALIDATING: D.VALIDATING}, {V.PROPOSED: V.ERASED}),
    Event.ACCEPTED: Step({D.VALIDATING: D.READY, D.READY: D.READY}, {V.VALIDATING: V.READY}),
    Event.REJECTED: Step({D.VALIDATING: D.REJECTED, D.READY: D.READY}, {V.VALIDATING: V.REJECTED}),
    Event.RETRIED: Step({D.VALIDATING: D.VALIDATING, D.READY: D.READY}, {V.VALIDATING: V.QUEUED}),
    Event.ARCHIVED: Step(dict.fromkeys(set(D) - {D.ARCHIVED}, D.ARCHIVED), dict.fromkeys(V, V.ERASED)),
}


def apply(event: Event, dataset: Dataset, version: DatasetVersion | None = None) -> None:
    """Apply the event to dataset and version. They are in the states that follow it; InvalidTransition
    changes neither."""
    step = STEPS[event]
    # Closed: what the table does not name for this state is refused.
    after = step.dataset.get(D(dataset.state))
    if after is None:
        raise InvalidTransition(
            f"the dataset is {dataset.state}, which does not allow {event}", state=str(dataset.state)
        )
    if version is not None:
        follows = step.version.get(V(version.state))
        if follows is None:
            raise InvalidTransition(
                f"the version is {version.state}, which does not allow {event}", state=str(version.state)
            )
        version.state = follows
    dataset.state = after


def get(session: Session, tenant: str, dataset_id: str) -> Dataset:
    """Return the tenant's dataset. NotFound where there is none or it is another tenant's."""
    dataset = repository.find(session, tenant, dataset_id)
    if dataset is None:
        raise NotFound("no such dataset", id=dataset_id)
    return dataset


def lock(session: Session, tenant: str, dataset_id: str) -> Dataset:
    """Lock the tenant's dataset until the transaction ends. NotFound as in :func:`get`."""
    # Whose it is comes before the lock: nobody holds up another tenant's dataset.
    get(session, tenant, dataset_id)
    dataset = repository.locked(session, dataset_id)
    if dataset is None:
        raise NotFound("no such dataset", id=dataset_id)
    return dataset


def version_to_upload(session: Session, dataset: Dataset) -> DatasetVersion:
    """Find the version that takes the next part. It is one that waits for parts, else a new one. Dataset
    locked.

    Conflict while another upload is under way or a complete upload waits for its validation.
    """
    if repository.in_state(session, dataset.id, V.QUEUED, V.VALIDATING):
        raise Conflict("an upload of this dataset is being validated; wait until it is done")
    waiting = repository.in_state(session, dataset.id, V.UPLOADING)
    if waiting and repository.upload_live(session, waiting[0].id):
        raise Conflict("another upload of this dataset is under way")
    if waiting:
        return waiting[0]
    version = DatasetVersion(
        id=ids.new_id(ids.VERSION),
        dataset_id=dataset.id,
        number=repository.next_number(session, dataset.id),
        state=V.UPLOADING,
    )
    session.add(version)
    session.flush()
    return version


def abandon_upload(session: Session, dataset: Dataset, version: DatasetVersion) -> None:
    """Restore the version as it was before the upload. It is gone where it holds no part. Dataset locked."""
    version.upload_token = version.upload_expires_at = None
    # Parts of earlier uploads stay: this one alone has failed.
    if repository.parts(session, [version.id]):
        return
    apply(Event.UPLOAD_ABANDONED, dataset, version)
    session.delete(version)


def grant_attempts(version: DatasetVersion, count: int) -> None:
    """Let the version be tried ``count`` more times."""
    version.attempt_limit = (version.attempt or 0) + count


def close(session: Session, version: DatasetVersion) -> None:
    """Finish the version; nobody holds it any more."""
    version.let_go()
    version.finished_at = database_now(session)


def archive(session: Session, dataset: Dataset) -> None:
    """Archive the dataset. Its versions name no content, digest or finding, and nobody holds them."""
    for version in repository.versions(session, [dataset.id]):
        version.state = STEPS[Event.ARCHIVED].version[V(version.state)]
        _erase(session, version)
    apply(Event.ARCHIVED, dataset)
    dataset.archived_at = database_now(session)
    dataset.proposed_schema = dataset.current_version_id = None


def _erase(session: Session, version: DatasetVersion) -> None:
    close(session, version)
    version.upload_token = version.upload_expires_at = version.object_key = None
    version.fingerprint = version.ingest_report = version.findings = version.node_counts = None
    repository.delete_parts(session, [version.id])
