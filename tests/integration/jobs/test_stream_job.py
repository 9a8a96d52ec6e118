"""A temporal dataset under unit w-event: every timestamp is charged, and every format is released."""

from __future__ import annotations

import pytest

from core.graphs import formats
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.identity.service import Principal
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import begin_ingest, finish_ingest
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.releases import queries as release_queries
from tests.support.releases import job_row, queued_job, violations
from worker.process import open_process
from worker.work import take

STEPS = 4
SCHEMA = GraphSchema(
    node_types=(NodeType(name="node", count=20),),
    edge_types=(EdgeType(name="contact", temporal=True),),
    time=TimeGrid(count=STEPS),
)


@pytest.fixture
def dataset_id(services: Services, principal: Principal) -> str:
    new = NewDataset(name="stream", unit="w-event", window=2, epsilon="2", graph_schema=SCHEMA)
    dataset = register_dataset(services, principal, new)
    rows = [f"{n},{(n + t + 1) % 20},{t}" for t in range(STEPS) for n in range(20)]
    content = ("source,target,time\n" + "\n".join(rows) + "\n").encode()
    version = receive_part(
        services, principal, dataset.id, part="edges", format="csv", options={}, chunks=[content], length=None
    )
    work = begin_ingest(services, version.id, "tests")
    assert work is not None
    key = work.fingerprint_key
    report = canonicalise(work.files, work.schema, work.graph_folder, work.limits, fingerprint_key=key)
    finish_ingest(services, work, report.to_json())
    return dataset.id


def test_a_stream_is_charged_by_timestamp_and_written_in_every_format(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    wanted = [name for name in formats.names() if formats.get(name).refuses(SCHEMA) is None]
    job = queued_job(services, principal, dataset_id, method="psgraph", formats=wanted)
    assert job.spec["amounts"] == {"untimed": 0, "delta": 0} | {f"step/{t}": 5 * 10**8 for t in range(STEPS)}
    assert take(open_process(services.settings), Topic.RUN, job.id, lambda: False)
    assert job_row(services, job.id).state == "published"

    names = {artifact.name for artifact in release_queries.listed(services, principal, job.id).items}
    extra = {f"graph.{formats.get(name).extensions[0]}" for name in wanted if name != "parquet"}
    extra |= {
        f"nodes.{name}" for name in ("csv", "tsv")
    }  # a table of edges has no place for an isolated node
    extra |= {"measurements.json", "measurements.parquet"}
    tables = {"nodes.parquet", "edges.parquet", "schema.json", "public.json"}
    assert names - {"measurement_groups.parquet"} == tables | extra
    with services.db.transaction() as session:
        statement = ledger.statement(session, job.account_id)
    assert statement.charged.nano_epsilon == 10**9  # the fullest window
    assert statement.steps is not None
    assert statement.steps.charged_nano_epsilon == (5 * 10**8,) * STEPS
    guarantee = release_queries.get_report(services, principal, job.id)["public"]["guarantee"]
    assert (guarantee["unit"], guarantee["window"], guarantee["epsilon"]) == ("w-event", 2, "1")
    assert violations(services) == []
