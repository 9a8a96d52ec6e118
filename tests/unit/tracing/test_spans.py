"""Spans: one trace, a closed list of attributes, coarse times, and nothing at all while tracing is off."""

from __future__ import annotations

import pkgutil
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv import attributes as stable
from opentelemetry.semconv._incubating import attributes as incubating
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.trace import SpanKind, StatusCode
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from core.coarse import BOUNDS, reached
from core.settings import Settings
from core.tracing import recorder as spans_recorder
from core.tracing import spans
from core.tracing.recorder import CLOSE_SECONDS, SORT_OF_ERROR, Recorder, to_collector
from core.tracing.traceparent import TraceParent, parse
from tests.support.logged import events
from tests.support.patience import PATIENCE_SECONDS
from tests.support.receiver import receiver
from tests.support.traces import recording, sent

pytestmark = pytest.mark.extras

OURS = "00-" + "1f" * 16 + "-" + "2e" * 8 + "-01"
NOBODY = "http://127.0.0.1:1/v1/traces"


@pytest.fixture
def kept() -> Iterator[InMemorySpanExporter]:
    with recording() as found:
        yield found


class Clock:
    """A clock that is told what time it is."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return round(self.now * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(spans, "time", SimpleNamespace(monotonic=made.monotonic, time_ns=made.time_ns))
    return made


def test_a_traceparent_is_read_to_the_letter() -> None:
    assert parse(OURS) == TraceParent(int("1f" * 16, 16), int("2e" * 8, 16), True)
    assert str(parse(OURS)) == OURS
    assert str(parse(OURS[:-2] + "fe")) == OURS[:-2] + "00"  # other flags are not passed on
    assert len(OURS) == 55


@pytest.mark.parametrize(
    "text",
    [
        None, "", " " + OURS, OURS + "\n", OURS + "-more", OURS.upper(), "01" + OURS[2:], "ff" + OURS[2:],
        OURS[:-1], OURS.replace("2e", "zz"), OURS.replace("1f", "00"), OURS.replace("2e", "00"),
        OURS.replace("1f1f", "１f1f", 1), "secret", OURS + "," + OURS,
    ],
)  # fmt: skip
def test_what_is_no_traceparent_is_none(text: str | None) -> None:
    assert parse(text) is None


def test_spans_lie_in_each_other_and_logs_name_them(kept: InMemorySpanExporter) -> None:
    with spans.span("request", "server", method="POST"):
        outer = get_contextvars()
        carried = spans.carried("job_1")
        with spans.span("inner"):
            assert get_contextvars()["trace_id"] == outer["trace_id"]
            assert get_contextvars()["span_id"] != outer["span_id"]
    assert get_contextvars() == {}
    inner, request = kept.get_finished_spans()
    assert carried == f"00-{outer['trace_id']}-{outer['span_id']}-01"
    assert (request.name, request.kind, request.parent) == ("request", SpanKind.SERVER, None)
    assert dict(request.attributes) == {"http.request.method": "POST", "graphveil.job.id": "job_1"}
    assert inner.parent.span_id == request.context.span_id
    assert set(request.resource.attributes) == {
        "service.namespace", "service.name", "service.version", "service.instance.id",
    }  # fmt: skip


def test_an_attempt_goes_on_with_the_trace_of_its_job(kept: InMemorySpanExporter) -> None:
    with spans.attempt("run", OURS, "job_1", 2):
        spans.tell(ending="finished")
    with spans.attempt("run", "not one of ours", "job_2", 1):
        pass
    first, second = kept.get_finished_spans()
    assert (first.context.trace_id, first.parent.span_id) == (int("1f" * 16, 16), int("2e" * 8, 16))
    assert first.attributes["graphveil.attempt"] == 2
    assert first.attributes["graphveil.ending"] == "finished"
    assert second.parent is None


def test_an_error_is_a_status_without_a_word(kept: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="person 17"), spans.span("request", "server"):
        raise ValueError("person 17 knows person 4")
    (span,) = kept.get_finished_spans()
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())
    assert dict(span.attributes) == {"error.type": "ValueError"}


def test_names_are_those_of_the_semantic_conventions() -> None:
    known = {
        value
        for room in (stable, incubating)
        for module in pkgutil.iter_modules(room.__path__)
        for value in vars(import_module(f"{room.__name__}.{module.name}")).values()
        if isinstance(value, str)
    }
    ours = {name for name in spans.ATTRIBUTES.values() if name.startswith("graphveil.")}
    assert set(spans.ATTRIBUTES.values()) - ours <= known
    assert SORT_OF_ERROR in known
    assert ours == {f"graphveil.{name}" for name in ("job.id", "attempt", "child", "ending")}
    operations = {each.value for each in messaging_attributes.MessagingOperationTypeValues}
    assert {"send", "process"} <= operations


def test_messages_are_told_by_the_names_of_the_conventions(kept: InMemorySpanExporter) -> None:
    with spans.sending("run", OURS, "job_1"), spans.attempt("run", OURS, "job_1", 1):
        pass
    processed, sent = kept.get_finished_spans()
    assert (sent.name, sent.kind) == ("send run", SpanKind.PRODUCER)
    assert (processed.name, processed.kind) == ("process run", SpanKind.CONSUMER)
    for span, operation in ((sent, "send"), (processed, "process")):
        told = {name: value for name, value in span.attributes.items() if name.startswith("messaging.")}
        assert told == {
            "messaging.system": "celery",
            "messaging.operation.name": operation,
            "messaging.operation.type": operation,
            "messaging.destination.name": "run",
        }


@pytest.mark.parametrize("on", [True, False])
def test_what_is_not_on_the_list_cannot_be_told(on: bool) -> None:
    with recording() as kept:
        with pytest.raises(KeyError), spans.span("request", "server"):
            spans.tell(parameters="epsilon=1")
        with pytest.raises(KeyError), spans.span("request", query="name=secret"):
            pass
        assert all(set(span.attributes) <= {"error.type"} for span in kept.get_finished_spans())


def test_jobs_and_their_stages_begin_and_end_on_the_bounds(kept: InMemorySpanExporter, clock: Clock) -> None:
    with spans.attempt("run", OURS, "job_1", 1):
        clock.now += 0.7  # the graph is laid out
        with spans.child("release"):
            steps = spans.Steps()
            clock.now += 2.9
            steps.reached("fit")
            clock.now += 3.1
            steps.reached("fit")
            clock.now += 4.4
            steps.reached("sample")
            clock.now += 80.3
            steps.ended()
        clock.now += 3.0
    found = {span.name: span for span in kept.get_finished_spans()}
    times = {
        name: ((span.start_time / 1e9) - 1_000.0, (span.end_time / 1e9) - 1_000.0)
        for name, span in found.items()
    }
    assert times == {"fit": (1, 5), "sample": (5, 60), "child": (0, 60), "process run": (0, 60)}
    assert found["fit"].parent.span_id == found["child"].context.span_id
    assert found["child"].parent.span_id == found["process run"].context.span_id


def test_coarse_times_are_bounds_and_never_later() -> None:
    assert [reached(seconds) for seconds in (0, 0.99, 1, 4.99, 59, 21_599, 21_600, 50_000)] == [
        0, 0, 1, 1, 15, 7_200, 21_600, 43_200,
    ]  # fmt: skip
    assert all(reached(bound) == bound for bound in BOUNDS)


def test_stages_have_spans_below_a_coarse_one_only_and_not_without_end(kept: InMemorySpanExporter) -> None:
    for around in (spans.child("ingest"), spans.span("request", "server")):
        with around:
            steps = spans.Steps()
            steps.reached("read")
            steps.ended()
    assert [span.name for span in kept.get_finished_spans()] == ["request"]
    kept.clear()
    with spans.attempt("run", OURS, "job_1", 1):
        steps = spans.Steps(most=2)
        for name in ("one", "two", "three", "four"):
            steps.reached(name)
        steps.ended()
    assert [span.name for span in kept.get_finished_spans()] == ["one", "two", "process run"]


def test_what_is_not_sampled_is_not_recorded_anywhere_along_the_way() -> None:
    with recording(sample_ratio=1e-18) as kept:
        with spans.span("request", "server", link=OURS):
            carried = spans.carried("job_1")
            assert get_contextvars()["trace_id"] in str(carried)  # logs can still be put together
        assert carried is not None
        assert carried.endswith("-00")
        with spans.attempt("run", carried, "job_1", 1):
            pass
    assert kept.get_finished_spans() == ()


def test_while_tracing_is_off_nothing_is_done() -> None:
    spans.start(Settings(), "test")
    assert not spans.on()
    with spans.span("request", "server"), spans.attempt("run", OURS, "job_1", 1), spans.child("release"):
        steps = spans.Steps()
        steps.reached("fit")
        steps.ended()
        spans.tell(status=200)
        assert spans.carried("job_1") is None
        assert get_contextvars() == {}
    spans.stop()


def test_a_collector_that_is_away_holds_nobody_up_and_is_named_once() -> None:
    with capture_logs() as logs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans_recorder, "SEND_SECONDS", 1.0)  # what is tried in vain is waited for below
        recorder = Recorder(to_collector(NOBODY), process="test", sample_ratio=1.0)
        began = time.monotonic()
        patch.setattr(spans, "_recorder", recorder)
        for _ in range(3_000):  # more than the queue holds
            with spans.span("request", "server"):
                pass
        assert time.monotonic() - began < PATIENCE_SECONDS  # 3,000 if each of them waited
        began = time.monotonic()
        spans.stop()
        assert not spans.on()
        assert time.monotonic() - began < CLOSE_SECONDS + 30.0
        for thread in threading.enumerate():
            if thread.name == "last-spans":  # what it still tries would be heard in another test
                thread.join(PATIENCE_SECONDS)
    assert events(logs, "core.tracing.recorder") == ["collector_away"]


def test_that_it_is_away_and_back_is_said_once_each() -> None:
    with receiver() as collector, capture_logs() as logs:
        collector.statuses = [400, 400, 200, 200, 400]
        with recording() as kept, spans.span("request", "server"):
            pass
        exporter = to_collector(f"http://127.0.0.1:{collector.port}/v1/traces")
        for _ in range(5):
            exporter.export(kept.get_finished_spans())
    assert events(logs, "core.tracing.recorder") == ["collector_away", "collector_back", "collector_away"]
    assert [span.name for span in sent(collector.received)] == ["request"] * 5
    exporter.shutdown()
