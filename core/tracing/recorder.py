"""OpenTelemetry's side of the spans. It has ids, sampling, and the way to the collector.

Nothing is made the library's global default, so that no other library's spans are recorded: they carry
addresses, statements and texts of exceptions.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Mapping, Sequence

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from core.logging import get_logger
from core.tracing.traceparent import TraceParent
from core.version import package_version

SEND_SECONDS = 5.0
CLOSE_SECONDS = 3.0
QUEUE_SPANS, BATCH_SPANS, PAUSE_MILLISECONDS = 2_048, 512, 2_000
LONGEST_TEXT = 128
SORT_OF_ERROR = "error.type"

log = get_logger(__name__)


class Recorder:
    """Begins spans of one process. It hands those that have ended to the exporter, on a thread of its own.

    The queue is bounded: where the collector is slow, spans are dropped, and nobody waits.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        *,
        process: str,
        sample_ratio: float,
        processor: SpanProcessor | None = None,
    ) -> None:
        # Made by hand, so that the library adds nothing that it finds about the machine.
        resource = Resource(
            {
                "service.namespace": "graphveil",
                "service.name": f"graphveil-{process}",
                "service.version": package_version(),
                "service.instance.id": f"{socket.gethostname()[:64]}-{os.getpid()}",
            }
        )
        self._provider = TracerProvider(
            # A trace of a caller's is never a parent here, so that no caller decides what is recorded.
            sampler=ParentBased(TraceIdRatioBased(sample_ratio)),
            resource=resource,
            span_limits=SpanLimits(
                max_span_attributes=16, max_events=1, max_links=1, max_span_attribute_length=LONGEST_TEXT
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            processor
            or BatchSpanProcessor(
                exporter,
                max_queue_size=QUEUE_SPANS,
                max_export_batch_size=BATCH_SPANS,
                schedule_delay_millis=PAUSE_MILLISECONDS,
            )
        )
        self._tracer = self._provider.get_tracer("graphveil")

    def begin(
        self,
        name: str,
        kind: str,
        parent: TraceParent | None,
        link: TraceParent | None,
        at_ns: int | None,
        attributes: Mapping[str, str | int],
    ) -> trace.Span:
        """Begin a span below the parent. Without one it is the first of a trace of its own. Times since 1970,
        in ns."""
        around = Context()  # empty: never what another library left in the process's own
        if parent is not None:
            around = trace.set_span_in_context(trace.NonRecordingSpan(_context(parent)), around)
        return self._tracer.start_span(
            name,
            context=around,
            kind=trace.SpanKind[kind.upper()],
            attributes=attributes,
            links=() if link is None else (trace.Link(_context(link)),),
            start_time=at_ns,
            # Not the exception: its text may carry data. ``fail`` records what sort it was.
            record_exception=False,
            set_status_on_exception=False,
        )

    @staticmethod
    def fail(span: trace.Span, sort: str) -> None:
        """Set the span's status to an error. It is of the sort that is set first, without another word."""
        span.set_status(trace.StatusCode.ERROR)
        known = span.attributes if isinstance(span, ReadableSpan) else None
        if not known or SORT_OF_ERROR not in known:
            span.set_attribute(SORT_OF_ERROR, sort)

    def close(self) -> None:
        """Send what ended. It goes as far as that takes no longer than ``CLOSE_SECONDS``."""
        # On a thread of its own: the library would wait for a collector that is away.
        sending = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS)


def to_collector(endpoint: str) -> SpanExporter:
    """Make an exporter to an OTLP collector by HTTP."""
    # The library logs every batch that fails, with addresses; Outspoken logs an outage once, without.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    return Outspoken(OTLPSpanExporter(endpoint=endpoint, timeout=SEND_SECONDS))


class Outspoken(SpanExporter):
    """Logs once that the collector does not take spans, and once that it does again."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; FAILURE where they are lost. Nothing is raised."""
        try:
            result = self._inner.export(spans)
        except Exception as error:
            log.error("spans_not_sent", error=type(error).__name__)
            return SpanExportResult.FAILURE
        away = result is not SpanExportResult.SUCCESS
        if away != self._away:
            self._away = away
            (log.warning if away else log.info)("collector_away" if away else "collector_back")
        return result

    def shutdown(self) -> None:
        """Send no more; what is being tried is given up."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Pass on: nothing is held back here."""
        return self._inner.force_flush(timeout_millis)


def _context(place: TraceParent) -> trace.SpanContext:
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED if place.sampled else trace.TraceFlags.DEFAULT)
    return trace.SpanContext(place.trace_id, place.span_id, is_remote=True, trace_flags=flags)
