"""Releases in parts whose tables are written to a folder that their job names, over HTTP."""

from __future__ import annotations

import hashlib
import io
import itertools
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from core.graphs.counted import places
from core.identity.models import Role
from core.identity.service import Principal
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.operations import recover
from core.workflows.releases import elsewhere
from core.workflows.releases.zips import release_zip
from tests.integration.api.conftest import SCHEMA, Tenant
from tests.support.faults import assert_sound, endings, lapse, until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, stored_keys
from worker.process import open_process
from worker.reaper import reap_once, run

NODES = 60
keys = itertools.count()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder


@pytest.fixture
def serving(api_settings: Settings, lake: Path) -> Iterator[Callable[..., Tenant]]:
    """A tenant of a service that may write to the lake, or as its settings say."""
    opened: list[Any] = []

    def tenant(**settings: Any) -> Tenant:
        changed = {"release_places": (str(lake),), "shard_edges": 100, **settings}
        chosen = Settings(**(api_settings.model_dump() | changed))
        services = open_services(chosen)
        opened.append(services)
        return Tenant(TestClient(create_app(services)), services, open_process(chosen))

    yield tenant
    for services in opened:
        services.close()


def parted(tenant: Tenant) -> str:
    """A dataset in parts of the tenant's, which is ready."""
    dataset = str(tenant.register(epsilon="9", graph_schema=SCHEMA, in_parts=True)["id"])
    pairs = np.random.default_rng(next(keys)).integers(0, NODES, (400, 2))
    text = "source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs.tolist())
    tenant.work(Topic.INGEST, tenant.upload(dataset, text).json()["id"])
    return dataset


def asked(tenant: Tenant, dataset: str, place: Path | str) -> Any:
    return tenant.submit(dataset, "4", write_to=str(place))


def drawn(tenant: Tenant, place: Path | str) -> str:
    """A job whose shards are drawn, and which waits to be joined."""
    job = asked(tenant, parted(tenant), place).json()["id"]
    tenant.work(Topic.RUN, job)
    for number in range(state(tenant, job)["shards"]["total"]):
        tenant.work(Topic.SHARD, f"{job}.{number}")
    return str(job)


def state(tenant: Tenant, job: str) -> dict[str, Any]:
    return dict(tenant.call("GET", f"/jobs/{job}").json())


def files(folder: Path) -> dict[str, str]:
    """The digest of every file below, by its name there."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def whole(tenant: Tenant, job: str, lake: Path) -> None:
    """The release is published and charged once, and its tables lie in the lake as the charge names them."""
    assert state(tenant, job)["state"] == "published"
    assert endings(tenant.services, job) == ["reserve", "charge"]
    assert_sound(tenant.services, job)
    listed = tenant.call("GET", f"/jobs/{job}/artifacts").json()["items"]
    charged = {each["written_to"]: each["sha256"] for each in listed if each["written_to"] is not None}
    found = files(lake)
    done = (lake / job / "_SUCCESS").read_text()
    assert found.pop(f"{job}/_SUCCESS")
    assert {str(lake / name): digest for name, digest in found.items()} == charged
    assert sorted(done.splitlines()) == sorted(
        f"{digest}  {name.removeprefix(f'{job}/')}" for name, digest in found.items()
    )
    assert stored_keys(tenant.services, f"staging/{job}") == []


def test_tables_lie_in_the_lake_and_the_bundle_has_their_digests_and_the_report(serving, lake):
    tenant = serving()
    job = drawn(tenant, lake / "calls")
    assert files(lake) == {}  # nothing is written that is not charged
    tenant.work(Topic.RUN, job)
    whole(tenant, job, lake / "calls")
    assert state(tenant, job)["write_to"] == str(lake / "calls" / job)
    table = pq.read_table(lake / "calls" / job / "edges")
    public = tenant.call("GET", f"/jobs/{job}/report").json()["public"]
    assert public["statistics"]["edge_types"][0]["edges"] == table.num_rows
    assert (table["source"].to_numpy() < table["target"].to_numpy()).all()
    assert pq.read_table(lake / "calls" / job / "nodes").num_rows == NODES
    told = {each["name"]: each["sha256"] for each in public["provenance"]["artifacts"]}
    lies = {path.rsplit("/", 1)[-1]: digest for path, digest in files(lake).items() if "_SUCCESS" not in path}
    assert lies.items() <= told.items()
    assert not [key for key in stored_keys(tenant.services, f"releases/{job}") if key.endswith(".parquet")
                and "private" not in key]  # fmt: skip
    answer = tenant.call("GET", f"/jobs/{job}/artifacts/nodes.parquet")
    assert (answer.status_code, str(lake) in answer.json()["detail"]) == (404, True)
    requester = Principal(tenant.name, "key", "t", frozenset({Role.REQUESTER}))
    zipped = b"".join(release_zip(tenant.services, requester, job))
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        assert {"public.json", "schema.json"} <= set(archive.namelist())
        assert not set(lies) & set(archive.namelist())


@pytest.mark.parametrize("elsewhere_too", [(), ("other=/lake",), ("/lake/other",)])
def test_no_place_is_written_to_but_the_operators(serving, elsewhere_too):
    tenant = serving(release_places=elsewhere_too)
    dataset = parted(tenant)
    for place in ("/lake", "/lake/other/../x", "s3://lake/x"):
        answer = asked(tenant, dataset, place)
        assert answer.status_code == 422
        (problem,) = answer.json()["errors"]
        assert problem["field"] == "write_to"
        assert "GRAPHVEIL_RELEASE_PLACES" in problem["how_to_mend"]
    for place in ("lake", "s3://lake/x?endpoint_override=h", "s3://lake/%2e%2e/x", "/lake/*"):
        assert asked(tenant, dataset, place).status_code == 422
    assert tenant.call("GET", "/jobs").json()["items"] == []


def test_a_graph_in_memory_is_in_its_bundle(serving, lake):
    tenant = serving()
    answer = asked(tenant, tenant.ready(), lake)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "write_to")


def test_a_place_that_cannot_be_written_to_costs_nothing(serving, lake):
    tenant = serving()
    (lake / "full").write_text("a file, and no folder")
    job = asked(tenant, parted(tenant), lake / "full").json()["id"]
    for _ in range(tenant.services.settings.max_attempts):
        tenant.work(Topic.RUN, job)
        again(tenant, job)
    assert state(tenant, job)["state"] == "failed"
    assert endings(tenant.services, job) == ["reserve", "release"]


def again(tenant: Tenant, job: str) -> None:
    """What was handed back may be taken at once."""
    lapse(tenant.services)
    reap_once(tenant.services)
    reap_once(tenant.services, recover.ELSEWHERE)


def stopping(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """The writer of files is killed in the middle of the one after so many."""
    written = itertools.count()
    put = places.put_chunks

    def put_chunks(chunks: Any, address: str) -> None:
        if next(written) < after:
            put(chunks, address)
            return
        folder, _, name = address.rpartition("/")
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{places.UNFINISHED}0-{name}").write_bytes(next(iter(chunks))[:9])
        raise OSError("gone")

    monkeypatch.setattr(places, "put_chunks", put_chunks)


@pytest.mark.parametrize("after", [0, 2, 4])
def test_who_is_killed_while_it_writes_leaves_nothing_half_done_and_charges_once(
    serving, lake, monkeypatch, after
):
    tenant = serving()
    job = drawn(tenant, lake)
    with monkeypatch.context() as patch:
        patch.setattr("worker.kinds.release.COPY_TRIES", 1)
        stopping(patch, after)
        tenant.work(Topic.RUN, job)
    assert state(tenant, job)["state"] == "publishing"
    assert endings(tenant.services, job) == ["reserve", "charge"]
    assert not (lake / job / "_SUCCESS").exists()
    assert [path for path in lake.rglob("*") if path.name.startswith(places.UNFINISHED)]
    assert len([path for path in lake.rglob("*.parquet") if places.UNFINISHED not in path.name]) == after
    again(tenant, job)
    whole(tenant, job, lake)
    before = files(lake)
    again(tenant, job)
    assert files(lake) == before


def test_a_place_that_is_away_or_withdrawn_is_waited_for(serving, lake, monkeypatch):
    tenant, place = serving(), lake / "calls"
    job = drawn(tenant, place)
    monkeypatch.setattr("worker.kinds.release.COPY_PAUSE_SECONDS", 0)
    place.rmdir()  # the fit tried whether it can be written to
    place.write_text("no folder any more")
    tenant.work(Topic.RUN, job)
    assert state(tenant, job)["state"] == "publishing"
    withdrawn = serving(release_places=())
    again(withdrawn, job)
    assert state(tenant, job)["state"] == "publishing"
    place.unlink()
    again(withdrawn, job)
    assert not place.exists()
    again(tenant, job)
    whole(tenant, job, place)


def test_no_sweep_waits_for_a_place_or_an_engine(serving, lake, monkeypatch):
    tenant = serving(reaper_poll_seconds=0.01)
    job = drawn(tenant, lake)
    with monkeypatch.context() as patch:
        patch.setattr("worker.kinds.release.COPY_TRIES", 1)
        stopping(patch, 0)
        tenant.work(Topic.RUN, job)
    lapse(tenant.services)
    answers, begun, sweeps, finish = threading.Event(), list[str](), list[int](), elsewhere.finish
    ends = time.monotonic() + PATIENCE_SECONDS

    def waits(*given: Any) -> Any:
        begun.append("finish")
        assert answers.wait(PATIENCE_SECONDS)
        return finish(*given)

    def swept(services: Services) -> int:
        sweeps.append(len(begun))
        return 0

    class Stopping:
        def __call__(self) -> bool:
            return sweeps.count(1) > 2 or time.monotonic() > ends

        def wait(self, seconds: float) -> bool:
            time.sleep(seconds)
            return self()

    monkeypatch.setattr(elsewhere, "finish", waits)
    monkeypatch.setitem(recover.DUTIES, "purge_messages", swept)
    run(tenant.services, Stopping())
    assert begun == ["finish"]  # and no sweep begins what another has begun
    assert state(tenant, job)["state"] == "publishing"
    answers.set()
    until(lambda: state(tenant, job)["state"] == "published")
    whole(tenant, job, lake)


def test_other_bytes_than_were_charged_are_not_written(serving, lake, monkeypatch):
    tenant = serving()
    job = drawn(tenant, lake)
    store, put = tenant.services.store, elsewhere.put
    monkeypatch.setattr("worker.kinds.release.COPY_TRIES", 1)
    with monkeypatch.context() as patch:

        def altered(at: Any, staged: str, file: Any, settings: Any) -> None:
            store.put(staged, [b"other bytes"])
            put(at, staged, file, settings)

        patch.setattr(elsewhere, "put", altered)
        tenant.work(Topic.RUN, job)
    assert job_row(tenant.services, job).state == "publishing"
    assert [path.name for path in lake.rglob("*.parquet") if places.UNFINISHED not in path.name] == []
