"""What edges and nodes carry, from an upload to a release, its report and a sample, on a real database."""

from __future__ import annotations

import io

import pyarrow.parquet as pq

from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.jobs.submit import JobRequest, plan_job
from core.workflows.releases.queries import get_report, open_artifact
from tests.support.inline import taken
from tests.support.releases import NODES, job_row, queued_job, ready_dataset, spent, violations

STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
PARTY = Attribute(name="party", protection="protected", categories=("left", "right"))
SCHEMA = GraphSchema(
    node_types=(NodeType(name="node", count=NODES, attributes=(PARTY,)),),
    edge_types=(EdgeType(name="edge", attributes=(STARS,)),),
)
ASKED = {
    "epsilon": "40",
    "method": "dcsbm",
    "parameters": {"attribute_share": 0.4, "node_attribute_share": 0.2},
    "repeat": True,
}


def rated_edges() -> bytes:
    rows = [
        f"{node},{(node + step) % NODES},{1 + (node * step) % 5}" for node in range(NODES) for step in (1, 7)
    ]
    return ("source,target,stars\n" + "\n".join(rows) + "\n").encode()


def party_nodes() -> bytes:
    rows = [f"{node},{PARTY.categories[node % 2]}" for node in range(NODES)]
    return ("id,party\n" + "\n".join(rows) + "\n").encode()


def parties_of(services: Services, principal: Principal, job: Job) -> set[str]:
    _, chunks = open_artifact(services, principal, job.id, "nodes.parquet")
    return set(pq.read_table(io.BytesIO(b"".join(chunks)))["party"].to_pylist())


def stars_of(services: Services, principal: Principal, job: Job) -> list[int]:
    _, chunks = open_artifact(services, principal, job.id, "edges.parquet")
    return pq.read_table(io.BytesIO(b"".join(chunks)))["stars"].to_pylist()


def test_a_share_of_epsilon_buys_values_which_reports_compare_and_samples_draw_anew(
    services: Services, principal: Principal, settings: Settings
) -> None:
    held = {"edges": rated_edges(), "nodes": party_nodes()}
    dataset = ready_dataset(services, principal, **held, graph_schema=SCHEMA, epsilon="100")
    plain = plan_job(services, principal, JobRequest(dataset_id=dataset.id, epsilon="1", method="dcsbm"))
    assert any("not synthesised" in text and "stars" in text for text in plain.warnings)
    planned = plan_job(services, principal, JobRequest(dataset_id=dataset.id, **ASKED))
    assert not any("not synthesised" in text for text in planned.warnings)
    assert any("is synthesised: stars of edge" in text and "epsilon 32" in text for text in planned.warnings)
    assert any("together with the edges: party of node" in text for text in planned.warnings)
    assert any("is covered at epsilon 24" in text and "at most 4.8" in text for text in planned.warnings)
    assert planned.amounts == {"epsilon": 40 * 10**9, "delta": 0}

    job = queued_job(services, principal, dataset.id, **ASKED)
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert spent(services, job) == ("40", "0")
    stars = stars_of(services, principal, job)
    assert stars
    assert set(stars) <= {1, 2, 3, 4, 5}
    assert parties_of(services, principal, job) <= {"left", "right"}
    assert taken(settings, Topic.EVALUATE, job.id)
    report = get_report(services, principal, job.id)
    codes = {each["code"] for each in report["public"]["caveats"]}
    assert "edge_values_synthesised" in codes
    assert "edge_attributes_left_out" not in codes
    assert "node_values_synthesised" in codes
    assert "attributes_left_out" not in codes
    assert "replaced by any other row" in report["public"]["guarantee"]["statement"]
    (carried,) = report["curator"]["comparison"]["edge_types"][0]["values"]
    assert carried["name"] == "stars"
    (labelled,) = report["curator"]["comparison"]["edge_types"][0]["node_values"]
    assert labelled["name"] == "party"

    sample, _ = submit_sample(services, principal, job.id, SampleRequest(), "s1")
    assert taken(settings, Topic.RUN, sample.id)
    assert job_row(services, sample.id).state == "published"
    assert set(stars_of(services, principal, sample)) <= {1, 2, 3, 4, 5}
    assert parties_of(services, principal, sample) <= {"left", "right"}
    assert spent(services, job) == ("40", "0")
    assert violations(services) == []
