"""A dataset with a time grid, a stream on it, and snapshots of it: what tests of live streams start from."""

from __future__ import annotations

from typing import Any

from core.datasets.models import Dataset
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.identity.service import Principal
from core.jobs import repository as jobs
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import begin_ingest, finish_ingest
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.streams.lifecycle import StreamRequest, create_stream
from core.workflows.streams.queries import get_snapshot
from core.workflows.streams.snapshots import receive_snapshot
from graphveil.models.streams import Snapshot, Stream
from tests.support.inline import taken
from worker.process import open_process
from worker.work import take

NODES, WINDOW = 24, 3
SCHEMA = GraphSchema(
    node_types=(NodeType(name="node", count=NODES),),
    edge_types=(EdgeType(name="contact", temporal=True),),
    time=TimeGrid(start=100, width=10, count=4),
)


def stream_dataset(
    services: Services,
    principal: Principal,
    name: str = "calls",
    content: bytes = b"source,target,time\n0,1,100\n",
    nodes: bytes | None = None,
    **terms: Any,
) -> Dataset:
    """A ready dataset under unit w-event; its first upload holds one edge, and a list of nodes if need be."""
    declared = {"unit": "w-event", "window": WINDOW, "epsilon": "3", "graph_schema": SCHEMA} | terms
    dataset = register_dataset(services, principal, NewDataset(name=name, **declared))
    for part, sent in (("nodes", nodes), ("edges", content)):
        if sent is not None:
            upload = {"part": part, "format": "csv", "options": {}, "chunks": [sent], "length": None}
            version = receive_part(services, principal, dataset.id, **upload)
    work = begin_ingest(services, version.id, "tests")
    assert work is not None
    report = canonicalise(
        work.files, work.schema, work.graph_folder, work.limits, fingerprint_key=work.fingerprint_key
    )
    finish_ingest(services, work, report.to_json())
    return dataset


def open_stream(
    services: Services, principal: Principal, dataset_id: str, key: str = "s1", **asked: Any
) -> Stream:
    """A stream of epsilon 3 a window, so 1 a step, by a method that carries a state."""
    request = StreamRequest(**({"dataset_id": dataset_id, "epsilon": "3", "method": "psgraph"} | asked))
    return create_stream(services, principal, request, key)[0]


def rows(step: int) -> bytes:
    """A snapshot as CSV: a ring with chords that depend on the step."""
    pairs = [f"{n},{(n + hop) % NODES}" for n in range(NODES) for hop in (1, 2 + step % 3)]
    return ("source,target\n" + "\n".join(pairs) + "\n").encode()


def send(
    services: Services,
    principal: Principal,
    stream: Stream,
    number: int,
    content: bytes | None = None,
    **how: Any,
) -> tuple[Snapshot, bool]:
    """The step's snapshot, a usual one unless given, is sent."""
    body = rows(number) if content is None else content
    asked: dict[str, Any] = {"step": number, "format": "csv", "options": {}, "length": len(body)} | how
    return receive_snapshot(services, principal, stream.id, chunks=[body] if body else [], **asked)


def work_off(services: Services, job_id: str, topic: Topic = Topic.RUN) -> bool:
    """A worker took the job as far as it could, with its children in processes of their own."""
    return take(open_process(services.settings), topic, job_id, lambda: False)


def publish(services: Services, job_id: str, topic: Topic = Topic.RUN) -> bool:
    """As :func:`work_off`, with the children's work done in this process: seconds faster."""
    return taken(services.settings, topic, job_id)


def seen(services: Services, principal: Principal, stream: Stream, step: int) -> Snapshot:
    """The snapshot as its curators see it now."""
    return get_snapshot(services, principal, stream.id, step)


def ledger_spent(services: Services, job_id: str) -> int:
    """What the job has charged or holds reserved, from the entries of the ledger."""
    with services.db.transaction() as session:
        job = jobs.by_id(session, job_id)
        assert job is not None
        entries = ledger.entries(session, job.account_id, after=0, limit=10_000).entries
    open_now = 0
    for entry in entries:
        if entry.job_id == job_id:
            amount = sum(int(value) for name, value in entry.amounts.items() if name.startswith("step/"))
            open_now += {"reserve": amount, "release": -amount, "expire": -amount}.get(entry.kind, 0)
    return open_now


def with_settings(services: Services, **changed: Any) -> Services:
    """The services under other settings."""
    return Services(services.db, services.store, services.settings.model_copy(update=changed))
