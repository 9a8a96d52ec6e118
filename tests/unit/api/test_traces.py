"""The request's span: the route's template and the status, and no word of a caller's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI, HTTPException, Request
from fastapi.testclient import TestClient
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from api.app import create_app
from api.http.middleware import Boundary
from api.serve.metrics import HttpMetrics
from core.settings import Settings
from tests.support.traces import recording

pytestmark = pytest.mark.extras

THEIRS = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
SECRET = "hunter2"


@pytest.fixture
def kept() -> Iterator[InMemorySpanExporter]:
    with recording() as found:
        yield found


@pytest.fixture
def http() -> TestClient:
    app = FastAPI()

    @app.post("/jobs/{job_id}")
    def take(job_id: str, request: Request) -> str:
        if job_id == "missing":
            raise HTTPException(404)
        if job_id == "broken":
            raise RuntimeError(f"cannot read {SECRET}")
        return "taken"

    @app.get("/healthz")
    def healthz() -> str:
        return "alive"

    return TestClient(Boundary(app, HttpMetrics(), 16_384), raise_server_exceptions=False)


def test_a_span_has_the_template_the_method_and_the_status(
    http: TestClient, kept: InMemorySpanExporter
) -> None:
    for job_id in ("job_17", "missing", "broken"):
        http.post(f"/jobs/{job_id}")
    http.request("STEAL", "/nowhere")
    http.get("/healthz")
    found = kept.get_finished_spans()
    assert [span.name for span in found] == ["POST /jobs/{job_id}"] * 3 + ["HTTP"]
    assert [dict(span.attributes) for span in found][1:3] == [
        {
            "http.request.method": "POST",
            "http.route": "/jobs/{job_id}",
            "http.response.status_code": status,
            "url.scheme": "http",
            **failed,
        }
        for status, failed in ((404, {}), (500, {"error.type": "500"}))
    ]
    assert dict(found[-1].attributes) == {
        "http.request.method": "_OTHER", "http.response.status_code": 404, "url.scheme": "http",
    }  # fmt: skip
    assert [span.status.status_code for span in found] == [
        StatusCode.UNSET, StatusCode.UNSET, StatusCode.ERROR, StatusCode.UNSET,
    ]  # fmt: skip


def test_nothing_that_a_caller_sends_is_in_a_span(http: TestClient, kept: InMemorySpanExporter) -> None:
    headers = {
        "Authorization": SECRET, "X-Request-ID": f"{SECRET}-id", "User-Agent": SECRET,
        "baggage": f"a={SECRET}", "tracestate": f"a={SECRET}",
        "traceparent": f"{THEIRS}-{SECRET}", "X-Forwarded-For": SECRET,
    }  # fmt: skip
    for job_id in (SECRET, "broken"):
        http.post(f"/jobs/{job_id}?name={SECRET}", headers=headers, json={"name": SECRET})
    assert len(kept.get_finished_spans()) == 2
    for span in kept.get_finished_spans():
        assert SECRET not in span.to_json()
        assert (span.parent, span.links, span.events) == (None, (), ())


def test_a_callers_trace_is_referred_to_and_no_more(http: TestClient, kept: InMemorySpanExporter) -> None:
    http.post("/jobs/1", headers={"traceparent": THEIRS})
    http.post("/jobs/1", headers=[("traceparent", THEIRS), ("traceparent", THEIRS)])
    first, second = kept.get_finished_spans()
    assert first.parent is None
    assert first.context.trace_id != int("ab" * 16, 16)
    assert [(link.context.trace_id, link.attributes) for link in first.links] == [(int("ab" * 16, 16), {})]
    assert second.links == ()


def test_no_caller_decides_what_is_recorded(http: TestClient) -> None:
    with recording(sample_ratio=1e-18) as kept:
        assert http.post("/jobs/1", headers={"traceparent": THEIRS}).status_code == 200
    assert kept.get_finished_spans() == ()


def test_the_frameworks_own_spans_stay_off_whatever_the_process_has_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They name addresses, queries and errors; FastAPI makes them for whatever provider there is."""
    own, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(own))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    TestClient(FastAPI()).get(f"/control?name={SECRET}")
    assert own.get_finished_spans()
    own.clear()
    app = create_app(Settings(storage_url=tmp_path.as_uri()))
    assert TestClient(app).get(f"/healthz?name={SECRET}").status_code == 200
    assert own.get_finished_spans() == ()
