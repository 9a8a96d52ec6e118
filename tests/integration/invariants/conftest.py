"""A service in which everything has happened that promises speak of; built once, as nobody changes it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import func, update

from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import Job
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.jobs import cancel, samples
from core.workflows.operations import recover
from core.workflows.releases import publish
from tests.support import streams
from tests.support.inline import taken
from tests.support.postgres import PostgresCluster
from tests.support.releases import queued_job, ready_dataset

SEED = "07" * 32


@dataclass(frozen=True)
class World:
    """The services, and the ids of jobs by what has become of them."""

    services: Services
    principal: Principal
    jobs: dict[str, str]
    account_id: str
    dataset_id: str
    stream_id: str


def fails(kind: str) -> None:
    raise RuntimeError("the child has failed after its reads")


def lost_after_opening(services: Services, job_id: str) -> None:
    """The job's worker is gone, and the reaper has queued it again under a new reservation."""
    work = publish.begin_job(services, job_id, "w1")
    assert work is not None
    publish.record_opening(services, work)
    with services.db.transaction() as session:
        past = func.now() - func.make_interval(0, 0, 0, 1)
        session.execute(update(Job).where(Job.id == job_id).values(lease_expires_at=past))
    assert recover.recover_lost(services, Topic.RUN) == 1


@pytest.fixture(scope="session")
def world(postgres_cluster: PostgresCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Jobs that were published, failed, cancelled, lost, that run, that wait; a stream; a Rényi account."""
    name = postgres_cluster.create()
    root = tmp_path_factory.mktemp("world")
    settings = Settings(
        database_url=postgres_cluster.address(name),
        storage_url=(root / "objects").as_uri(),
        master_key=secrets.token_hex(32),
        fingerprint_key=secrets.token_hex(32),
        head_signing_key=SEED,
        work_folder=root / "work",
    )
    Path(settings.work_folder).mkdir()
    services = open_services(settings)
    principal = Principal("acme", "key_test", "test", frozenset({Role.CURATOR, Role.REQUESTER}), "curator-a")
    yield built(services, principal)
    services.close()
    postgres_cluster.drop(name)


def built(services: Services, principal: Principal) -> World:
    dataset = ready_dataset(services, principal, epsilon="9")
    jobs = {key: queued_job(services, principal, dataset.id, key).id for key in
            ("published", "failed", "cancelled", "lost", "running", "queued")}  # fmt: skip
    assert taken(services.settings, Topic.RUN, jobs["published"])
    assert taken(services.settings, Topic.EVALUATE, jobs["published"])
    assert taken(services.settings, Topic.RUN, jobs["failed"], fails)
    sample, _ = samples.submit_sample(
        services, principal, jobs["published"], samples.SampleRequest(), "sample"
    )
    jobs["sample"] = sample.id
    assert taken(services.settings, Topic.RUN, sample.id)
    declared = queued_job(services, principal, dataset.id, "declared", method="declared", epsilon=None)
    jobs["declared"] = declared.id
    assert taken(services.settings, Topic.RUN, declared.id)
    cancel.cancel_job(services, principal, jobs["cancelled"])
    lost_after_opening(services, jobs["lost"])
    assert publish.begin_job(services, jobs["running"], "w2") is not None

    # A content belongs to one account of its tenant; so each of these has a tenant of its own.
    curves, others = replace(principal, tenant="curves"), replace(principal, tenant="others")
    curved = ready_dataset(services, curves, "curved", filter="renyi", delta="1e-6", epsilon="9")
    jobs["curved"] = queued_job(services, curves, curved.id, "curved").id

    calls = streams.stream_dataset(services, principal, epsilon="4")
    stream = streams.open_stream(services, principal, calls.id)
    for step in range(3):
        jobs[f"step {step}"] = streams.send(services, principal, stream, step)[0].job_id
    assert taken(services.settings, Topic.RUN, jobs["step 0"])

    exposed = ready_dataset(services, others, "exposed", epsilon="2")
    with services.db.transaction() as session:
        ledger.expose(
            session, exposed.account_id, job_id="job_elsewhere", digests={"edges.parquet": "ab" * 32},
            actor="worker", reason="unprotected release",
        )  # fmt: skip
    return World(services, principal, jobs, dataset.account_id, dataset.id, stream.id)
