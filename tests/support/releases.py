"""A small dataset that is ready, and jobs on it: what tests of jobs, workers and faults start from."""

from __future__ import annotations

from typing import Any

from core.datasets.models import Dataset
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.identity.service import Principal
from core.jobs import repository
from core.jobs.models import Job
from core.ledger import service as ledger
from core.ledger.invariants import INVARIANTS
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import begin_ingest, finish_ingest
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.jobs.submit import JobRequest, submit_job
from tests.support.inline import taken

NODES = 300  # noise of a default release at epsilon 1 leaves most of their edges
SCHEMA = GraphSchema(node_types=(NodeType(name="node", count=NODES),), edge_types=(EdgeType(name="edge"),))


def ring_edges(nodes: int = NODES) -> bytes:
    """A ring with chords, as CSV: two edges a node."""
    rows = [f"{node},{(node + step) % nodes}" for node in range(nodes) for step in (1, 7)]
    return ("source,target\n" + "\n".join(rows) + "\n").encode()


def ready_dataset(
    services: Services,
    principal: Principal,
    name: str = "ring",
    *,
    edges: bytes | None = None,
    nodes: bytes | None = None,
    **terms: Any,
) -> Dataset:
    """A dataset of this ring, or of these edges and nodes, whose upload was validated in this process."""
    declared = {"unit": "edge", "epsilon": "4", "graph_schema": SCHEMA} | terms
    dataset = register_dataset(services, principal, NewDataset(name=name, **declared))
    parts = {"edges": edges or ring_edges()} if nodes is None else {"nodes": nodes, "edges": edges}
    for part, content in parts.items():
        version = receive_part(
            services,
            principal,
            dataset.id,
            part=part,
            format="csv",
            options={},
            chunks=[content or ring_edges()],
            length=None,
        )
    work = begin_ingest(services, version.id, "tests")
    assert work is not None
    report = canonicalise(
        work.files, work.schema, work.graph_folder, work.limits, fingerprint_key=work.fingerprint_key
    )
    finish_ingest(services, work, report.to_json())
    return dataset


def parted_dataset(
    services: Services, principal: Principal, name: str = "parts", *, files: int = 2, **terms: Any
) -> Dataset:
    """A dataset in parts, of that ring in several files, which a worker has validated in this process."""
    declared = {"unit": "edge", "epsilon": "4", "graph_schema": SCHEMA, "in_parts": True} | terms
    dataset = register_dataset(services, principal, NewDataset(name=name, **declared))
    header, *rows = ring_edges().splitlines(keepends=True)
    for number in range(files):
        version = receive_part(
            services,
            principal,
            dataset.id,
            part=f"edges-{number + 1}-of-{files}",
            format="csv",
            options={},
            chunks=[header, *rows[number::files]],
            length=None,
        )
    assert taken(services.settings, Topic.INGEST, version.id)
    return dataset


def queued_job(
    services: Services, principal: Principal, dataset_id: str, key: str = "k1", **asked: Any
) -> Job:
    """A job of epsilon 1 that waits for a worker, whether or not there is another like it."""
    request = JobRequest(**({"dataset_id": dataset_id, "epsilon": "1", "repeat": True} | asked))
    return submit_job(services, principal, request, key)[0]


def job_row(services: Services, job_id: str) -> Job:
    """The job as the database has it."""
    with services.db.transaction() as session:
        job = repository.by_id(session, job_id)
    assert job is not None
    return job


def spent(services: Services, job: Job) -> tuple[str, str]:
    """The account's charged and reserved epsilon, as decimals."""
    with services.db.transaction() as session:
        statement = ledger.statement(session, job.account_id)
    return statement.charged.epsilon, statement.reserved.epsilon


def violations(services: Services) -> list[Any]:
    """What the ledger's invariants find wrong."""
    with services.db.transaction() as session:
        return [found for invariant in INVARIANTS for found in invariant.check(session)]


def stored_keys(services: Services, prefix: str) -> list[str]:
    """The object keys below the prefix, sorted."""
    return sorted(stored.key for stored in services.store.list(prefix))
