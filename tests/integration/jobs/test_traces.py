"""A job keeps the trace of its request, and the relay and the worker go on with it."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from core.identity.service import Principal
from core.jobs import repository as jobs
from core.jobs.models import Job
from core.outbox.models import Topic
from core.tracing import spans
from core.tracing.traceparent import TraceParent
from core.workflows.common.context import Services
from core.workflows.jobs.samples import SampleRequest, submit_sample
from graphveil.models.streams import Stream
from tests.support.inline import taken
from tests.support.releases import job_row, queued_job, ready_dataset
from tests.support.streams import open_stream, send, stream_dataset
from tests.support.traces import recording
from worker.relay import relay_once

pytestmark = pytest.mark.extras


def told(services: Services) -> list[tuple[str, str]]:
    """What the relay sends."""
    sent: list[tuple[str, str]] = []
    relay_once(services.db, lambda name, subject_id: sent.append((name, subject_id)))
    return sent


def own(span: ReadableSpan) -> dict[str, Any]:
    """The attributes that are named by this service and not by OpenTelemetry's conventions."""
    attributes = span.attributes or {}
    return {name: value for name, value in attributes.items() if name.startswith("graphveil.")}


def carried(kept: InMemorySpanExporter, job: Job) -> None:
    """The job names the span that was ended last, and this one the job."""
    request = kept.get_finished_spans()[-1]
    assert job.traceparent == str(TraceParent(request.context.trace_id, request.context.span_id, True))
    assert len(job.traceparent) == 55
    assert request.attributes["graphveil.job.id"] == job.id


def test_without_tracing_a_job_has_no_trace_and_nobody_asks_for_one(
    services: Services, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("a statement more")

    monkeypatch.setattr(jobs, "traceparents", asked)
    job = queued_job(services, principal, ready_dataset(services, principal).id)
    assert job_row(services, job.id).traceparent is None
    assert ("graphveil.run", job.id) in told(services)


def test_whatever_makes_a_job_leaves_its_trace_with_it(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    calls = stream_dataset(services, principal)
    stream: Stream = open_stream(services, principal, calls.id)
    with recording() as kept:
        with spans.span("request", "server"):
            job = queued_job(services, principal, dataset.id)
        carried(kept, job_row(services, job.id))
        with spans.span("request", "server"):
            snapshot, *_ = send(services, principal, stream, stream.next_step)
        carried(kept, job_row(services, snapshot.job_id))
        assert taken(services.settings, Topic.RUN, job.id)
        with spans.span("request", "server"):
            sample, _ = submit_sample(services, principal, job.id, SampleRequest(), "s1")
        carried(kept, job_row(services, sample.id))
    spans_by_name = {span.name: span for span in kept.get_finished_spans()}
    run = spans_by_name["process run"]
    assert run.context.trace_id == kept.get_finished_spans()[0].context.trace_id
    assert own(run) == {"graphveil.job.id": job.id, "graphveil.attempt": 1}


def test_the_relay_tells_of_jobs_that_have_a_trace(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    before = queued_job(services, principal, dataset.id, "k0")
    with recording() as kept:
        with spans.span("request", "server"):
            job = queued_job(services, principal, dataset.id)
        sent = told(services)
    assert {("graphveil.run", before.id), ("graphveil.run", job.id)} <= set(sent)
    request, relayed = kept.get_finished_spans()
    assert (relayed.name, relayed.parent.span_id) == ("send run", request.context.span_id)
    assert own(relayed) == {"graphveil.job.id": job.id}
    assert relayed.attributes["messaging.destination.name"] == "run"


def test_a_request_that_is_answered_again_changes_nothing(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    with recording() as kept:
        with spans.span("request", "server"):
            first = queued_job(services, principal, dataset.id)
        found = job_row(services, first.id).traceparent
        with spans.span("request", "server"):
            assert queued_job(services, principal, dataset.id).id == first.id
    assert job_row(services, first.id).traceparent == found
    assert "graphveil.job.id" not in kept.get_finished_spans()[-1].attributes
