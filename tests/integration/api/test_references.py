"""Edges that stay where they are, from POST /datasets to the report, with an engine and without one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from core.graphs.counted.spark import OnSpark
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import open_services
from tests.integration.api.conftest import Tenant
from tests.support.faults import endings
from tests.support.sail import Sail
from worker.process import open_process

pytestmark = pytest.mark.extras

NODES = 60
SCHEMA = {
    "node_types": [
        {
            "name": "person",
            "count": NODES,
            "attributes": [{"name": "town", "kind": "category", "protection": "public"}],
        }
    ],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}
TOWNS = "id,town\n" + "".join(f"{i},t{i % 3}\n" for i in range(NODES))
ENGINES = ["spark", "none"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def sail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sail]:
    with Sail(tmp_path_factory.mktemp("sail")) as server:
        yield server


@pytest.fixture(scope="module")
def serving(
    api_settings: Settings, lake: Path, sail: Sail, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Tenant]]:
    """A tenant of the service, whose engine is Sail or none."""
    opened: list[Any] = []

    def tenant(engine: str, **settings: Any) -> Tenant:
        of_engine = {"engine_url": sail.address, "engine_folder": (lake.parent / "engine").as_uri()}
        changed = {"engine_places": (str(lake),), **(of_engine if engine == "spark" else {}), **settings}
        chosen = Settings(**(api_settings.model_dump() | changed))
        services = open_services(chosen)
        opened.append(services)
        return Tenant(TestClient(create_app(services)), services, open_process(chosen))

    yield tenant
    for services in opened:
        services.close()


numbers = itertools.count()


def rows(lake: Path, pairs: np.ndarray | None = None) -> Path:
    """A folder of three files: a graph of its own each time."""
    folder = lake / f"edges-{next(numbers)}"
    folder.mkdir()
    if pairs is None:
        pairs = np.random.default_rng(next(numbers)).integers(0, NODES, (400, 2))
    for number in range(3):
        ends = pairs[number::3]
        pq.write_table(pa.table({"a": ends[:, 0], "b": ends[:, 1]}), folder / f"part-{number}.parquet")
    return folder


def referred(tenant: Tenant, at: Path, **more: Any) -> tuple[str, dict[str, Any]]:
    dataset = tenant.register(epsilon="9", graph_schema=SCHEMA, in_parts=True)["id"]
    assert tenant.upload(dataset, TOWNS, "part=nodes&format=csv").status_code == 200
    body = json.dumps({"folder": str(at), "source": "a", "target": "b", **more})
    answer = tenant.upload(dataset, body, "part=edges&format=reference")
    assert answer.status_code == 200, answer.text
    return dataset, answer.json()


def counted(tenant: Tenant, at: Path, **more: Any) -> dict[str, Any]:
    dataset, version = referred(tenant, at, **more)
    tenant.work(Topic.INGEST, version["id"])
    found = tenant.call("GET", f"/datasets/{dataset}").json()
    return dict(found)


def test_both_ways_report_the_same_and_content_has_one_account(serving, lake):
    folder = rows(lake)
    spark, alone = serving("spark"), serving("none")
    alone.name = spark.name  # one tenant, whose service was given an engine later
    one, other = counted(spark, folder), counted(alone, folder)
    assert (one["state"], other["state"]) == ("ready", "ready")
    told = [each["version"]["ingest_report"] for each in (one, other)]
    for report in told:
        report.pop("message", None)
        report.pop("bytes_stored")
    assert told[0] == told[1]
    assert told[0]["rows_read"] == 400
    assert len(told[0]["pinned"]) == 64
    assert one["account_id"] == other["account_id"]
    assert not list((lake.parent / "engine").glob("*"))


def test_the_same_edges_uploaded_draw_on_the_same_account(serving, lake):
    tenant, folder = serving("spark"), rows(lake)
    known = counted(tenant, folder)
    table = pq.read_table(folder)
    text = "source,target\n" + "".join(
        f"{u},{v}\n" for u, v in zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)
    )
    dataset = tenant.register(epsilon="9", graph_schema=SCHEMA, in_parts=True)["id"]
    tenant.upload(dataset, TOWNS, "part=nodes&format=csv")
    version = tenant.upload(dataset, text).json()
    tenant.work(Topic.INGEST, version["id"])
    assert tenant.call("GET", f"/datasets/{dataset}").json()["account_id"] == known["account_id"]


@pytest.mark.parametrize("engine", ENGINES)
def test_from_registration_to_the_report(serving, lake, engine):
    tenant = serving(engine, shard_edges=100)
    dataset = counted(tenant, rows(lake))
    params = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": "town"}
    job = tenant.submit(dataset["id"], "4", method="dcsbm", parameters=params).json()
    tenant.work(Topic.RUN, job["id"])
    fitted = tenant.call("GET", f"/jobs/{job['id']}").json()
    assert fitted["state"] == "running", fitted
    shards = fitted["shards"]["total"]
    assert shards > 1
    for number in range(shards):
        tenant.work(Topic.SHARD, f"{job['id']}.{number}")
    tenant.work(Topic.RUN, job["id"])
    found = tenant.call("GET", f"/jobs/{job['id']}").json()
    assert found["state"] == "published"
    assert endings(tenant.services, job["id"]) == ["reserve", "charge"]
    public = tenant.call("GET", f"/jobs/{job['id']}/report").json()["public"]
    assert public["guarantee"]["kind"] == "pure"
    edges = public["statistics"]["edge_types"][0]["edges"]
    assert abs(edges - dataset["version"]["ingest_report"]["edges"]["mail"]["edges"]) < 150


SEVERAL = {
    "node_types": [{"name": "person", "count": NODES}, {"name": "firm", "count": 20}],
    "edge_types": [
        {"name": "mail", "source": "person", "target": "person"},
        {"name": "cites", "source": "person", "target": "person", "directed": True},
        {"name": "hires", "source": "firm", "target": "person", "temporal": True},
    ],
    "time": {"start": 0, "width": 1, "count": 2},
}


@pytest.mark.parametrize("engine", ENGINES)
def test_several_relations_each_in_a_folder_of_its_own_to_the_report(serving, lake, engine):
    """Directed, and between two types with snapshots: published and charged once."""
    tenant = serving(engine, shard_edges=100)
    cells = [("mail", None), ("cites", None), ("hires", 0), ("hires", 1)]
    low = np.random.default_rng(next(numbers)).integers(0, (20, NODES - 1), (400, 2))
    named = [
        {"relation": name, "step": step, "folder": str(rows(lake, low + place)), "source": "a", "target": "b"}
        for place, (name, step) in enumerate([(name, step) for name, step in cells if name != "hires"])
    ]
    named += [
        {"relation": name, "step": step, "folder": str(rows(lake, low)), "source": "a", "target": "b"}
        for name, step in cells[2:]
    ]
    dataset = tenant.register(epsilon="9", unit="event", graph_schema=SEVERAL, in_parts=True)["id"]
    body = json.dumps({"relations": named[:-1]})
    version = tenant.upload(dataset, body, "part=edges&format=reference").json()
    tenant.work(Topic.INGEST, version["id"])
    found = tenant.call("GET", f"/datasets/{dataset}").json()
    assert (found["state"], "'hires' in step 1, which lacks" in json.dumps(found["version"])) == (
        "rejected",
        True,
    )
    body = json.dumps({"relations": named})
    version = tenant.upload(dataset, body, "part=edges&format=reference").json()
    tenant.work(Topic.INGEST, version["id"])
    found = tenant.call("GET", f"/datasets/{dataset}").json()
    assert found["state"] == "ready", found
    report = found["version"]["ingest_report"]
    assert {name: each["rows"] for name, each in report["edges"].items()} == {
        "mail": 400,
        "cites": 400,
        "hires": 800,
    }
    assert len(set(report["edges_per_step"]["hires"])) == 1
    job = tenant.submit(dataset, "6").json()
    assert tenant.call("GET", f"/jobs/{job['id']}").json()["method"] == "anchored"
    tenant.work(Topic.RUN, job["id"])
    for number in range(tenant.call("GET", f"/jobs/{job['id']}").json()["shards"]["total"]):
        tenant.work(Topic.SHARD, f"{job['id']}.{number}")
    tenant.work(Topic.RUN, job["id"])
    assert tenant.call("GET", f"/jobs/{job['id']}").json()["state"] == "published"
    assert endings(tenant.services, job["id"]) == ["reserve", "charge"]
    public = tenant.call("GET", f"/jobs/{job['id']}/report").json()["public"]
    told = {each["name"]: each["edges"] for each in public["statistics"]["edge_types"]}
    # Pairs that are drawn twice count once: about .84, and .05 as noise goes.
    assert all(0.6 < told[name] / each["edges"] < 1.4 for name, each in report["edges"].items())


@pytest.mark.parametrize("engine", ENGINES)
def test_partitions_and_globs_are_referred_to(serving, lake, engine):
    tenant, folder = serving(engine), rows(lake)
    whole = counted(tenant, folder)
    parted = lake / f"parted-{next(numbers)}"
    for number, path in enumerate(sorted(folder.iterdir())):
        (parted / f"year={2020 + number}").mkdir(parents=True)
        path.rename(parted / f"year={2020 + number}" / path.name)
    for place in (parted, parted / "year=20*", parted / "*" / "part-*.parquet"):
        assert counted(tenant, place)["account_id"] == whole["account_id"]
    found = counted(tenant, parted / "year=2021*")
    read = found["version"]["ingest_report"]["rows_read"]
    assert (read, found["account_id"] == whole["account_id"]) == (133, False)
    for place, said in ((parted / "month*", "no Parquet file"), (parted / "**", "for each folder below")):
        found = counted(tenant, place)
        assert (found["state"], said in json.dumps(found["version"])) == ("rejected", True)


@pytest.mark.parametrize("engine", ENGINES)
def test_ends_outside_the_universe_are_findings(serving, lake, engine):
    tenant = serving(engine)
    found = counted(tenant, rows(lake, np.array([[0, 1], [2, 77], [3, 4]])))
    assert found["state"] == "rejected"
    (finding,) = found["version"]["findings"]
    assert finding["message"].startswith("1 rows end outside the universe, among them: the end '77'")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"folder": "/etc"}, "GRAPHVEIL_ENGINE_PLACES"),
        ({"source": "c"}, "no column 'c'"),
        ({"folder": None}, "name a folder or a table"),
        ({"limit": 3}, "limit"),
    ],
)
def test_what_cannot_be_referred_to_is_said_to_curators(serving, lake, engine, more, message):
    found = counted(serving(engine), rows(lake), **more)
    assert found["state"] == "rejected"
    assert message in json.dumps(found["version"])


def test_who_leaves_the_place_by_dots_is_refused(serving, lake):
    found = counted(serving("none"), Path(f"{lake}/../secrets"))
    assert "GRAPHVEIL_ENGINE_PLACES" in json.dumps(found["version"])


def test_a_place_of_one_tenant_is_none_of_another(serving, lake):
    other = serving("none", engine_places=(f"agency={lake}",))
    dataset = other.register(graph_schema=SCHEMA, in_parts=True)["id"]
    answer = other.upload(dataset, json.dumps({"folder": str(lake)}), "part=edges&format=reference")
    assert (answer.status_code, "upload the edges" in answer.text) == (422, True)
    elsewhere = serving("none", engine_places=(f"agency={lake}", f"{lake}/elsewhere"))
    found = counted(elsewhere, rows(lake))
    assert "GRAPHVEIL_ENGINE_PLACES" in json.dumps(found["version"])


def test_no_reference_is_taken_where_none_would_be_counted(serving, lake):
    tenant = serving("none")
    whole = tenant.register()["id"]
    body = json.dumps({"folder": str(lake)})
    answer = tenant.upload(whole, body, "part=edges&format=reference")
    assert (answer.status_code, "in_parts" in answer.text) == (422, True)
    closed = serving("none", engine_places=())
    dataset = closed.register(graph_schema=SCHEMA, in_parts=True)["id"]
    answer = closed.upload(dataset, body, "part=edges&format=reference")
    assert (answer.status_code, "upload the edges" in answer.text) == (422, True)
    answer = closed.upload(dataset, body, "part=nodes&format=reference")
    assert answer.status_code == 422


@pytest.mark.faults
def test_an_engine_that_is_away_is_asked_again(serving, lake, tmp_path):
    """Its work waits for another attempt, and what it counts then is what it would have counted."""
    engine, folder = Sail(tmp_path), rows(lake)
    away = serving("spark", engine_url=engine.address)
    dataset, version = referred(away, folder)
    away.work(Topic.INGEST, version["id"])
    assert away.call("GET", f"/datasets/{dataset}").json()["state"] == "validating"
    with engine:
        away.work(Topic.INGEST, version["id"])
        found = away.call("GET", f"/datasets/{dataset}").json()
    assert found["state"] == "ready"
    again = serving("spark")
    again.name = away.name
    assert counted(again, folder)["account_id"] == found["account_id"]


@pytest.mark.faults
def test_an_engine_that_is_killed_while_it_counts_leaves_nothing_and_its_work_is_done_again(
    serving, lake, tmp_path, monkeypatch
):
    """Its executors are gone with canonical edges half counted; the next attempt deletes them, and counts."""
    engine, folder, kept = Sail(tmp_path), rows(lake), tmp_path / "kept"
    tenant = serving("spark", engine_url=engine.address, engine_folder=kept.as_uri())
    dataset, version = referred(tenant, folder)
    seen: list[list[str]] = []

    def killed(self: OnSpark, key: bytes) -> str:
        seen.append([path.name for path in kept.glob("*/edges-*")])
        engine.kill()
        return counts(self, key)

    counts = OnSpark.fingerprint
    with engine:
        monkeypatch.setattr(OnSpark, "fingerprint", killed)
        monkeypatch.setattr("worker.kinds.referenced.places.remove", lambda place: None)  # as a killed worker
        tenant.work(Topic.INGEST, version["id"])
        assert tenant.call("GET", f"/datasets/{dataset}").json()["state"] == "validating"
        assert seen[0]
        assert len(list(kept.iterdir())) == 1
        monkeypatch.undo()
        engine.start()
        tenant.work(Topic.INGEST, version["id"])
    assert tenant.call("GET", f"/datasets/{dataset}").json()["state"] == "ready"
    assert not list(kept.iterdir())
    again = serving("spark")
    again.name = tenant.name
    known = counted(again, folder)
    assert known["account_id"] == tenant.call("GET", f"/datasets/{dataset}").json()["account_id"]
