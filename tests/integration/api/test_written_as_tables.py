"""Releases in parts that are tables of the engine's catalogue too, over HTTP and Spark Connect."""

from __future__ import annotations

import re
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.graphs.counted.spark import Spark, connect
from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant
from tests.integration.api.test_written_back import (
    again,
    asked,
    drawn,
    files,
    lake,
    parted,
    serving,
    state,
)
from tests.support.faults import assert_sound, endings
from tests.support.sail import Sail

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.extras
__all__ = ["lake", "serving"]  # fixtures

PLACE = "table:out"


@pytest.fixture(scope="module")
def sail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sail]:
    with Sail(tmp_path_factory.mktemp("sail")) as server:
        yield server


@pytest.fixture
def catalogue(sail: Sail, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, SparkSession]]:
    """The engine with a catalogue that lasts. Sail has its own for as long as a session, so that all attempts
    are in one here, which none of them ends."""
    address = f"{sail.address}/;session_id={uuid.uuid4()}"
    session = connect(address)
    session.sql("create database out").toArrow()
    with monkeypatch.context() as patch:
        patch.setattr(Spark, "stop", lambda self: None)
        yield address, session
    session.stop()


@pytest.fixture
def tenant(serving: Callable[..., Tenant], lake: Path, catalogue: tuple[str, Any]) -> Tenant:
    return serving(engine_url=catalogue[0], release_places=(f"{PLACE}={lake}",))


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def whole(tenant: Tenant, job: str, lake: Path, session: SparkSession) -> dict[str, int]:
    """The release is published and charged once, its tables have its files' rows once; their snapshots."""
    assert state(tenant, job)["state"] == "published"
    assert endings(tenant.services, job) == ["reserve", "charge"]
    assert_sound(tenant.services, job)
    said = (lake / job / "_SUCCESS").read_text()
    found = {name: int(number) for name, number in re.findall(r"^# (\S+) snapshot (\d+)$", said, re.M)}
    kinds = {path.name for path in (lake / job).iterdir() if path.is_dir()} - {"iceberg"}
    assert {"edges", "nodes"} <= kinds
    assert found.keys() == {f"out.{job}_{kind}" for kind in kinds}
    told = state(tenant, job)["tables"]
    assert told == [{"name": name, "snapshot": str(found[name])} for name in sorted(found)]
    for kind in kinds:
        name = f"out.{job}_{kind}"
        there = session.sql(f"select * from {name} version as of {found[name]}").toArrow()
        mine = pq.read_table(lake / job / kind)
        assert rows(there.select(mine.column_names)) == rows(mine)
        assert session.table(name).count() == mine.num_rows
        assert len(list((lake / job / "iceberg" / kind).iterdir())) == 1
    checked = subprocess.run(["sha256sum", "--check", "--strict", "_SUCCESS"], cwd=lake / job, check=False)
    assert checked.returncode == 0
    return found


def test_the_catalogue_has_a_table_of_each_folder_with_the_snapshot_that_is_told(tenant, lake, catalogue):
    job = drawn(tenant, PLACE)
    assert not (lake / job).exists()  # it was tried, and nothing is written that is not charged
    assert catalogue[1].sql("show tables in out").toArrow().num_rows == 0
    tenant.work(Topic.RUN, job)
    snapshots = whole(tenant, job, lake, catalogue[1])
    assert state(tenant, job)["write_to"] == str(lake / job)
    # What is released may be referred to again, at the snapshot that is told.
    edges = f"out.{job}_edges"
    told = catalogue[1].sql(f"select source, target from {edges} version as of {snapshots[edges]}").toArrow()
    assert (told["source"].to_numpy() < told["target"].to_numpy()).all()


@pytest.mark.parametrize("after", ["the first table", "a table that nobody names"])
def test_a_retried_attempt_makes_each_table_once(tenant, lake, catalogue, monkeypatch, after):
    job, made = drawn(tenant, PLACE), []
    table = Spark.table

    def killed(self: Spark, name: str, folder: str, below: str) -> int:
        if after == "the first table" and not made:
            made.append(table(self, name, folder, below))
            return made[0]
        orphan = Path(below) / "half" / "data"
        orphan.mkdir(parents=True)
        (orphan / "part.parquet").write_bytes(b"half")
        raise ConnectionError("gone")

    with monkeypatch.context() as patch:
        patch.setattr("worker.kinds.release.COPY_TRIES", 1)
        patch.setattr(Spark, "table", killed)
        tenant.work(Topic.RUN, job)
    assert state(tenant, job)["state"] == "publishing"
    assert endings(tenant.services, job) == ["reserve", "charge"]
    assert not (lake / job / "_SUCCESS").exists()
    again(tenant, job)
    found = whole(tenant, job, lake, catalogue[1])
    assert set(made) <= set(found.values())
    before = files(lake)
    again(tenant, job)
    assert files(lake) == before


def test_of_two_that_make_a_table_at_once_the_catalogue_has_one(tenant, lake, catalogue, monkeypatch):
    """Who comes second is refused, tries again, and finds the first one's."""
    job, other = drawn(tenant, PLACE), Spark(catalogue[1], "")
    exists, seen = type(catalogue[1].catalog).tableExists, []

    def late(self: Any, name: str) -> bool:
        found = bool(exists(self, name))
        if not seen:
            seen.append(name)
            kind = name.rpartition("_")[2]
            folder = lake / job
            other.table(name, str(folder / kind), str(folder / "iceberg" / kind))
        return found

    monkeypatch.setattr(type(catalogue[1].catalog), "tableExists", late)
    monkeypatch.setattr("worker.kinds.release.COPY_PAUSE_SECONDS", 0)
    tenant.work(Topic.RUN, job)
    whole(tenant, job, lake, catalogue[1])


@pytest.mark.parametrize(
    "listed", [(), ("{lake}",), ("other=table:out={lake}",), ("table:out.more={lake}",), ("{lake}=more",)]
)
def test_no_place_of_a_catalogue_is_written_to_but_the_operators(serving, lake, catalogue, listed):
    places = tuple(each.format(lake=lake) for each in listed)
    tenant = serving(engine_url=catalogue[0], release_places=places)
    answer = asked(tenant, parted(tenant), PLACE)
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("application/problem+json")
    (problem,) = answer.json()["errors"]
    assert problem["field"] == "write_to"
    assert "where the engine's catalogue has Iceberg" in problem["how_to_mend"]
    if listed != ("{lake}",):
        assert asked(tenant, parted(tenant), lake).status_code == 422  # it is for tables alone
    for strange in ("table:", "table:out;drop", "table:a.b.c.d", f"table:out={lake}"):
        assert asked(tenant, parted(tenant), strange).status_code == 422
    assert tenant.call("GET", "/jobs").json()["items"] == []


@pytest.mark.parametrize("lacks", ["namespace", "iceberg", "engine"])
def test_a_catalogue_that_makes_no_iceberg_table_costs_nothing(serving, lake, catalogue, monkeypatch, lacks):
    place = "table:nowhere" if lacks == "namespace" else PLACE
    settings = {"engine_url": "" if lacks == "engine" else catalogue[0]}
    tenant = serving(release_places=(f"{place}={lake}",), **settings)
    if lacks == "iceberg":
        monkeypatch.setattr("core.graphs.counted.spark._AS_ICEBERG", "create table {} using none as select 1")
    job = asked(tenant, parted(tenant), place).json()["id"]
    tenant.work(Topic.RUN, job)
    found = state(tenant, job)
    assert (found["state"], found["reason"]) == ("failed", "table_refused")
    assert endings(tenant.services, job) == ["reserve", "release"]
    assert not [path for path in lake.rglob("*") if path.is_file()]


def test_an_engine_that_is_away_or_a_place_that_is_withdrawn_is_waited_for(serving, tenant, lake, catalogue):
    job = drawn(tenant, PLACE)
    away = serving(engine_url="sc://127.0.0.1:1", release_places=(f"{PLACE}={lake}",))
    withdrawn = serving(engine_url=catalogue[0], release_places=(str(lake),))
    withdrawn.work(Topic.RUN, job)
    for other in (withdrawn, away):
        again(other, job)
        assert state(tenant, job)["state"] == "publishing"
        assert catalogue[1].sql("show tables in out").toArrow().num_rows == 0
    again(tenant, job)
    whole(tenant, job, lake, catalogue[1])
