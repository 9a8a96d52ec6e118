"""A collection of graphs over HTTP: declared, uploaded, released, compared."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant

SIZES = {"1": 60, "2": 45, "c": 150}
COLLECTION = {
    "graphs": [{"id": name, "nodes": size, "label": f"class {size % 2}"} for name, size in SIZES.items()]
}
EDGES = "graph_id,source,target\n" + "".join(
    f"{name},{i},{(i + k) % size}\n" for name, size in SIZES.items() for i in range(size) for k in (1, 2)
)


@pytest.fixture(scope="module")
def dataset(house: Tenant) -> str:
    dataset_id = house.register("5", graph_schema={"collection": COLLECTION})["id"]
    received = house.upload(dataset_id, EDGES)
    assert received.status_code == 200, received.text
    house.work(Topic.INGEST, received.json()["id"])
    return dataset_id


@pytest.fixture(scope="module")
def job(house: Tenant, dataset: str) -> str:
    answer = house.submit(dataset, "1", method="dpggan", formats=["parquet", "csv"])
    assert answer.status_code == 202, answer.text
    job_id = answer.json()["id"]
    house.work(Topic.RUN, job_id)
    house.work(Topic.EVALUATE, job_id)
    return job_id


def test_the_schema_is_shown_as_it_was_declared(house: Tenant, dataset: str):
    shown = house.call("GET", f"/datasets/{dataset}").json()
    assert shown["state"] == "ready"
    assert [graph["id"] for graph in shown["graph_schema"]["collection"]["graphs"]] == list(SIZES)
    assert "edge_types" not in shown["graph_schema"]


def test_every_graph_has_all_of_epsilon_and_the_budget_pays_once(house: Tenant, dataset: str, job: str):
    shown = house.call("GET", f"/jobs/{job}").json()
    assert shown["state"] == "published"
    assert shown["edge_types"] == [f"graph-{name}" for name in SIZES]
    charged = house.call("GET", f"/datasets/{dataset}/budget").json()["charged"]
    assert charged["epsilon"] == "1"


def test_the_release_names_the_graph_of_every_row(house: Tenant, job: str):
    told = house.call("GET", f"/jobs/{job}/artifacts/graph.csv", Role.REQUESTER).text
    rows = list(csv.DictReader(io.StringIO(told)))
    assert list(rows[0]) == ["graph_id", "source", "target"]
    assert set(Counter(row["graph_id"] for row in rows)) == set(SIZES)
    assert all(row["source"].startswith(f"graph-{row['graph_id']}-") for row in rows)
    schema = house.call("GET", f"/jobs/{job}/artifacts/schema.json").json()
    assert [graph["label"] for graph in schema["collection"]["graphs"]] == ["class 0", "class 1", "class 0"]


def test_a_download_that_broke_off_goes_on_where_it_ended(house: Tenant, job: str):
    path = f"/jobs/{job}/artifacts/graph.csv"
    whole = house.call("GET", path, Role.REQUESTER)
    size, tag = len(whole.content), whole.headers["ETag"]
    assert whole.headers["Accept-Ranges"] == "bytes"

    def part(asked: str, **more: str) -> tuple[int, bytes, str | None]:
        answer = house.call("GET", path, Role.REQUESTER, headers={"Range": asked, **more})
        if answer.status_code == 206:
            assert int(answer.headers["Content-Length"]) == len(answer.content)
        return answer.status_code, answer.content, answer.headers.get("Content-Range")

    assert part("bytes=10-") == (206, whole.content[10:], f"bytes 10-{size - 1}/{size}")
    assert part("bytes=3-7") == (206, whole.content[3:8], f"bytes 3-7/{size}")
    assert part("bytes=-5") == (206, whole.content[-5:], f"bytes {size - 5}-{size - 1}/{size}")
    assert part(f"bytes=0-{size + 9}")[:2] == (206, whole.content)
    assert part("bytes=10-", **{"If-Range": tag})[0] == 206
    for ignored in ("bytes=7-3", "bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes=x-"):
        assert part(ignored)[:2] == (200, whole.content)
    assert part("bytes=10-", **{"If-Range": '"another"'})[:2] == (200, whole.content)
    for beyond in (f"bytes={size}-", "bytes=-0"):
        answer = house.call("GET", path, Role.REQUESTER, headers={"Range": beyond})
        assert answer.status_code == 416
        assert answer.headers["Content-Range"] == f"bytes */{size}"
        problem = answer.json()
        assert (problem["type"], problem["size_bytes"]) == ("/problems/range-not-satisfiable", size)


def test_the_report_has_a_part_for_each_graph_and_their_means(house: Tenant, job: str):
    report = house.call("GET", f"/jobs/{job}/report").json()
    assert report["public"]["statistics"]["nodes"] == {f"graph-{n}": size for n, size in SIZES.items()}
    overall = report["curator"]["comparison"]["overall"]["scalars"]["edges"]
    assert overall["original"] == pytest.approx(2 * sum(SIZES.values()) / 3)


def test_some_of_the_graphs_may_be_released(house: Tenant, dataset: str):
    answer = house.submit(dataset, "0.5", method="degree_triangle", edge_types=["graph-c"])
    assert answer.status_code == 202, answer.text
    house.work(Topic.RUN, answer.json()["id"])
    schema = house.call("GET", f"/jobs/{answer.json()['id']}/artifacts/schema.json").json()
    assert [graph["id"] for graph in schema["collection"]["graphs"]] == ["c"]


def test_a_further_sample_is_the_same_collection(house: Tenant, job: str):
    answer = house.call("POST", f"/jobs/{job}/samples", json={}, headers={"Idempotency-Key": "collected"})
    assert answer.status_code == 202, answer.text
    sample = answer.json()["id"]
    house.work(Topic.RUN, sample)
    assert house.call("GET", f"/jobs/{sample}").json()["state"] == "published"
    schemas = [house.call("GET", f"/jobs/{each}/artifacts/schema.json").json() for each in (job, sample)]
    assert schemas[0] == schemas[1]


def test_what_does_not_fit_is_refused_with_its_field(house: Tenant):
    def refused(collection: dict[str, Any]) -> dict[str, Any]:
        body = {"name": "refused", "unit": "edge", "epsilon": "1", "graph_schema": {"collection": collection}}
        answer = house.call("POST", "/datasets", json=body)
        assert answer.status_code == 422, answer.text
        return answer.json()["errors"][0]

    assert refused({"graphs": [{"id": "1", "nodes": 0}]})["field"] == "graph_schema.collection.graphs.0.nodes"
    most = {"graphs": [{"id": str(number), "nodes": 5} for number in range(1001)]}
    error = refused(most)
    assert error["field"] == "graph_schema.collection.graphs"
    assert "1001 graphs; at most 1000" in str(error)


def test_a_bad_row_is_a_finding_for_the_curators(tenant: Tenant):
    dataset_id = tenant.register(graph_schema={"collection": COLLECTION})["id"]
    received = tenant.upload(dataset_id, "graph_id,source,target\n1,0,1\n4,0,1\n")
    tenant.work(Topic.INGEST, received.json()["id"])
    shown = tenant.call("GET", f"/datasets/{dataset_id}").json()
    assert shown["state"] == "rejected"
    finding = shown["version"]["findings"][0]
    assert (finding["line"], finding["column"]) == (3, 1)
    assert "the graph '4' is not declared" in finding["message"]
