"""One job through real processes, as a collector sees it: one trace, coarse where it must be, and no data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.coarse import BOUNDS
from deploy.local import processes
from deploy.local.stack import Stack
from graphveil.sdk.client import Graphveil
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresCluster
from tests.support.receiver import Received, receiver
from tests.support.traces import Sent, sent

pytestmark = pytest.mark.faults

SECONDS = PATIENCE_SECONDS
SECRET = "hunter2"
SCHEMA = {
    "node_types": [{"name": "person", "count": None}],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}
ATTRIBUTES = {
    "http.request.method", "http.route", "http.response.status_code", "graphveil.job.id", "graphveil.attempt",
    "graphveil.child", "graphveil.ending", "url.scheme", "error.type", "messaging.system",
    "messaging.operation.name", "messaging.operation.type", "messaging.destination.name",
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What a job left: its id, the collector's requests, the spans in them, and the logs by process."""

    job_id: str
    requests: list[Received]
    spans: list[Sent]
    logs: dict[str, list[str]]

    def named(self, name: str) -> Sent:
        (found,) = (span for span in self.spans if span.name == name)
        return found


@pytest.fixture(scope="module")
def run(postgres_cluster: PostgresCluster, redis_url: str) -> Iterator[Run]:
    """A job is published and compared; then every process is told to stop, and sends what it still has."""
    database = postgres_cluster.create()
    with (
        receiver() as collector,
        pytest.MonkeyPatch.context() as environment,
        tempfile.TemporaryDirectory(prefix="gv-traces-") as folder,
    ):
        for name in processes.COMMANDS.keys() - {"api", "relay", "worker"}:
            environment.delitem(processes.COMMANDS, name)  # they have no spans
        environment.setenv("GRAPHVEIL_DATABASE_URL", postgres_cluster.address(database))
        environment.setenv("GRAPHVEIL_REDIS_URL", redis_url)
        environment.setenv("GRAPHVEIL_TRACE_ENDPOINT", f"http://127.0.0.1:{collector.port}/v1/traces")
        files = Path(folder)
        names = [f"{SECRET}-{number}" for number in range(60)]
        (files / f"{SECRET}-nodes.csv").write_text(
            "id,type\n" + "".join(f"{name},person\n" for name in names)
        )
        edges = "".join(f"{names[i]},{names[(7 * i + k) % 60]}\n" for i in range(60) for k in (1, 2, 3))
        (files / f"{SECRET}-edges.csv").write_text("source,target\n" + edges)
        with Stack(files / "data") as stack, Graphveil(stack.url, stack.token) as service:
            dataset = service.register_dataset(
                f"{SECRET}-mails", unit="edge", epsilon="2", graph_schema=SCHEMA
            )
            for part in ("nodes", "edges"):
                service.upload(dataset.id, files / f"{SECRET}-{part}.csv", part=part)
            service.wait_ready(dataset.id, timeout_seconds=SECONDS)
            asked = {"method": "edgerand", "label": SECRET, "idempotency_key": f"{SECRET}-key"}
            job = service.submit(dataset.id, epsilon="0.123456789", suite="quick", **asked)
            assert service.wait(job.id, timeout_seconds=SECONDS).state == "published"
            assert service.wait_report(job.id, timeout_seconds=SECONDS)["curator"]["status"] == "done"
            service.budget(dataset.id)  # the last request: its span is sent when the api is told to stop
            logs = stack.folder.logs
        written = {file.stem: file.read_text().splitlines() for file in logs.glob("*.log")}
        yield Run(job.id, collector.received, sent(collector.received), written)
    postgres_cluster.drop(database)


def test_a_job_is_one_trace_from_the_request_to_the_childs_last_stage(run: Run) -> None:
    submit = run.named("POST /jobs")
    trace = {span.name: span for span in run.spans if span.trace == submit.trace}
    assert (submit.process, submit.parent, submit.attributes["graphveil.job.id"]) == (
        "graphveil-api", "", run.job_id,
    )  # fmt: skip
    for name, process in (("send run", "graphveil-relay"), ("process run", "graphveil-worker")):
        assert (trace[name].process, trace[name].parent) == (process, submit.id)
        assert trace[name].attributes["graphveil.job.id"] == run.job_id
    child = trace["child"]
    assert child.parent == trace["process run"].id
    assert child.attributes == {"graphveil.child": "release", "graphveil.ending": "finished"}
    stages = {span.name for span in run.spans if span.parent == child.id}
    assert {"fit", "sample"} <= stages
    assert trace.keys() == {"POST /jobs", "send run", "process run", "child", *stages}


def test_what_depends_on_the_graph_is_told_by_the_bounds_only(run: Run) -> None:
    start, ids = run.named("process run").start, {run.named("process run").id, run.named("child").id}
    found = [span for span in run.spans if span.id in ids or span.parent in ids]
    assert len(found) >= 4
    assert {round(at - start, 3) for span in found for at in (span.start, span.end)} <= {0, *BOUNDS}


def test_uploads_and_comparisons_have_no_spans_but_those_of_requests(run: Run) -> None:
    """When a comparison begins is when the run before it ended, to the moment."""
    assert run.named("POST /datasets").process == "graphveil-api"
    assert [span.name for span in run.spans if span.process == "graphveil-relay"] == ["send run"]
    worked = {span.trace for span in run.spans if span.process == "graphveil-worker"}
    assert worked == {run.named("POST /jobs").trace}


def test_nothing_of_the_data_or_of_the_request_leaves(run: Run) -> None:
    for request in run.requests:
        assert SECRET.encode() not in request.body
        assert b"0.123456789" not in request.body
    assert {key for span in run.spans for key in span.attributes} <= ATTRIBUTES
    assert not any(span.texts for span in run.spans)
    assert not any("{" not in span.name and run.job_id in span.name for span in run.spans)
    assert "/readyz" not in {span.attributes.get("http.route") for span in run.spans}


def test_the_last_spans_are_sent_when_the_processes_stop(run: Run) -> None:
    assert run.named("GET /datasets/{dataset_id}/budget").process == "graphveil-api"


def test_logs_of_every_process_name_the_trace(run: Run) -> None:
    trace = run.named("POST /jobs").trace
    lines = [json.loads(line) for line in run.logs["worker"] if line.startswith("{")]
    assert [line.get("trace_id") for line in lines if line["event"] == "child_ended"] == [None, trace, None]
    access = [json.loads(line) for line in run.logs["api"] if '"route": "/jobs"' in line]
    assert trace in {line["trace_id"] for line in access if line["method"] == "POST"}
