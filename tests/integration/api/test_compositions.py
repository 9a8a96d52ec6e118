"""A composition in every answer of the service: dry run, target, menu, report and measurements."""

from __future__ import annotations

import pytest

from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant

KNOWS, CALLS = "knows", "calls"
MAP = {KNOWS: "dcsbm", "*": {"method": "anchored", "parameters": {"evidence": "none"}}}
SCHEMA = {
    "node_types": [{"name": "person", "count": 40}],
    "edge_types": [{"name": name, "source": "person", "target": "person"} for name in (KNOWS, CALLS)],
}


@pytest.fixture(scope="module")
def dataset_id(house: Tenant) -> str:
    rows = [f"{n},{(n + hop) % 40},{name}" for n in range(40) for hop in (1, 3) for name in (KNOWS, CALLS)]
    content = "\n".join(["source,target,type", *rows]) + "\n"
    return house.ready("60", content, graph_schema=SCHEMA, policy={"measurements": True})


def test_a_plan_tells_every_relation_what_it_would(house: Tenant, dataset_id: str):
    asked = {"dataset_id": dataset_id, "method": MAP, "assume": {"edges": 80}}
    plan = house.call("POST", "/jobs?dry_run=true", json={**asked, "epsilon": "1"}).json()
    structures = plan["parameters"]["structures"]
    assert (plan["method"], plan["cost"]["epsilon"]) == ("composed", "1")
    assert {name: each["method"] for name, each in structures.items()} == {KNOWS: "dcsbm", CALLS: "anchored"}
    for part in ("precision", "expected"):
        assert {each["edge_type"] for each in plan[part]} == {KNOWS, CALLS}, part
    told = []
    for name, method in ((KNOWS, "dcsbm"), (CALLS, MAP["*"])):
        by_itself = {**asked, "epsilon": "1", "edge_types": [name], "method": {name: method}}
        told += house.call("POST", "/jobs?dry_run=true", json=by_itself).json()["precision"]
    assert sorted(map(str, plan["precision"])) == sorted(map(str, told))


def test_a_target_is_met_by_every_relation(house: Tenant, dataset_id: str):
    asked = {"dataset_id": dataset_id, "method": MAP, "target": {"edges_within_95": 10}}
    plan = house.call("POST", "/jobs?dry_run=true", json=asked).json()
    within = {
        each["edge_type"]: each["value"] for each in plan["expected"] if each["question"] == "edges_within_95"
    }
    assert set(within) == {KNOWS, CALLS}
    assert 9 < max(within.values()) <= 10
    assert float(plan["cost"]["epsilon"]) == pytest.approx(float(plan["solved"]["epsilon"]))


def test_a_menu_lays_compositions_beside_methods(house: Tenant, dataset_id: str):
    methods = [{"method": MAP}, {"method": "auto"}, {"method": "tmf"}]
    asked = {"dataset_id": dataset_id, "methods": methods, "epsilons": ["0.5", "1"]}
    items = house.call("POST", "/plans", json=asked).json()["items"]
    assert [each["method"] for each in items[:2]] == ["composed", "composed"]
    assert all({KNOWS, CALLS} == {one["edge_type"] for one in each["precision"]} for each in items[:2])
    assert not any(each["refused"] for each in items)


def test_a_report_and_measurements_have_every_relation(house: Tenant, dataset_id: str):
    job = house.submit(dataset_id, "8", method=MAP).json()["id"]
    house.work(Topic.RUN, job)
    house.work(Topic.EVALUATE, job)
    report = house.call("GET", f"/jobs/{job}/report").json()
    assert set(report["public"]["parameters"]["structures"]) == {KNOWS, CALLS}
    assert {each["edge_type"] for each in report["public"]["precision"]} == {KNOWS, CALLS}
    assert {each["name"] for each in report["curator"]["comparison"]["edge_types"]} == {KNOWS, CALLS}
    files = {each["name"] for each in house.call("GET", f"/jobs/{job}/artifacts").json()["items"]}
    assert "measurements.json" in files
    listed = house.call("GET", f"/jobs/{job}/artifacts/measurements.json").json()
    assert {each["edge_type"] for each in listed["measurements"]} >= {KNOWS, CALLS}
