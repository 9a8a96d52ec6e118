"""Spans as tests see them: kept in memory, or as an OTLP collector gets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from core.tracing import spans
from core.tracing.recorder import Recorder
from tests.support.receiver import Received


@contextmanager
def recording(sample_ratio: float = 1.0) -> Iterator[InMemorySpanExporter]:
    """This process records its spans, and they stay here."""
    kept = InMemorySpanExporter()
    processor = SimpleSpanProcessor(kept)
    recorder = Recorder(kept, process="test", sample_ratio=sample_ratio, processor=processor)
    with mock.patch.object(spans, "_recorder", recorder):
        yield kept


@dataclass(frozen=True)
class Sent:
    """One span as a collector got it; ids in hex, ``parent`` empty at the root, times in seconds."""

    process: str
    name: str
    trace: str
    id: str
    parent: str
    start: float
    end: float
    attributes: dict[str, Any]
    links: tuple[str, ...]
    texts: int
    """Events and texts of the status: there must be none."""


def sent(requests: Iterable[Received]) -> list[Sent]:
    """Every span of the requests."""
    found = []
    for request in requests:
        for group in ExportTraceServiceRequest.FromString(request.body).resource_spans:
            about = {each.key: each.value.string_value for each in group.resource.attributes}
            for scope in group.scope_spans:
                found += [_span(about["service.name"], span) for span in scope.spans]
    return found


def _span(process: str, span: Any) -> Sent:
    values = {each.key: each.value for each in span.attributes}
    return Sent(
        process=process,
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        start=span.start_time_unix_nano / 1e9,
        end=span.end_time_unix_nano / 1e9,
        attributes={key: getattr(value, value.WhichOneof("value")) for key, value in values.items()},
        links=tuple(link.trace_id.hex() for link in span.links),
        texts=len(span.events) + bool(span.status.message),
    )
