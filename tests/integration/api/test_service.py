"""Health, problem pages, methods, request ids, headers, logs, metrics, unexpected failures."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from prometheus_client import generate_latest
from sqlalchemy import text
from structlog.testing import capture_logs

from api.app import create_app
from api.http import problems
from api.serve import readiness
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.jobs import queries as job_queries
from tests.integration.api.conftest import Tenant
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine what is ready may say so late."""
    monkeypatch.setattr(readiness, "TIMEOUT_SECONDS", PATIENCE_SECONDS)


def test_the_service_is_alive_and_ready(http: TestClient):
    assert http.get("/healthz").json() == {"status": "alive"}
    answer = http.get("/readyz")
    assert answer.json() == {
        "ready": True,
        "checks": {"database": True, "migrations": True, "redis": True, "storage": True},
    }


def test_a_dead_dependency_makes_it_not_ready(api_settings: Settings, tmp_path):
    settings = api_settings.model_copy(
        update={
            "database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none",
            "redis_url": "redis://127.0.0.1:1/0",
        }
    )
    with TestClient(create_app(settings), raise_server_exceptions=False) as http:
        answer = http.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"] == {
            "database": False,
            "migrations": False,
            "redis": False,
            "storage": True,
        }
        failed = http.get("/methods", headers={"Authorization": "Bearer gv_" + "x" * 43})
    assert failed.status_code == 503
    assert failed.json()["type"] == "/problems/database-unavailable"
    assert "127.0.0.1" not in failed.text
    assert int(failed.headers["Retry-After"]) >= 1


def at_revisions(services: Services, *revisions: str) -> None:
    """The database says that it is at them."""
    with services.db.transaction() as session:
        session.execute(text("DELETE FROM alembic_version"))
        for revision in revisions:
            session.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})


@pytest.fixture
def other_schema(api_services: Services) -> Iterator[Services]:
    """A service whose database may be made to say that it is at another revision."""
    with api_services.db.transaction() as session:
        newest = session.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    yield api_services
    at_revisions(api_services, *newest)


def test_it_is_ready_on_a_schema_that_is_newer_than_its_code(other_schema: Services, http: TestClient):
    at_revisions(other_schema, "9999")
    answer = http.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["migrations"]) == (200, True)


@pytest.mark.parametrize("revisions", [(), ("0000",), ("0001",), ("0000", "9999")])
def test_it_is_not_ready_on_a_schema_that_is_older_or_absent(
    revisions: tuple[str, ...], other_schema: Services, http: TestClient
):
    at_revisions(other_schema, *revisions)
    answer = http.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["migrations"]) == (503, False)
    assert set(answer.json()["checks"].values()) == {True, False}


def test_a_dependency_that_never_answers_makes_it_not_ready_in_time(
    api_settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(readiness, "TIMEOUT_SECONDS", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        address = f"postgresql+psycopg://nobody@127.0.0.1:{port}/none?connect_timeout=500"
        settings = api_settings.model_copy(
            update={"database_url": address, "redis_url": f"redis://127.0.0.1:{port}/0"}
        )
        with TestClient(create_app(settings), raise_server_exceptions=False) as http:
            before = {*threading.enumerate()}
            started = time.monotonic()
            answers = [http.get("/readyz") for _ in range(2)]
            assert time.monotonic() - started < PATIENCE_SECONDS  # and not the dependency's 500
            trying = [thread.name for thread in threading.enumerate() if thread not in before]
            trying = [name for name in trying if name.startswith("readiness-")]
            assert len(trying) == len({*trying}) > 0  # one try at a time of each dependency
    for answer in answers:
        assert answer.status_code == 503
        assert not answer.json()["checks"]["database"]
        assert answer.json()["checks"]["storage"]


@pytest.mark.parametrize("slug", sorted(problems.rows()))
def test_every_problem_type_leads_to_its_page(http: TestClient, slug: str):
    page = http.get(problems.rows()[slug].type)
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "What to do" in page.text
    assert f"/problems/{slug}" in http.get("/problems").text


def test_what_is_not_there_is_a_problem_too(http: TestClient, tenant: Tenant):
    for path in ("/nowhere", "/v1/nowhere", "/problems/none", "/metrics", "/v1/metrics", "/datasets/"):
        answer = http.get(path)
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found"), path
    wrong = tenant.call("DELETE", "/methods")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "/problems/method-not-allowed")
    assert wrong.headers["Allow"] == "GET"


def test_methods_tell_what_they_take(house: Tenant):
    methods = {method["name"]: method for method in house.call("GET", "/methods").json()["items"]}
    psgraph = methods["psgraph"]
    assert psgraph["assurance"] in ("proven", "reviewed", "experimental")
    assert "edge" in psgraph["units"]
    assert "pure" in psgraph["kinds"]
    assert psgraph["accepts"]["static"] is True
    assert psgraph["parameters"]["type"] == "object"


def test_a_request_keeps_a_proper_id_and_is_given_one_otherwise(http: TestClient):
    assert http.get("/healthz", headers={"X-Request-ID": "trace-0123456789"}).headers["X-Request-ID"] == (
        "trace-0123456789"
    )
    for bad in ("short", "x" * 65, "with space in it", "<script>alert(1)</script>"):
        assert http.get("/healthz", headers={"X-Request-ID": bad}).headers["X-Request-ID"].startswith("req_")


def test_every_answer_has_the_security_headers(http: TestClient, house: Tenant):
    for answer in (http.get("/healthz"), http.get("/nowhere"), house.call("GET", "/methods")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["Cache-Control"] == "no-store"


def test_the_log_names_the_route_and_neither_parameters_nor_bodies(tenant: Tenant):
    with capture_logs() as lines:
        tenant.call("GET", "/jobs/job_secret?after=topsecret", headers={"X-Request-ID": "trace-0123456789"})
        tenant.call("POST", "/datasets", json={"name": "topsecret"})
    requests = [line for line in lines if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("GET", "/jobs/{job_id}", 404),
        ("POST", "/datasets", 422),
    ]
    assert "secret" not in str(lines)


def test_an_unexpected_failure_says_nothing_but_its_request(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    def broken() -> None:
        raise RuntimeError("person 17 knows person 4")

    monkeypatch.setattr(job_queries, "methods", broken)
    with capture_logs() as lines:
        answer = tenant.call("GET", "/methods")
    assert answer.status_code == 500
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {
        "type": "/problems/internal-error",
        "title": "The service failed",
        "status": 500,
        "request_id": answer.headers["X-Request-ID"],
        "retryable": False,
        "actionable_by": "operator",
    }
    failure = next(line for line in lines if line["event"] == "unexpected_failure")
    assert failure["error"] == "RuntimeError"
    assert any("broken" in frame for frame in failure["frames"])
    assert "person 17" not in str(lines)


def test_metrics_count_by_route_template(api_services: Services):
    app = create_app(api_services)
    with TestClient(app, raise_server_exceptions=False) as http:
        for path in ("/jobs/job_1", "/v1/jobs/job_2", "/nowhere", "/elsewhere"):
            http.get(path)
        http.request("BREW", "/healthz")
    text = generate_latest(app.state.metrics.registry).decode()
    assert 'graphveil_http_requests_total{code="401",method="GET",route="/jobs/{job_id}"} 2.0' in text
    assert 'graphveil_http_requests_total{code="404",method="GET",route="unmatched"} 2.0' in text
    assert 'method="other"' in text
    assert "graphveil_http_request_duration_seconds_bucket" in text
    assert "graphveil_build_info{version=" in text
    assert 'graphveil_http_problems_total{problem="unauthenticated"} 2.0' in text
    assert 'graphveil_http_problems_total{problem="not-found"} 2.0' in text
    assert "job_1" not in text


def test_services_that_were_handed_in_stay_open(api_settings: Settings):
    services = open_services(api_settings)
    with TestClient(create_app(services)) as http:
        assert http.get("/readyz").status_code == 200
    with services.db.transaction() as session:
        assert session.connection().closed is False
    services.close()
