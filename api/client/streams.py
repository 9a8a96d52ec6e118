"""The calls about live streams, as ``Graphveil.streams``."""

from __future__ import annotations

import time as clock
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from api.client import archives, files
from api.client.errors import ProblemError, WaitTimeout
from api.client.transport import Transport
from core.streams.views import TERMINAL, Snapshot, Snapshots, Stream, StreamReport, Streams
from core.workflows.streams.views import StreamPlan

Options = Mapping[str, str | list[str]]

POLL_SECONDS = 2.0
BUSY = "stream-busy"


class StreamCalls:
    """Open a stream, send snapshots, watch them come out, take them home.

    Every method may raise ProblemError, when the service refuses or fails, and TransportError.
    """

    def __init__(self, calls: Transport) -> None:
        self._calls = calls

    def plan(self, dataset_id: str, *, epsilon: str, **request: Any) -> StreamPlan:
        """What a stream would cost, step by step. Opens nothing. ``request`` as in :meth:`create`."""
        body = {"dataset_id": dataset_id, "epsilon": epsilon, **request}
        answer = self._calls.request("POST", "/streams", params={"dry_run": "true"}, json=body)
        return StreamPlan.model_validate(answer.json())

    def create(
        self, dataset_id: str, *, epsilon: str, idempotency_key: str | None = None, **request: Any
    ) -> Stream:
        """A stream is open, once, however often the request had to be repeated.

        ``epsilon`` is what any window may cost. ``request``: method, window, parameters, edge_types,
        first_step, missing_steps, suite, label, project.
        """
        body = {"dataset_id": dataset_id, "epsilon": epsilon, **request}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        answer = self._calls.request("POST", "/streams", json=body, headers=headers)
        return Stream.model_validate(answer.json())

    def list(self, *, dataset_id: str | None = None, state: str | None = None) -> Iterator[Stream]:
        """The tenant's streams, newest first, page by page."""
        given = {"dataset_id": dataset_id, "state": state}
        query = {name: value for name, value in given.items() if value is not None}
        while True:
            page = Streams.model_validate(self._calls.request("GET", "/streams", params=query).json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def get(self, stream_id: str) -> Stream:
        """One stream."""
        return Stream.model_validate(self._calls.request("GET", f"/streams/{stream_id}").json())

    def close(self, stream_id: str) -> Stream:
        """The stream takes no further snapshots; those it has are published still."""
        return Stream.model_validate(self._calls.request("POST", f"/streams/{stream_id}/close").json())

    def push(
        self,
        stream_id: str,
        content: Path | str | bytes,
        *,
        step: int | None = None,
        time: int | None = None,
        format: str | None = None,
        options: Options | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        patience_seconds: float = 0.0,
    ) -> Snapshot:
        """The content is the stream's snapshot of the step, or of the step in which the time lies.

        ``content``: a file's path, or the bytes themselves; none at all are an empty snapshot. A file streams
        in constant memory. Sending the same again is safe, and is done when the connection breaks. While the
        stream is busy it is tried again for up to ``patience_seconds``. ``format`` is taken from the file's
        name when it is left out, and is csv for bytes; ``on_progress(sent_bytes, total_bytes)``.
        """
        if isinstance(content, bytes):
            total, named = len(content), format or "csv"
        else:
            path = Path(content)
            total, named = path.stat().st_size, format or files.format_of(path)
        given: dict[str, Any] = {**(options or {}), "format": named, "step": step, "time": time}

        def body() -> Iterator[bytes]:
            if isinstance(content, bytes):
                return iter((content,) if content else ())
            return files.chunks(Path(content), total, on_progress)

        deadline = clock.monotonic() + patience_seconds
        while True:
            try:
                answer = self._calls.request(
                    "POST",
                    f"/streams/{stream_id}/snapshots",
                    params={name: value for name, value in given.items() if value is not None},
                    body=body,
                    headers={"Content-Length": str(total), "Content-Type": "application/octet-stream"},
                    repeatable=True,
                )
            except ProblemError as problem:
                if problem.slug != BUSY or clock.monotonic() >= deadline:
                    raise
                self._calls.sleep(float(problem.members.get("retry_after") or POLL_SECONDS))
                continue
            return Snapshot.model_validate(answer.json())

    def snapshots(self, stream_id: str, *, after: int | None = None) -> Iterator[Snapshot]:
        """The stream's snapshots in the order of their steps, those after ``after``, page by page."""
        query: dict[str, str | int] = {} if after is None else {"after": after}
        while True:
            answer = self._calls.request("GET", f"/streams/{stream_id}/snapshots", params=query)
            page = Snapshots.model_validate(answer.json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def snapshot(self, stream_id: str, step: int) -> Snapshot:
        """The snapshot of one step."""
        answer = self._calls.request("GET", f"/streams/{stream_id}/snapshots/{step}")
        return Snapshot.model_validate(answer.json())

    def wait(
        self,
        stream_id: str,
        step: int,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[Snapshot], None] | None = None,
    ) -> Snapshot:
        """The step's snapshot in its last state, whichever that is; WaitTimeout when it takes too long."""
        path = f"/streams/{stream_id}/snapshots/{step}"
        deadline = None if timeout_seconds is None else clock.monotonic() + timeout_seconds
        while True:
            answer = self._calls.request("GET", path)
            found = Snapshot.model_validate(answer.json())
            if on_progress:
                on_progress(found)
            if found.state in TERMINAL:
                return found
            if deadline is not None and clock.monotonic() >= deadline:
                raise WaitTimeout(f"step {step} is {found.state} after {timeout_seconds} seconds")
            self._calls.pause(answer, POLL_SECONDS)

    def report(self, stream_id: str) -> StreamReport:
        """The report of the whole stream: what its steps cost, what its windows hold, how close it is."""
        query: dict[str, str] = {}
        pages: list[StreamReport] = []
        while True:
            answer = self._calls.request("GET", f"/streams/{stream_id}/report", params=query)
            pages.append(StreamReport.model_validate(answer.json()))
            if pages[-1].next_cursor is None:
                break
            query["cursor"] = pages[-1].next_cursor
        rows = [row for page in pages for row in page.rows]
        return pages[-1].model_copy(update={"rows": rows})

    def report_markdown(self, stream_id: str, *, after: int | None = None) -> str:
        """One page of the report as Markdown, from the step that follows ``after``."""
        query = {} if after is None else {"after": after}
        return self._calls.request("GET", f"/streams/{stream_id}/report.md", params=query).text

    def report_html(self, stream_id: str, *, after: int | None = None) -> str:
        """One page of the report as an HTML file, from the step that follows ``after``."""
        query = {} if after is None else {"after": after}
        return self._calls.request("GET", f"/streams/{stream_id}/report.html", params=query).text

    def download(
        self, stream_id: str, path: Path | str, *, first: int | None = None, last: int | None = None
    ) -> Path:
        """The stream's published snapshots are one zip at ``path``, each with the digest that it was charged
        with; DigestMismatch leaves nothing."""
        query = {name: value for name, value in (("first", first), ("last", last)) if value is not None}
        with self._calls.stream(f"/streams/{stream_id}/download", params=query) as answer:
            return archives.save(answer.iter_bytes(), Path(path))
