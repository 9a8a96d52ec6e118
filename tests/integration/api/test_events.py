"""Event streams: what happens to a job, told once, in order, to whoever may see it, over a real socket."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner, Result

from api.app import create_app
from api.serve.serving import Server
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.events import Step
from core.jobs.models import Stop
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.releases import publish
from graphveil import Graphveil
from graphveil.cli.app import app
from graphveil.cli.console import ENDED_BADLY, TIMED_OUT
from tests.integration.api.conftest import Tenant
from tests.support.faults import until
from tests.support.inline import taken
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import queued_job, ready_dataset

MANY = httpx.Limits(max_connections=200)
ACCEPT = {"Accept": "text/event-stream"}


_servers: dict[str, Server] = {}


@contextmanager
def serving(services: Services, drain_seconds: int = 1, **settings: Any) -> Iterator[str]:
    """The service behind a socket of its own, under other settings."""
    limits = {"event_poll_seconds": 0.05, **settings}
    own = Services(services.db, services.store, services.settings.model_copy(update=limits))
    server = Server(
        uvicorn.Config(
            create_app(own), log_config=None, access_log=False, timeout_graceful_shutdown=drain_seconds
        )
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        _servers[url] = server
        yield url
        stop(url)
        thread.join(timeout=PATIENCE_SECONDS)


def stop(url: str) -> None:
    """The process there is told to stop."""
    _servers[url].should_exit = True


@pytest.fixture(scope="module")
def url(api_services: Services) -> Iterator[str]:
    with serving(api_services, event_heartbeat_seconds=0.2) as address:
        yield address


class Frames:
    """The frames of an answer as dictionaries; comments as ``{"comment": ...}``."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        frame: dict[str, Any] = {}
        for line in self._lines:
            if not line:
                yield frame
                frame = {}
                continue
            name, _, value = line.partition(": ")
            frame[name or "comment"] = json.loads(value) if name == "data" else value


def queued(tenant: Tenant) -> str:
    """A job of the tenant's that waits for a worker."""
    curator = Principal(tenant.name, "key_1", "k", frozenset({Role.CURATOR, Role.REQUESTER}), person="k")
    dataset = ready_dataset(tenant.services, curator, name=f"ring-{secrets.token_hex(4)}")
    return queued_job(tenant.services, curator, dataset.id, secrets.token_hex(4)).id


@contextmanager
def following(
    url: str, tenant: Tenant, job_id: str, *roles: Role, **headers: str
) -> Iterator[Iterator[dict[str, Any]]]:
    token = tenant.token(*(roles or (Role.CURATOR, Role.REQUESTER)))
    sent = {"Authorization": f"Bearer {token}", **ACCEPT, **headers}
    with httpx.stream("GET", f"{url}/v1/jobs/{job_id}/events", headers=sent) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        yield iter(Frames(answer))


def told(frames: Iterator[dict[str, Any]]) -> list[tuple[str, str]]:
    """What the frames up to the end of the answer say, without comments."""
    return [
        (frame["event"], frame["data"].get("stage") or frame["data"]["state"])
        for frame in frames
        if "event" in frame
    ]


def test_a_finished_job_is_told_whole_and_ends(url: str, house: Tenant, published_job: str) -> None:
    with following(url, house, published_job) as frames:
        all_frames = list(frames)
    assert all_frames[0] == {"retry": "1000"}
    assert all_frames[-1] == {"event": "end", "data": {"state": "published"}}
    changes = all_frames[1:-1]
    assert [int(frame["id"]) for frame in changes] == list(range(1, len(changes) + 1))
    assert [int(frame["id"]) for frame in changes] == [frame["data"]["sequence"] for frame in changes]
    states = [frame["data"]["state"] for frame in changes if frame["event"] == "state"]
    assert states == ["queued", "running", "publishing", "published"]
    steps = [frame["data"] for frame in changes if frame["event"] == "step"]
    assert steps == house.call("GET", f"/jobs/{published_job}/events").json()["items"]


def test_a_change_is_told_while_the_stream_is_open(url: str, tenant: Tenant) -> None:
    job_id = queued(tenant)
    with following(url, tenant, job_id) as frames:
        assert next(frames) == {"retry": "1000"}
        assert next(frames)["data"]["state"] == "queued"
        assert next(frames) == {"comment": "still here"}  # nothing happens: a sign of life instead
        assert taken(tenant.services.settings, Topic.RUN, job_id)
        rest = told(frames)
    assert rest[0] == ("state", "running")
    assert ("step", "load") in rest
    assert rest[-2:] == [("state", "published"), ("end", "published")]


def test_a_broken_stream_goes_on_behind_its_last_event(url: str, house: Tenant, published_job: str) -> None:
    with following(url, house, published_job) as frames:
        whole = list(frames)[1:]
    for place in (0, 1, 3, len(whole) - 1, len(whole) + 7):
        with following(url, house, published_job, **{"Last-Event-ID": str(place)}) as frames:
            assert list(frames)[1:] == (whole[place:] or whole[-1:])


def test_a_stream_is_over_after_its_time(api_services: Services, tenant: Tenant) -> None:
    job_id = queued(tenant)
    with (
        serving(api_services, event_stream_seconds=0.5, event_heartbeat_seconds=5.0) as short,
        following(short, tenant, job_id) as frames,
    ):
        assert told(frames) == [("state", "queued")]  # no end: the client connects again


def test_a_process_that_is_to_stop_ends_its_streams_and_takes_no_time_for_them(
    api_services: Services, tenant: Tenant
) -> None:
    job_id = queued(tenant)
    with (
        ThreadPoolExecutor(1) as aside,
        serving(api_services, drain_seconds=600) as url,
        following(url, tenant, job_id) as frames,
    ):
        assert next(frames) == {"retry": "1000"}
        assert next(frames)["data"]["state"] == "queued"
        rest = aside.submit(lambda: told(frames))
        stop(url)
        assert rest.result(timeout=PATIENCE_SECONDS) == []


def test_only_curators_are_told_exact_times(url: str, house: Tenant, published_job: str) -> None:
    for role in (Role.REQUESTER, Role.CURATOR):
        with following(url, house, published_job, role) as frames:
            times = [frame["data"]["created_at"] for frame in frames if "id" in frame]
        assert all(times) if role == Role.CURATOR else set(times) == {None}


def test_a_stream_shows_what_the_list_shows_and_states(url: str, house: Tenant, published_job: str) -> None:
    with following(url, house, published_job, Role.REQUESTER) as frames:
        members = {frozenset(frame["data"]) for frame in frames if "data" in frame}
    step = house.call("GET", f"/jobs/{published_job}/events", Role.REQUESTER).json()["items"][0]
    assert members == {
        frozenset(step),
        frozenset({"sequence", "state", "created_at"}),
        frozenset({"state"}),
    }


def test_streams_have_a_limit_for_each_tenant_and_for_all(
    api_services: Services, tenant: Tenant, stranger: Tenant
) -> None:
    mine = queued(tenant)
    theirs = queued(stranger)

    def refused(url: str, who: Tenant, job_id: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {who.token(Role.CURATOR)}", **ACCEPT}
        return httpx.get(f"{url}/jobs/{job_id}/events", headers=headers)

    with (
        serving(api_services, max_tenant_event_streams=1, max_event_streams=2) as url,
        following(url, tenant, mine) as frames,
    ):
        next(frames)
        second = refused(url, tenant, mine)
        assert (second.status_code, second.json()["type"]) == (429, "/problems/too-many-event-streams")
        assert (second.json()["limit"], second.headers["retry-after"]) == (1, "1")
        with following(url, stranger, theirs) as others:
            next(others)
            third = Tenant(tenant._http, api_services, tenant._process)
            job_id = queued(third)
            full = refused(url, third, job_id)
            assert (full.status_code, full.json()["type"]) == (503, "/problems/event-streams-full")
            assert full.headers["retry-after"]
        until(lambda: refused_status(url, third, job_id) == 200, what="the room that the caller left")


def refused_status(url: str, who: Tenant, job_id: str) -> int:
    headers = {"Authorization": f"Bearer {who.token(Role.CURATOR)}", **ACCEPT}
    with httpx.stream("GET", f"{url}/jobs/{job_id}/events", headers=headers) as answer:
        return answer.status_code


def test_waiting_streams_hold_no_connection_of_the_database_and_no_thread(
    api_services: Services, tenant: Tenant
) -> None:
    """More streams than threads and pooled connections together; every one is served, and so are polls."""
    job_id = queued(tenant)
    headers = {"Authorization": f"Bearer {tenant.token(Role.CURATOR)}", **ACCEPT}
    with (
        serving(api_services, max_tenant_event_streams=100) as url,
        httpx.Client(limits=MANY) as client,
    ):
        answers = [
            client.send(
                client.build_request("GET", f"{url}/jobs/{job_id}/events", headers=headers), stream=True
            )
            for _ in range(80)
        ]
        pool: Any = api_services.db.engine.pool
        until(lambda: pool.checkedout() <= 1, what="the end of every look but one")
        plain = client.get(f"{url}/jobs/{job_id}", headers={"Authorization": headers["Authorization"]})
        assert plain.status_code == 200
        tenant.call("POST", f"/jobs/{job_id}/cancel")
        for answer in answers:
            assert told(iter(Frames(answer)))[-2:] == [("state", "cancelled"), ("end", "cancelled")]
            answer.close()


def test_the_wall_between_tenants_stands_here_too(
    url: str, house: Tenant, stranger: Tenant, published_job: str
) -> None:
    for job_id in (published_job, "job_none"):
        answer = stranger.call("GET", f"/jobs/{job_id}/events", headers=ACCEPT)
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
    assert house.call("GET", f"/jobs/{published_job}/events", Role.AUDITOR, headers=ACCEPT).status_code == 403
    assert httpx.get(f"{url}/jobs/{published_job}/events", headers=ACCEPT).status_code == 401


@pytest.mark.parametrize("number", ["-1", "x", "1.5", str(2**31)])
def test_a_number_that_is_none_is_refused(house: Tenant, published_job: str, number: str) -> None:
    headers = {**ACCEPT, "Last-Event-ID": number}
    answer = house.call("GET", f"/jobs/{published_job}/events", headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-input")


@pytest.mark.parametrize(
    "accept", ["", "*/*", "application/json", "text/html", "text/event-stream;q=0.1, */*"]
)
def test_json_unless_a_stream_is_preferred(house: Tenant, published_job: str, accept: str) -> None:
    answer = house.call("GET", f"/jobs/{published_job}/events", headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["items"]


def test_every_change_of_state_has_a_number_of_the_same_transaction(
    http: TestClient, tenant: Tenant, api_services: Services
) -> None:
    job_id = queued(tenant)
    work = publish.begin_job(api_services, job_id, "w")
    assert work is not None
    publish.record_events(api_services, work, [Step("load", 0, 1)])
    publish.hand_back(api_services, work, Stop.WORKER_LOST)
    query = text(
        "SELECT sequence, coalesce(state, stage) FROM job_events WHERE job_id = :id ORDER BY sequence"
    )
    with api_services.db.transaction() as session:
        rows = session.execute(query, {"id": job_id}).all()
    assert [tuple(row) for row in rows] == [(1, "queued"), (2, "running"), (3, "load"), (4, "queued")]
    assert [step["sequence"] for step in tenant.call("GET", f"/jobs/{job_id}/events").json()["items"]] == [3]


# the client


def run(url: str, tenant: Tenant, *arguments: str) -> Result:
    environment = {"GRAPHVEIL_URL": url, "GRAPHVEIL_TOKEN": tenant.token(Role.CURATOR)}
    return CliRunner().invoke(app, list(arguments), env=environment)


def test_the_client_waits_over_a_stream_and_sees_every_step(url: str, tenant: Tenant) -> None:
    job_id = queued(tenant)
    seen: list[tuple[str, str | None]] = []
    with Graphveil(url, tenant.token(Role.CURATOR)) as sdk, ThreadPoolExecutor(1) as aside:
        waiting = aside.submit(
            sdk.wait,
            job_id,
            timeout_seconds=PATIENCE_SECONDS,
            on_progress=lambda job, step: seen.append((job.state, step and step.stage)),
        )
        until(lambda: seen or waiting.done(), what="the first step")
        assert taken(tenant.services.settings, Topic.RUN, job_id)
        job = waiting.result()
    assert job.state == "published"
    assert {state for state, _ in seen} >= {"queued", "running", "publishing", "published"}
    steps = tenant.call("GET", f"/jobs/{job_id}/events").json()["items"]
    assert {stage for _, stage in seen} - {None} == {step["stage"] for step in steps}


def test_the_command_prints_what_happens(url: str, house: Tenant, tenant: Tenant, published_job: str) -> None:
    lines = run(url, house, "watch", published_job).stdout.splitlines()
    assert lines[0] == "state queued"
    assert lines[-1] == "state published"
    assert any(line.startswith("step  load") for line in lines)
    whole = run(url, house, "--json", "watch", published_job).stdout.splitlines()
    assert [json.loads(line)["sequence"] for line in whole] == list(range(1, len(whole) + 1))
    rest = run(url, house, "--json", "watch", published_job, "--after", "3").stdout.splitlines()
    assert rest == whole[3:]
    waiting = queued(tenant)
    assert run(url, tenant, "watch", waiting, "--timeout", "0").exit_code == TIMED_OUT
    tenant.call("POST", f"/jobs/{waiting}/cancel")
    ended = run(url, tenant, "watch", waiting)
    assert (ended.exit_code, ended.stdout.splitlines()[-1]) == (ENDED_BADLY, "state cancelled")


def test_the_command_looks_after_webhooks(url: str, tenant: Tenant) -> None:
    address = "https://hooks.example.org/graphveil"
    added = json.loads(run(url, tenant, "--json", "webhook", "add", address, "--event", "job.failed").stdout)
    assert added["secret"].startswith("whsec_")
    listed = run(url, tenant, "webhook", "list").stdout
    assert added["id"] in listed
    assert "whsec_" not in listed
    assert "whsec_" in run(url, tenant, "webhook", "rotate", added["id"]).stdout
    sent = json.loads(run(url, tenant, "--json", "webhook", "test", added["id"]).stdout)[0]
    assert sent["id"] in run(url, tenant, "webhook", "deliveries", added["id"]).stdout
    assert run(url, tenant, "webhook", "retry", added["id"], sent["id"]).exit_code == 0
    assert "enabled" in run(url, tenant, "webhook", "enable", added["id"]).stdout
    assert run(url, tenant, "webhook", "remove", added["id"]).exit_code == 0
    assert json.loads(run(url, tenant, "--json", "webhook", "list").stdout) == []
