"""What happened when, in one trace. It goes from a request to the last stage of its job's child.

A span says what the log says, and nothing else: attributes come from a closed list, and an error is a status
without a text. Nothing here raises because a collector is away, and nothing is done while tracing is off.
The current span is kept here, not in OpenTelemetry's context: other libraries read and write that one.

How long a job and its stages take can depend on the private graph. Spans that are opened ``coarsely``, and
those below them, begin and end on the bounds of :mod:`core.coarse`, counted from the start of the outermost:
they tell operators as much as the histograms of run times do. Rounded down: no span ends in the future.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from structlog.contextvars import bound_contextvars

from core import coarse
from core.late import late
from core.settings import Settings
from core.tracing.traceparent import TraceParent, parse

if TYPE_CHECKING:
    from core.tracing.recorder import Recorder

Kind = Literal["server", "producer", "consumer", "internal"]

# Loaded only where spans are recorded.
_recording = late("core.tracing.recorder:Recorder")
_to_collector = late("core.tracing.recorder:to_collector")

ATTRIBUTES = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "scheme": "url.scheme",
    "system": "messaging.system",
    "operation": "messaging.operation.name",
    "operation_type": "messaging.operation.type",
    "destination": "messaging.destination.name",
    "job_id": "graphveil.job.id",
    "attempt": "graphveil.attempt",
    "child": "graphveil.child",
    "ending": "graphveil.ending",
}
"""All attributes that a span may have, with OpenTelemetry's names for them. A KeyError for any other.

Of what its conventions ask for of HTTP and of messages ``url.path``, addresses and message ids are left out.
"""

BROKER = "celery"
OTHER = "_OTHER"
"""What the conventions call a method, or an error, that is none of those that are known."""

_recorder: Recorder | None = None


@dataclass(frozen=True)
class _Origin:
    """Where coarse times are counted from."""

    at_ns: int
    monotonic: float

    def now_ns(self) -> int:
        return self.at_ns + round(coarse.reached(time.monotonic() - self.monotonic) * 1e9)


@dataclass(frozen=True)
class _Open:
    """A span under way: the library's, and its origin where it is coarse."""

    inner: Any
    origin: _Origin | None

    @property
    def place(self) -> TraceParent:
        context = self.inner.get_span_context()
        return TraceParent(context.trace_id, context.span_id, context.trace_flags.sampled)

    def end(self) -> None:
        self.inner.end(None if self.origin is None else self.origin.now_ns())


_current: ContextVar[_Open | None] = ContextVar("current_span", default=None)


def start(settings: Settings, process: str) -> None:
    """Send spans of this process where the settings say, if anywhere. Call it after any fork, once."""
    global _recorder
    if settings.trace_endpoint and _recorder is None:
        exporter = _to_collector(settings.trace_endpoint)
        _recorder = _recording(exporter, process=process, sample_ratio=settings.trace_sample_ratio)


def stop() -> None:
    """Send what was recorded. It is lost where the collector does not take it within seconds. No more is
    recorded."""
    global _recorder
    recorder, _recorder = _recorder, None
    if recorder is not None:
        recorder.close()


def on() -> bool:
    """Tell whether this process records spans."""
    return _recorder is not None


@contextmanager
def span(
    name: str,
    kind: Kind = "internal",
    *,
    parent: str | None = None,
    link: str | None = None,
    coarsely: bool = False,
    **attributes: str | int,
) -> Iterator[None]:
    """Make the block one span. It lies below ``parent`` (a traceparent of ours) or the span around it; logs
    name it.

    ``link``: a traceparent that somebody else wrote. The span refers to it, and does nothing that it says.
    What the block raises goes on; the span's status is then an error.
    """
    recorder = _recorder
    if recorder is None:
        yield
        return
    around = _current.get()
    origin = around.origin if around is not None else None
    if coarsely and origin is None:
        origin = _Origin(time.time_ns(), time.monotonic())
    above = parse(parent) or (None if around is None else around.place)
    opened = _begin(recorder, name, kind, above, parse(link), origin, attributes)
    token = _current.set(opened)
    place = opened.place
    try:
        with bound_contextvars(trace_id=f"{place.trace_id:032x}", span_id=f"{place.span_id:016x}"):
            yield
    except BaseException as error:
        recorder.fail(opened.inner, type(error).__name__)
        raise
    finally:
        _current.reset(token)
        opened.end()


@contextmanager
def sending(topic: str, parent: str, job_id: str) -> Iterator[None]:
    """Make the block the sending of a message. It is of that topic, in the trace of the job's traceparent."""
    with span(f"send {topic}", "producer", parent=parent, job_id=job_id):
        _tell_message("send", topic)
        yield


@contextmanager
def attempt(topic: str, parent: str | None, job_id: str, number: int) -> Iterator[None]:
    """Make the block one attempt at a job. It is in the trace of the job's traceparent. Coarse, as all below
    it."""
    with span(f"process {topic}", "consumer", parent=parent, coarsely=True, job_id=job_id, attempt=number):
        _tell_message("process", topic)
        yield


def _tell_message(operation: str, topic: str) -> None:
    """Say what is done with a message, by the conventions' names."""
    tell(system=BROKER, operation=operation, operation_type=operation, destination=topic)


def child(kind: str) -> AbstractContextManager[None]:
    """Make the block the span of a child process. It is where a span is around; nothing otherwise."""
    return nullcontext() if _current.get() is None else span("child", child=kind)


def tell(*, name: str | None = None, failed: str | None = None, **attributes: str | int) -> None:
    """Give the span around the caller attributes and a name. It gets the sort of error that it ``failed``
    with too; nothing without a span."""
    recorder, opened = _recorder, _current.get()
    if recorder is None or opened is None:
        return
    opened.inner.set_attributes(_named(attributes))
    if name is not None:
        opened.inner.update_name(name)
    if failed is not None:
        recorder.fail(opened.inner, failed)


def carried(job_id: str) -> str | None:
    """Return the traceparent to keep with the new job. The span names the job; None outside of any span."""
    opened = _current.get()
    if _recorder is None or opened is None:
        return None
    tell(job_id=job_id)
    return str(opened.place)


class Steps:
    """Spans one after the other. They lie below the span around their maker, each as long as until the next.
    Coarse.

    Nothing is recorded where no coarse span is around. After ``most`` steps the last one goes on.
    """

    def __init__(self, *, most: int = 64) -> None:
        around = _current.get()
        coarsely = _recorder is not None and around is not None and around.origin is not None
        self._around = around if coarsely else None
        self._left = most
        self._name = ""
        self._step: _Open | None = None

    def reached(self, name: str) -> None:
        """Begin the step of that name. The one before it ends."""
        recorder, around = _recorder, self._around
        if recorder is None or around is None or name == self._name or not self._left:
            return
        self.ended()
        self._left -= 1
        self._name = name
        self._step = _begin(recorder, name, "internal", around.place, None, around.origin, {})

    def ended(self) -> None:
        """End the step under way, if any."""
        if self._step is not None:
            self._step.end()
        self._name, self._step = "", None


def _begin(
    recorder: Recorder,
    name: str,
    kind: Kind,
    parent: TraceParent | None,
    link: TraceParent | None,
    origin: _Origin | None,
    attributes: dict[str, str | int],
) -> _Open:
    at_ns = None if origin is None else origin.now_ns()
    return _Open(recorder.begin(name, kind, parent, link, at_ns, _named(attributes)), origin)


def _named(attributes: dict[str, str | int]) -> dict[str, str | int]:
    return {ATTRIBUTES[key]: value for key, value in attributes.items()}
