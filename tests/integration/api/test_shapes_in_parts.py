"""Graphs in parts of several shapes, from POST /datasets to the report; and those that are refused there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import open_services
from tests.integration.api.conftest import Tenant
from tests.support.faults import endings
from worker.process import open_process

NODES = 80
PERSON = {
    "name": "person",
    "attributes": [{"name": "town", "kind": "category", "protection": "protected", "categories": ["a", "b"]}],
}
KNOWS = {"name": "knows", "source": "person", "target": "person"}
BEFORE = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1}
WITH_VALUES = BEFORE | {"node_attribute_share": 0.3}
TOWNS = "id,town\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(NODES))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def tenant(api_settings: Settings, lake: Path) -> Iterator[Tenant]:
    """A tenant of a service that draws small shards, and takes references."""
    chosen = Settings(**(api_settings.model_dump() | {"shard_edges": 100, "engine_places": (str(lake),)}))
    services = open_services(chosen)
    yield Tenant(TestClient(create_app(services)), services, open_process(chosen))
    services.close()


def published(
    tenant: Tenant, dataset: str, epsilon: str = "8", **asked: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The job, and the public part of its report, once its shards are drawn and joined."""
    job = tenant.submit(dataset, epsilon, **asked).json()
    assert "id" in job, job
    tenant.work(Topic.RUN, job["id"])
    fitted = tenant.call("GET", f"/jobs/{job['id']}").json()
    assert fitted["state"] == "running", fitted
    for number in range(fitted["shards"]["total"]):
        tenant.work(Topic.SHARD, f"{job['id']}.{number}")
    tenant.work(Topic.RUN, job["id"])
    found = tenant.call("GET", f"/jobs/{job['id']}").json()
    assert found["state"] == "published", found
    assert endings(tenant.services, job["id"]) == ["reserve", "charge"]
    return found, tenant.call("GET", f"/jobs/{job['id']}/report").json()["public"]


def test_nodes_carry_protected_attributes(tenant):
    schema = {"node_types": [PERSON], "edge_types": [KNOWS]}
    dataset = tenant.register(epsilon="9", graph_schema=schema, in_parts=True)["id"]
    tenant.upload(dataset, TOWNS, "part=nodes&format=csv")
    pairs = np.random.default_rng(1).integers(0, NODES, (600, 2)).tolist()
    text = "source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs)
    tenant.work(Topic.INGEST, tenant.upload(dataset, text).json()["id"])
    job, public = published(tenant, dataset, method="dcsbm", parameters=WITH_VALUES)
    nodes = tenant.call("GET", f"/jobs/{job['id']}/artifacts/nodes.parquet").content
    towns = pq.read_table(pa.BufferReader(nodes))["town"].to_pylist()
    assert len(towns) == NODES
    assert set(towns) == {"a", "b"}
    assert public["transcript"]["operations"] == 7


def test_directed_relations_and_those_between_types_are_drawn_by_the_method_that_takes_them(tenant):
    schema = {
        "node_types": [{"name": "person", "count": NODES}, {"name": "firm", "count": 20}],
        "edge_types": [KNOWS, {**KNOWS, "name": "cites", "directed": True}, {**KNOWS, "name": "hires"}],
    }
    schema["edge_types"][2]["source"] = "firm"
    dataset = tenant.register(epsilon="9", graph_schema=schema, in_parts=True)["id"]
    rng = np.random.default_rng(2)
    text = "type,source,target\n"
    for name, most in (("knows", NODES), ("cites", NODES), ("hires", 20)):
        ends = zip(rng.integers(0, most, 400), rng.integers(0, NODES, 400), strict=True)
        text += "".join(f"{name},{u},{v}\n" for u, v in ends)
    tenant.work(Topic.INGEST, tenant.upload(dataset, text).json()["id"])
    job, public = published(tenant, dataset)
    assert (job["method"], public["guarantee"]["kind"]) == ("anchored", "pure")
    told = tenant.call("GET", f"/datasets/{dataset}").json()["version"]["ingest_report"]["edges"]
    for each in public["statistics"]["edge_types"]:
        assert abs(each["edges"] - told[each["name"]]["edges"]) < 150
    assert [len(each["degrees"]) for each in public["statistics"]["edge_types"]] == [1, 2, 2]


STARS = {"name": "stars", "kind": "integer", "bounds": [1, 5], "aggregate": "max"}
RATES = {**KNOWS, "name": "rates", "directed": True, "attributes": [STARS]}


@pytest.mark.parametrize("method", ["auto", "dcsbm"])
def test_edges_carry_values(tenant, method):
    """Uploaded in two files, synthesised by auto's share or by a named one, and shown in the report."""
    relation = RATES if method == "auto" else {**RATES, "directed": False}
    schema = {"node_types": [{"name": "person", "count": NODES}], "edge_types": [relation]}
    dataset = tenant.register(epsilon="80", graph_schema=schema, in_parts=True)["id"]
    rng = np.random.default_rng(len(method))
    for part in ("edges-1-of-2", "edges-2-of-2"):
        rows = zip(*rng.integers(0, NODES, (2, 400)), rng.integers(1, 6, 400), strict=True)
        text = "source,target,stars\n" + "".join(f"{u},{v},{stars}\n" for u, v, stars in rows)
        version = tenant.upload(dataset, text, f"part={part}&format=csv").json()
    tenant.work(Topic.INGEST, version["id"])
    told = tenant.call("GET", f"/datasets/{dataset}").json()["version"]["ingest_report"]["edges"]["rates"]
    assert (told["values_clipped"], told["rows"]) == (0, 800)
    asked = {} if method == "auto" else {"method": method, "parameters": BEFORE | {"attribute_share": 0.4}}
    job, public = published(tenant, dataset, "80", **asked)  # of which counts of values have a fortieth
    assert job["method"] == ("anchored" if method == "auto" else method)
    (stars,) = public["carried"]
    found = []
    for number in range(job["shards"]["total"]):
        name = f"edges-{number:05d}-of-{job['shards']['total']:05d}.parquet"
        content = tenant.call("GET", f"/jobs/{job['id']}/artifacts/{name}").content
        found += pq.read_table(pa.BufferReader(content))["stars"].to_pylist()
    assert stars["released"] == [found.count(each) for each in range(1, 6)]
    assert all(abs(each - told["edges"] / 5) < 60 for each in stars["paid"])


def test_values_of_edges_that_stay_elsewhere_are_refused_when_they_are_named(tenant, lake):
    schema = {
        "node_types": [{"name": "person", "count": NODES}],
        "edge_types": [{**KNOWS, "attributes": [STARS]}],
    }
    dataset = tenant.register(epsilon="9", graph_schema=schema, in_parts=True)["id"]
    body = json.dumps({"folder": str(lake / "rows"), "source": "a", "target": "b"})
    refused = tenant.upload(dataset, body, "part=edges&format=reference")
    assert refused.status_code == 422
    assert "'knows' declares attributes" in refused.json()["detail"]
    assert refused.json()["detail"].endswith("; upload the edges")


PROTECTED = {"name": "person", "count": NODES, "protected": True, "degree_bound": 40}


@pytest.mark.parametrize("times", [False, True], ids=["plain", "timed"])
def test_persons_are_hidden_with_all_their_edges(tenant, times):
    """Unit node: auto names the method and what it needs, and one read after the other pays."""
    time = {"time": {"start": 0, "width": 1, "count": 2}} if times else {}
    schema = {"node_types": [PROTECTED], "edge_types": [{**KNOWS, "temporal": times}], **time}
    dataset = tenant.register(epsilon="9", unit="node", graph_schema=schema, in_parts=True)["id"]
    rows = np.random.default_rng(4 + times).integers(0, NODES, (600, 2)).tolist()
    head = "source,target,time\n" if times else "source,target\n"
    text = head + "".join(f"{u},{v},{u % 2}\n" if times else f"{u},{v}\n" for u, v in rows)
    tenant.work(Topic.INGEST, tenant.upload(dataset, text).json()["id"])
    job, public = published(tenant, dataset)
    assert (job["method"], public["guarantee"]["kind"]) == ("projection", "pure")
    (told,) = public["statistics"]["edge_types"]
    assert 100 < told["edges"] < 1500
    assert "by the paid numbers there are" in public["training"]["notes"][0]
    asked = {"method": "projection", "parameters": {"triangle_share": 0.1}}
    refused = tenant.submit(dataset, "1", **asked)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "parameters.triangle_share"
    for method in ("composed", "dcsbm"):
        assert tenant.submit(dataset, "1", method=method).status_code == 422


def test_more_edges_of_a_person_than_are_declared_are_refused_and_never_cut(tenant):
    schema = {"node_types": [{**PROTECTED, "degree_bound": 2}], "edge_types": [KNOWS]}
    dataset = tenant.register(epsilon="9", unit="node", graph_schema=schema, in_parts=True)["id"]
    version = tenant.upload(dataset, "source,target\n0,1\n1,0\n2,2\n0,2\n0,3\n").json()["id"]
    tenant.work(Topic.INGEST, version)
    found = tenant.call("GET", f"/datasets/{dataset}").json()
    assert found["state"] == "rejected"
    assert "1 nodes of type 'person' have more than the 2 edges declared" in json.dumps(found)


def test_persons_whose_edges_stay_elsewhere_are_refused(tenant, lake):
    schema = {"node_types": [{**PROTECTED, "count": 9}], "edge_types": [KNOWS]}
    dataset = tenant.register(epsilon="9", unit="node", graph_schema=schema, in_parts=True)["id"]
    (lake / "persons").mkdir()
    pq.write_table(pa.table({"a": [0], "b": [1]}), lake / "persons" / "rows.parquet")
    body = json.dumps({"folder": str(lake / "persons"), "source": "a", "target": "b"})
    refused = tenant.call("PUT", f"/datasets/{dataset}/content?part=edges&format=reference", content=body)
    assert refused.status_code == 422
    assert "nobody's edges are kept in an order" in refused.json()["detail"]
    assert refused.json()["errors"][0]["field"] == "format"


def test_values_of_nodes_are_not_mixed_where_edges_stay_elsewhere(tenant, lake):
    """Said when the job is planned, with what to do instead; nothing is reserved."""
    schema = {"node_types": [PERSON], "edge_types": [KNOWS]}
    dataset = tenant.register(epsilon="9", graph_schema=schema, in_parts=True)["id"]
    tenant.upload(dataset, TOWNS, "part=nodes&format=csv")
    pairs = np.random.default_rng(3).integers(0, NODES, (300, 2))
    (lake / "rows").mkdir()
    pq.write_table(pa.table({"a": pairs[:, 0], "b": pairs[:, 1]}), lake / "rows" / "rows.parquet")
    body = json.dumps({"folder": str(lake / "rows"), "source": "a", "target": "b"})
    version = tenant.upload(dataset, body, "part=edges&format=reference").json()
    tenant.work(Topic.INGEST, version["id"])
    refused = tenant.submit(dataset, "2", method="dcsbm", parameters=WITH_VALUES)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert problem["errors"][0]["field"] == "parameters.node_attribute_share"
    assert "upload them in parts, or leave node_attribute_share out" in problem["detail"]
    assert tenant.submit(dataset, "2", method="dcsbm", parameters=BEFORE).status_code == 202


@pytest.mark.parametrize(
    ("schema", "unit", "why"),
    [
        (
            {
                "node_types": [{"name": "person", "count": 9}],
                "edge_types": [
                    {
                        **KNOWS,
                        "attributes": [{"name": "w", "kind": "number", "bounds": [0, 1]}],
                        "multiplicity": "each",
                        "records_per_slot": 3,
                    }
                ],
            },
            "edge",
            "declare an aggregate for each of them",
        ),
        (
            {
                "node_types": [{"name": "person", "count": 9}],
                "edge_types": [{**RATES, "temporal": True}],
                "time": {"start": 0, "width": 1, "count": 2},
            },
            "pair",
            "declare no attributes of relations with time",
        ),
        (
            {
                "node_types": [{"name": "person", "count": 9, "protected": True, "degree_bound": 4}],
                "edge_types": [{**KNOWS, "directed": True}],
            },
            "node",
            "'knows' is directed, or not inside the protected node type 'person'",
        ),
        (
            {
                "node_types": [{"name": "person", "count": 9}],
                "edge_types": [KNOWS, {**KNOWS, "name": "kin", "public": True}],
            },
            "edge",
            "'kin' is declared public",
        ),
    ],
    ids=["each", "pairs", "node", "public"],
)
def test_other_shapes_are_refused_when_they_are_declared(tenant, schema, unit, why):
    body = {"name": "d", "unit": unit, "epsilon": "1", "graph_schema": schema, "in_parts": True}
    refused = tenant.call("POST", "/datasets", json=body)
    assert refused.status_code == 422
    problem = refused.json()
    assert problem["errors"][0]["field"] == "in_parts"
    assert why in problem["detail"]
    assert problem["detail"].endswith("; leave in_parts out, or declare such a schema")
