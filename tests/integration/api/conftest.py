"""One service for all tests of the routes, each with a tenant of its own: the database is cloned once."""

from __future__ import annotations

import itertools
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
import uvicorn
from fastapi.testclient import TestClient

from api.app import create_app
from api.serve import serving
from core.db.session import Database
from core.identity import service as identity
from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from tests.support import postgres
from tests.support.console import Steward
from tests.support.inline import children_inline
from tests.support.patience import PATIENCE_SECONDS
from worker.process import WorkerProcess, open_process
from worker.work import take

_numbers = itertools.count(1)
END_SECONDS = 10.0

SCHEMA = {
    "node_types": [{"name": "person", "count": 60}],
    "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
}
TIMED = {
    "node_types": [{"name": "person", "count": 60}],
    "edge_types": [{"name": "contact", "source": "person", "target": "person", "temporal": True}],
    "time": {"start": 0, "width": 7, "count": 52},
}
EDGES = "source,target\n" + "".join(f"{i},{(7 * i + k) % 60}\n" for i in range(60) for k in (1, 2, 3))


def week(step: int) -> str:
    """The rows of one step of a stream of contacts."""
    return "source,target\n" + "".join(f"{i},{(5 * i + step + k) % 60}\n" for i in range(60) for k in (1, 2))


@pytest.fixture(scope="session", autouse=True)
def quiet_stdout() -> Iterator[None]:
    """The service's log lines go past the output of commands that run in the same process."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session", autouse=True)
def patient_with_redis() -> Iterator[None]:
    """On a busy machine Redis may be slow: that must not look as if it were away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("api.http.limits.REDIS_TIMEOUT_SECONDS", PATIENCE_SECONDS)
        yield


@pytest.fixture(scope="session")
def api_settings(
    postgres_cluster: postgres.PostgresCluster, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """Settings of a service that the session's tests share."""
    name = postgres_cluster.create()
    root = tmp_path_factory.mktemp("api")
    for folder in ("objects", "work"):
        (root / folder).mkdir()
    yield Settings(
        database_url=postgres_cluster.address(name),
        redis_url=redis_url,
        storage_url=(root / "objects").as_uri(),
        master_key=secrets.token_hex(32),
        fingerprint_key=secrets.token_hex(32),
        work_folder=root / "work",
        max_request_bytes=64 * 1024,
        max_upload_bytes=3 * 2**20,
        poll_after_seconds=1,
        key_cache_seconds=0.2,
        rate_limit_attempts_per_minute=100_000,  # all tests call from one address, many without a key
        rate_limit_open_per_minute=0,
        head_signing_key=secrets.token_hex(32),
    )
    postgres_cluster.drop(name)


@pytest.fixture(scope="session")
def api_services(api_settings: Settings) -> Iterator[Services]:
    opened = open_services(api_settings)
    opened.db.engine.pool._timeout = PATIENCE_SECONDS  # of many callers at once the last is answered too
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def http(api_services: Services) -> Iterator[TestClient]:
    """The app, called without a socket; failures inside it are answers, as they are in production."""
    with TestClient(create_app(api_services), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def worker_process(api_settings: Settings) -> WorkerProcess:
    """A worker of the same service; it works when it is told to."""
    return open_process(api_settings)


class Tenant:
    """One tenant's keys, its calls as one of its roles, and the worker that serves it."""

    def __init__(self, http: TestClient, services: Services, process: WorkerProcess) -> None:
        self.name = f"tenant-{next(_numbers)}"
        self.services = services
        self._process = process
        self._http = http
        self._tokens: dict[tuple[Role, ...], str] = {}

    def token(self, *roles: Role) -> str:
        if roles not in self._tokens:
            with self.services.db.transaction() as session:
                _, self._tokens[roles] = identity.create_key(session, tenant=self.name, name="t", roles=roles)
        return self._tokens[roles]

    def call(self, method: str, path: str, *roles: Role, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token(*(roles or (Role.CURATOR, Role.REQUESTER)))}"}
        headers |= options.pop("headers", {})
        return self._http.request(method, path, headers=headers, **options)

    def register(self, epsilon: str = "2", **declared: Any) -> dict[str, Any]:
        body = {"name": f"d{next(_numbers)}", "unit": "edge", "epsilon": epsilon, "graph_schema": SCHEMA}
        answer = self.call("POST", "/datasets", json=body | declared)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def upload(
        self, dataset_id: str, content: str | bytes = EDGES, query: str = "part=edges&format=csv"
    ) -> Any:
        return self.call("PUT", f"/datasets/{dataset_id}/content?{query}", content=content)

    def ready(self, epsilon: str = "2", content: str = EDGES, **declared: Any) -> str:
        """A dataset that a real worker has validated; of known content it draws on that content's budget."""
        dataset_id = self.register(epsilon, **declared)["id"]
        received = self.upload(dataset_id, content)
        assert received.status_code == 200, received.text
        self.work(Topic.INGEST, received.json()["id"])
        state = self.call("GET", f"/datasets/{dataset_id}").json()["state"]
        assert state == "ready"
        return dataset_id

    def streamable(self, epsilon: str = "2", *, window: int = 2) -> str:
        """A ready dataset whose edges come week by week: its first upload names the nodes alone."""
        dataset_id = self.register(epsilon, unit="w-event", window=window, graph_schema=TIMED)["id"]
        received = self.upload(dataset_id, "source,target,time\n")
        assert received.status_code == 200, received.text
        self.work(Topic.INGEST, received.json()["id"])
        return dataset_id

    def stream(self, dataset_id: str, epsilon: str = "1", **request: Any) -> dict[str, Any]:
        """An open stream."""
        body = {"dataset_id": dataset_id, "epsilon": epsilon, "method": "psgraph", **request}
        headers = {"Idempotency-Key": secrets.token_hex(8)}
        answer = self.call("POST", "/streams", json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def push(self, stream_id: str, content: str | bytes, *roles: Role, **query: Any) -> Any:
        """A snapshot is sent."""
        path = f"/streams/{stream_id}/snapshots"
        return self.call("POST", path, *roles, content=content, params=query)

    def submit(self, dataset_id: str, epsilon: str = "0.5", *, key: str | None = None, **request: Any) -> Any:
        """A job is asked for, whether or not there is another like it."""
        body = {"dataset_id": dataset_id, "epsilon": epsilon, "repeat": True, **request}
        return self.call("POST", "/jobs", json=body, headers={"Idempotency-Key": key or secrets.token_hex(8)})

    def work(self, topic: Topic, subject_id: str) -> None:
        """The worker does what the doorbell would ring for, its child's part in this process."""
        with children_inline():
            assert take(self._process, topic, subject_id, lambda: False)


@pytest.fixture(scope="session")
def house(http: TestClient, api_services: Services, worker_process: WorkerProcess) -> Tenant:
    """The tenant that the session's tests share, where they do not change what others see."""
    return Tenant(http, api_services, worker_process)


@pytest.fixture(scope="session")
def ready_dataset(house: Tenant) -> str:
    """A ready dataset with budget enough for all tests."""
    return house.ready(epsilon="900")


@pytest.fixture(scope="session")
def published_job(house: Tenant, ready_dataset: str) -> str:
    """A job that the worker has published and compared with its original."""
    answer = house.submit(ready_dataset, "1", formats=["parquet", "csv"], label="published")
    assert answer.status_code == 202, answer.text
    job_id = answer.json()["id"]
    house.work(Topic.RUN, job_id)
    house.work(Topic.EVALUATE, job_id)
    return job_id


@pytest.fixture(scope="session")
def stream_dataset(house: Tenant) -> str:
    """A dataset for streams, with budget enough for all tests."""
    return house.streamable(epsilon="900")


@pytest.fixture(scope="session")
def published_stream(house: Tenant) -> str:
    """A stream that has published three steps, the last of them empty; the first was compared."""
    stream_id = house.stream(house.streamable())["id"]
    for step, content in enumerate((week(0), week(1), "")):
        answer = house.push(stream_id, content, step=step)
        assert answer.status_code == 202, answer.text
        house.work(Topic.RUN, answer.json()["job_id"])
    first = house.call("GET", f"/streams/{stream_id}/snapshots/0").json()
    house.work(Topic.EVALUATE, first["job_id"])
    return stream_id


@pytest.fixture
def tenant(http: TestClient, api_services: Services, worker_process: WorkerProcess) -> Tenant:
    """A tenant of the test's own."""
    return Tenant(http, api_services, worker_process)


@pytest.fixture
def stranger(http: TestClient, api_services: Services, worker_process: WorkerProcess) -> Tenant:
    """Another tenant."""
    return Tenant(http, api_services, worker_process)


@pytest.fixture
def database_of(api_settings: Settings) -> Iterator[Database]:
    """Connections of the test's own to the service's database."""
    opened = Database(api_settings.database_url, pool_size=2)
    yield opened
    opened.dispose()


@pytest.fixture(scope="session")
def address(api_services: Services) -> Iterator[str]:
    """The same service behind a real socket."""
    config = uvicorn.Config(
        create_app(api_services), log_config=None, access_log=False, timeout_graceful_shutdown=1
    )  # a client that a test left open is not waited for
    server = serving.Server(config)  # which ends event streams too
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=END_SECONDS)  # a daemon: what it still waits for is no test's any more


@pytest.fixture(scope="session")
def app(http: TestClient) -> Any:
    """The app that ``http`` calls."""
    return http.app


@pytest.fixture
def at_console(app: Any) -> Callable[..., Steward]:
    """Signs somebody in at the console, with a key of the tenant that has these roles."""

    def signed_in(tenant: Tenant, *roles: Role) -> Steward:
        return Steward(app, tenant.token(*(roles or (Role.CURATOR, Role.REQUESTER))))

    return signed_in
