"""A further sample of a published job's model. It is a job of its own that reads no graph and costs nothing.

In the ledger it reserves nothing, is charged nothing under its files' digests, and a ``derive`` entry names
them once more as what they are. Nothing is returned or spent, whatever becomes of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from core import ids
from core.datasets import repository as datasets
from core.datasets import vault
from core.datasets.models import Dataset, DatasetState
from core.errors import DatasetNotReady, InvalidInput, NotAccepted, StorageError
from core.evaluation.metric import Suite
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import idempotency, repository
from core.jobs.models import Artifact, Job
from core.jobs.service import check_room
from core.ledger import service as ledger
from core.methods import registry
from core.methods._shared.composition.params import methods_of
from core.publishing.checks import ALWAYS_WRITTEN, check_size, checked_formats, released_schema
from core.publishing.spec import Declared, InParts, JobSpec, Plain, Sample
from core.settings import Settings
from core.workflows.common import policies
from core.workflows.common.context import Services
from core.workflows.common.specs import new_job, queue_free, spec_of
from core.workflows.datasets.derivations import declared_schema
from core.workflows.jobs.abilities import OfWorkers
from core.workflows.jobs.ground import node_counts
from core.workflows.jobs.request import SIZE, AskedSize
from core.workflows.releases.publish import JobWork
from core.workflows.releases.queries import published
from core.workflows.releases.stored_files import fetch_files

MODEL = "private/model/"
NEEDED = frozenset({"nodes.parquet", "edges.parquet", "schema.json", "private/alignment.parquet"})


class SampleRequest(BaseModel):
    """What a caller asks for: one more draw. Method, parameters and guarantee are those of the model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    formats: Annotated[list[str], Field(max_length=16)] = Field(default_factory=lambda: [ALWAYS_WRITTEN])
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        default=None, description="For datasets marked public only: seeds the draws of this sample."
    )
    suite: Suite = Field(
        default=Suite.STANDARD,
        description="How closely the sample is compared with the original, for the curators' report.",
    )
    label: Annotated[str, Field(max_length=128)] | None = None
    size: AskedSize | None = Field(
        default=None, description=f"{SIZE} Unless given, that of the job which is drawn from."
    )


def submit_sample(
    services: Services,
    principal: Principal,
    job_id: str,
    request: SampleRequest,
    idempotency_key: str | None,
) -> tuple[Job, bool]:
    """Queue a job that samples the job's model again. True when an earlier call did it.

    A sample of a sample is one of the same model. Raises IdempotencyKeyMissing, IdempotencyKeyReused,
    NotFound, JobNotFinished, JobFailed, DatasetNotReady (the model is erased with its dataset), NotAccepted
    (a stream's snapshot), UnknownFormat, InvalidInput, KindNotAllowed, PolicyRefused, WorkerMissing,
    AccountBlocked and TooManyJobs.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    key = idempotency.checked_key(idempotency_key)
    # As in a request's digest: what came later is left out where absent, so that earlier keys still match.
    later = {"size"} if request.size is None else set()
    digest = idempotency.payload_hash({"sample_of": job_id, **request.model_dump(mode="json", exclude=later)})

    def make(session: Session, standing: repository.Standing) -> Job:
        check_room(services.settings, standing)
        source = published(session, services, principal, job_id)
        # A sample of a sample is one more of the model that was paid for.
        if source.sample_of is not None:
            source = repository.existing(session, source.sample_of)
        dataset, spec = _checked(session, services.settings, source, request)
        job = new_job(principal, dataset, spec, source.plan, source.plan_digest)
        job.account_id = source.account_id
        return queue_free(session, principal, job, spec, key=key, digest=digest)

    return idempotency.once(
        services.db, tenant=principal.tenant, key=key, key_id=principal.key_id, digest=digest, make=make
    )


def _checked(
    session: Session, settings: Settings, source: Job, request: SampleRequest
) -> tuple[Dataset, JobSpec]:
    """Load the dataset, share-locked so that it is not archived meanwhile, and what the sample is to be."""
    paid = spec_of(source)
    if isinstance(paid.release, InParts):
        raise NotAccepted("A graph that is drawn in shards is drawn once.", field="job_id")
    if isinstance(paid.release, Declared):
        raise NotAccepted(
            "A graph from declarations has no fitted model; submit another job of the method declared, at no "
            "cost either.",
            field="job_id",
        )
    if not isinstance(paid.release, Plain):
        raise NotAccepted(
            "A snapshot of a live stream is published once: the snapshots after it follow from it.",
            field="job_id",
        )
    generator, had = registry.get(source.method), OfWorkers(session)
    if source.method not in had:
        raise had.refusal(generator)
    had.require_suite(request.suite)
    # Held to the commit: an archive that comes meanwhile waits, and then cancels this job too.
    dataset = datasets.share_locked(session, source.dataset_id)
    assert dataset is not None  # datasets are never deleted
    if dataset.state == DatasetState.ARCHIVED:
        raise DatasetNotReady(
            "The dataset is archived: its fitted models were erased with it. Published releases stay.",
            id=dataset.id,
            state=dataset.state,
        )
    if request.seed is not None and not dataset.public:
        raise InvalidInput("Only public datasets take a seed.", field="seed")
    # The draw is free, but it is a release: one that a curator would no longer allow is not made.
    policies.check_release(
        dataset,
        methods=methods_of(source.method, paid.release.params, paid.release.edge_types),
        kind=paid.kind,
    )
    synthesised = generator.synthesised(generator.Params.model_validate(paid.release.params))
    schema = _schema(session, source)
    released = released_schema(schema, paid.release.edge_types, **synthesised)
    size = paid.release.size
    if request.size is not None:
        check_size(source.method, paid.release.params, schema, released)
        version = datasets.existing_version(session, source.version_id)
        size = request.size.of(node_counts(version, schema), settings)
    # What is not named here is the paid release's: its model was fitted under exactly these.
    drawn = dict(paid.release) | {
        "job_id": ids.new_id(ids.JOB),
        "sample_of": source.id,
        "formats": checked_formats(request.formats, released),
        "seed": request.seed,
        "size": size,
    }
    return dataset, JobSpec(
        release=Sample(**drawn),
        # Post-processing of what was paid for: nothing is reserved.
        amounts={},
        kind=paid.kind,
        label=request.label,
        suite=request.suite,
        apart=paid.apart,
    )


def _schema(session: Session, source: Job) -> GraphSchema:
    """Return the public schema that the model was fitted under."""
    return declared_schema(session, datasets.existing_version(session, source.version_id))


def lay_out(services: Services, work: JobWork, folder: Path) -> None:
    """Lay out all that a sample is made from. ``folder`` holds the model, its release, its schema and
    transcript.

    Not the graph. NotFound once the dataset is erased; StorageError for a file that no charge names, or that
    is not the one it names.
    """
    with services.db.transaction() as session:
        source_id = work.spec.release.source_id
        assert source_id is not None  # of a sample
        source = repository.existing(session, source_id)
        key = vault.content_key(session, source.dataset_id, services.settings.master_key)
        files = [
            file
            for file in repository.artifacts(session, source.id)
            if file.name in NEEDED or file.name.startswith(MODEL)
        ]
        # A model that no charge names was never paid for: nothing is sampled from it.
        _require_charged(session, source, files)
        schema, entries = _schema(session, source), repository.published_reads(session, source.id)
    # The store is read when no transaction is open.
    fetch_files(services, files, key, folder)
    (folder / "schema.json").write_text(schema.model_dump_json(), encoding="utf-8")
    (folder / "transcript.json").write_text(json.dumps(entries), encoding="utf-8")


def _require_charged(session: Session, source: Job, files: Sequence[Artifact]) -> None:
    entry = ledger.terminal_of(session, source.reservation_id)
    if entry is None or any(entry.digests.get(file.name) != file.sha256 for file in files):
        raise StorageError("no charge names a file of the model", job_id=source.id)
