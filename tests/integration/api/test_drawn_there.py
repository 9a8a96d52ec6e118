"""Shards that tasks of the engine draw, over HTTP: killed, retried, lost, and drawn by workers again."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.app import create_app
from core.graphs.counted.spark import Spark
from core.outbox.models import Topic
from core.publishing.drawn import Drawing
from core.settings import Settings
from core.workflows.common.context import open_services
from core.workflows.releases import sharded
from tests.integration.api.conftest import Tenant
from tests.support.faults import assert_sound, endings, lapse, until
from tests.support.killed import Killed
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import stored_keys
from tests.support.sail import Sail
from worker.process import open_process
from worker.reaper import reap_once

pytestmark = pytest.mark.extras

NODES = 60
numbers = itertools.count()
PEOPLE = [{"name": "person", "count": NODES}]
BETWEEN = {"source": "person", "target": "person"}
SCHEMAS: dict[str, Any] = {
    "mirrored": {"node_types": PEOPLE, "edge_types": [{"name": "mail", **BETWEEN}]},
    "directed": {
        "node_types": PEOPLE,
        "edge_types": [{"name": name, "directed": True, **BETWEEN} for name in ("mail", "call")],
    },
}


@pytest.fixture(scope="module")
def sail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sail]:
    with Sail(tmp_path_factory.mktemp("sail")) as server:
        yield server


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder that the engine and workers reach."""
    return tmp_path / "kept"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder


@pytest.fixture
def serving(api_settings: Settings, lake: Path, kept: Path, sail: Sail) -> Iterator[Callable[..., Tenant]]:
    """A tenant of a service whose shards the engine draws, unless settings say otherwise."""
    opened: list[Any] = []

    def tenant(name: str | None = None, **settings: Any) -> Tenant:
        of_engine = {"engine_url": sail.address, "engine_folder": kept.as_uri(), "engine_draws": True}
        changed = {"release_places": (str(lake),), "shard_edges": 100, **of_engine, **settings}
        chosen = Settings(**(api_settings.model_dump() | changed))
        services = open_services(chosen)
        opened.append(services)
        made = Tenant(TestClient(create_app(services)), services, open_process(chosen))
        made.name = name or made.name
        return made

    yield tenant
    for services in opened:
        services.close()


def fitted(tenant: Tenant, lake: Path, shape: str = "mirrored") -> tuple[str, int]:
    """A job that is fitted and written to the lake, and in how many shards it is drawn."""
    schema = SCHEMAS[shape]
    dataset = str(tenant.register(epsilon="9", graph_schema=schema, in_parts=True)["id"])
    pairs = np.random.default_rng(next(numbers)).integers(0, NODES, (500, 2)).tolist()
    text = "source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs)
    if len(schema["edge_types"]) > 1:
        kinds = [schema["edge_types"][number % 2]["name"] for number in range(len(pairs))]
        text = "source,target,type\n" + "".join(
            f"{u},{v},{kind}\n" for (u, v), kind in zip(pairs, kinds, strict=True)
        )
    tenant.work(Topic.INGEST, tenant.upload(dataset, text).json()["id"])
    job = str(tenant.submit(dataset, "4", write_to=str(lake)).json()["id"])
    tenant.work(Topic.RUN, job)
    total = state(tenant, job)["shards"]["total"]
    assert total > 3
    return job, total


def state(tenant: Tenant, job: str) -> dict[str, Any]:
    return dict(tenant.call("GET", f"/jobs/{job}").json())


def draw(tenant: Tenant, job: str, number: int = 0) -> dict[str, int]:
    """A worker took this shard; how many are drawn then."""
    tenant.work(Topic.SHARD, f"{job}.{number}")
    return dict(state(tenant, job)["shards"])


def again(tenant: Tenant) -> None:
    """What nobody holds any more may be taken at once."""
    lapse(tenant.services)
    reap_once(tenant.services)


def whole(tenant: Tenant, job: str, lake: Path) -> None:
    """It is published and charged once, and the lake has what the charge names."""
    tenant.work(Topic.RUN, job)
    assert state(tenant, job)["state"] == "published", state(tenant, job)
    assert endings(tenant.services, job) == ["reserve", "charge"]
    assert_sound(tenant.services, job)
    listed = tenant.call("GET", f"/jobs/{job}/artifacts").json()["items"]
    charged = {each["written_to"]: each["sha256"] for each in listed if each["written_to"] is not None}
    found = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in (lake / job).rglob("*.parquet")
    }
    assert found == charged
    told = tenant.call("GET", f"/jobs/{job}/report").json()["public"]["statistics"]["edge_types"]
    rows = sum(pq.read_metadata(path).num_rows for path in (lake / job / "edges").iterdir())
    assert sum(each["edges"] for each in told) == rows
    assert stored_keys(tenant.services, f"staging/{job}") == []


@pytest.mark.parametrize("shape", SCHEMAS)
def test_one_worker_has_all_shards_drawn_and_lost_ones_have_the_same_bytes_from_a_child(
    serving, lake, kept, shape
):
    """Of a part that is drawn again the row tells the digest: other bytes would fail the job."""
    tenant = serving()
    job, total = fitted(tenant, lake, shape)
    assert draw(tenant, job, 1) == {"drawn": total, "total": total}
    assert list(kept.iterdir()) == []
    assert list(lake.iterdir()) == []  # nothing is written that is not charged
    parts = sorted(stored_keys(tenant.services, f"staging/{job}/parts"))
    for lost in parts[1:3]:
        tenant.services.store.delete(lost)
    tenant.work(Topic.RUN, job)
    assert state(tenant, job)["shards"]["drawn"] == total - 2
    alone = serving(tenant.name, engine_draws=False)
    assert draw(alone, job, 1)["drawn"] == total - 1
    assert draw(tenant, job, 2)["drawn"] == total
    assert sorted(stored_keys(tenant.services, f"staging/{job}/parts")) == parts
    whole(tenant, job, lake)


def test_an_executor_that_is_killed_while_it_draws_costs_an_attempt_and_no_budget(
    serving, lake, kept, tmp_path, monkeypatch
):
    with Sail(tmp_path) as engine:
        tenant = serving(engine_url=engine.address)
        job, total = fitted(tenant, lake)
        with monkeypatch.context() as patch:
            patch.setattr("worker.kinds.shard.Drawing", Killed)
            assert draw(tenant, job)["drawn"] == 0
        assert (kept / "died").exists()
        assert [path.name for path in kept.iterdir()] in (["died"], ["died", job], [job, "died"])
        assert endings(tenant.services, job) == ["reserve"]
        engine.kill()
        engine.start()
        assert draw(tenant, job, 2)["drawn"] == total
    assert [path.name for path in kept.iterdir()] == ["died"]
    whole(tenant, job, lake)


def test_an_engine_that_stays_away_costs_no_paid_release(serving, lake, tmp_path):
    """The last attempt is a worker's own."""
    tenant = serving(engine_url=Sail(tmp_path).address)
    job, total = fitted(tenant, lake)
    for _ in range(tenant.services.settings.max_attempts - 1):
        assert draw(tenant, job)["drawn"] == 0
    for number in range(total):
        assert draw(tenant, job, number)["drawn"] == number + 1
    whole(tenant, job, lake)


class WorkerKilled(BaseException):
    """As if its process were gone."""


@pytest.mark.parametrize("after", [0, 2])
def test_a_worker_that_is_killed_while_it_keeps_parts_leaves_the_rest_to_another(
    serving, lake, kept, monkeypatch, after
):
    tenant = serving()
    job, total = fitted(tenant, lake)
    finished, finish = itertools.count(), sharded.finish_shard

    def dying(services: Any, work: Any) -> None:
        if next(finished) == after:
            raise WorkerKilled
        finish(services, work)

    with monkeypatch.context() as patch:
        patch.setattr(sharded, "finish_shard", dying)
        patch.setattr("worker.kinds.on_engine.places.remove", lambda place: None)
        with pytest.raises(WorkerKilled):
            draw(tenant, job)
    assert state(tenant, job)["shards"]["drawn"] == after
    left = [path for path in kept.rglob("*") if path.is_file()]
    assert len(left) == 2 * total + 1
    assert all(path.read_bytes().startswith(b"GVS1") for path in left)  # sealed, and the key is gone
    again(tenant)
    assert draw(tenant, job, total - 1)["drawn"] == total
    assert list(kept.iterdir()) == []
    whole(tenant, job, lake)


def test_shards_that_are_held_beside_are_held_as_long(serving, lake, monkeypatch):
    """Leases of all are extended while the engine draws: the reaper takes none of them back."""
    tenant = serving(lease_seconds=PATIENCE_SECONDS, heartbeat_seconds=0.1)
    job, total = fitted(tenant, lake)
    seen: list[int] = []
    each = Spark.each

    def slow(self: Spark, task: Any, count: int) -> Any:
        told = each(self, task, count)
        seen.append(count)
        for _ in range(3):
            nearly_over(tenant, job, total)
            reap_once(tenant.services)
        assert state(tenant, job)["shards"]["drawn"] == 0
        return told

    monkeypatch.setattr(Spark, "each", slow)
    assert draw(tenant, job)["drawn"] == total
    assert seen == [total]  # nobody had to draw one again
    whole(tenant, job, lake)


def test_a_cancel_stops_what_the_engine_draws_and_its_cost_stays(serving, lake, kept, monkeypatch):
    tenant = serving(heartbeat_seconds=0.1)
    job, _ = fitted(tenant, lake)
    stopped, stop, each = threading.Event(), Spark.stop, Spark.each

    def cancelled(self: Spark, task: Any, count: int) -> Any:
        told = each(self, task, count)
        assert tenant.call("POST", f"/jobs/{job}/cancel").status_code < 300
        assert stopped.wait(PATIENCE_SECONDS)
        return told

    def stopping(self: Spark) -> None:
        stopped.set()
        stop(self)

    monkeypatch.setattr(Spark, "each", cancelled)
    monkeypatch.setattr(Spark, "stop", stopping)
    tenant.work(Topic.SHARD, f"{job}.0")
    assert stopped.is_set()
    assert state(tenant, job)["state"] == "cancelled"
    assert endings(tenant.services, job) == ["reserve", "forfeit"]
    assert not list(kept.rglob("parts"))
    assert list(lake.iterdir()) == []
    assert_sound(tenant.services, job)


def nearly_over(tenant: Tenant, job: str, total: int) -> None:
    """Most of the leases' time goes by; all of them are extended before they are over."""
    shards, left = "FROM shards WHERE job_id = :job AND leased_by IS NOT NULL", 0.2 * PATIENCE_SECONDS
    ends = text(f"UPDATE shards SET lease_expires_at = now() + :left WHERE id IN (SELECT id {shards})")
    extended = text(f"SELECT count(*) {shards} AND lease_expires_at > now() + 2 * CAST(:left AS interval)")
    asked = {"job": job, "left": timedelta(seconds=left)}
    with tenant.services.db.transaction() as session:
        assert session.execute(ends, asked).rowcount == total

    def all_extended() -> bool:
        with tenant.services.db.transaction() as session:
            return session.scalar(extended, asked) == total

    until(all_extended, what="a heartbeat of every lease")


def test_a_part_of_other_bytes_than_its_task_told_is_not_kept(serving, lake, kept, monkeypatch):
    tenant = serving()
    job, total = fitted(tenant, lake)

    def altered(self: Spark, task: Drawing, count: int) -> Any:
        told = each(self, task, count)
        task.put("parts/" + str(told[0]["name"]), [b"other bytes"])
        return told

    each = Spark.each
    with monkeypatch.context() as patch:
        patch.setattr(Spark, "each", altered)
        assert draw(tenant, job)["drawn"] < total
    assert not list(kept.rglob("parts"))
    again(tenant)
    assert draw(tenant, job)["drawn"] == total
    whole(tenant, job, lake)
