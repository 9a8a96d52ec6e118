"""The calls about live streams, as ``Graphveil.streams``."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from graphveil.errors import ProblemError
from graphveil.models.stream_plans import StreamPlan
from graphveil.models.streams import TERMINAL, Snapshot, Snapshots, Stream, StreamReport, Streams
from graphveil.sdk import archives, files
from graphveil.sdk.transport import POLL_SECONDS, Transport, given, once

Options = Mapping[str, str | list[str]]

BUSY = "stream-busy"


class StreamCalls:
    """Calls to open streams, send snapshots, and download.

    Also to watch them come out. Every method may raise ProblemError, when the service refuses or fails, and
    TransportError.
    """

    def __init__(self, calls: Transport) -> None:
        self._calls = calls

    def plan(self, dataset_id: str, *, epsilon: str, **request: Any) -> StreamPlan:
        """Compute what a stream would cost, step by step. Opens nothing. ``request`` as in :meth:`create`."""
        body = {"dataset_id": dataset_id, "epsilon": epsilon, **request}
        return self._calls.read(StreamPlan, "POST", "/streams", params={"dry_run": "true"}, json=body)

    def create(
        self, dataset_id: str, *, epsilon: str, idempotency_key: str | None = None, **request: Any
    ) -> Stream:
        """Open a stream, once.

        It is once, however often the request had to be repeated.

        ``epsilon`` is what any window may cost. ``request``: method, window, parameters, edge_types,
        first_step, missing_steps, suite, label, project.
        """
        body = {"dataset_id": dataset_id, "epsilon": epsilon, **request}
        return self._calls.read(Stream, "POST", "/streams", json=body, headers=once(idempotency_key))

    def list(self, *, dataset_id: str | None = None, state: str | None = None) -> Iterator[Stream]:
        """List the tenant's streams, newest first, page by page."""
        return self._calls.pages(Streams, "/streams", dataset_id=dataset_id, state=state)

    def get(self, stream_id: str) -> Stream:
        """Read one stream."""
        return self._calls.read(Stream, "GET", f"/streams/{stream_id}")

    def close(self, stream_id: str) -> Stream:
        """Close the stream. It takes no further snapshots; those it has are published still."""
        return self._calls.read(Stream, "POST", f"/streams/{stream_id}/close")

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
        """Send the content as the step's snapshot.

        It is that of the step, or of the step in which the time lies.

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
        query = given({**(options or {}), "format": named, "step": step, "time": time})

        def body() -> Iterator[bytes]:
            if isinstance(content, bytes):
                return iter((content,) if content else ())
            return files.chunks(Path(content), total, on_progress)

        deadline = clock.monotonic() + patience_seconds
        while True:
            try:
                return self._calls.read(
                    Snapshot,
                    "POST",
                    f"/streams/{stream_id}/snapshots",
                    params=query,
                    body=body,
                    headers={"Content-Length": str(total), "Content-Type": "application/octet-stream"},
                    repeatable=True,
                )
            except ProblemError as problem:
                if problem.slug != BUSY or clock.monotonic() >= deadline:
                    raise
                self._calls.sleep(float(problem.members.get("retry_after") or POLL_SECONDS))

    def snapshots(self, stream_id: str, *, after: int | None = None) -> Iterator[Snapshot]:
        """List the stream's snapshots, page by page.

        They are in the order of their steps, those after ``after``.
        """
        return self._calls.pages(Snapshots, f"/streams/{stream_id}/snapshots", after=after)

    def snapshot(self, stream_id: str, step: int) -> Snapshot:
        """Read the snapshot of one step."""
        return self._calls.read(Snapshot, "GET", f"/streams/{stream_id}/snapshots/{step}")

    def wait(
        self,
        stream_id: str,
        step: int,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[Snapshot], None] | None = None,
    ) -> Snapshot:
        """Wait for the last state of the step's snapshot.

        It is whichever state that is; WaitTimeout if it comes too late.
        """

        def ended(answer: httpx.Response) -> Snapshot | None:
            snapshot = Snapshot.model_validate(answer.json())
            if on_progress:
                on_progress(snapshot)
            return snapshot if snapshot.state in TERMINAL else None

        path = f"/streams/{stream_id}/snapshots/{step}"
        return self._calls.poll(path, ended, timeout_seconds, late=f"step {step} has not ended")

    def report(self, stream_id: str) -> StreamReport:
        """Read the report of the whole stream.

        It has what its steps cost, what windows hold, how close it is.
        """
        path = f"/streams/{stream_id}/report"
        page = self._calls.read(StreamReport, "GET", path)
        rows = page.rows
        while page.next_cursor is not None:
            page = self._calls.read(StreamReport, "GET", path, params={"cursor": page.next_cursor})
            rows = rows + page.rows
        return page.model_copy(update={"rows": rows})

    def report_markdown(self, stream_id: str, *, after: int | None = None) -> str:
        """Read one page of the report as Markdown. It begins with the step that follows ``after``."""
        return self._page(f"/streams/{stream_id}/report.md", after)

    def report_html(self, stream_id: str, *, after: int | None = None) -> str:
        """Read one page of the report as HTML. It is a file, from the step that follows ``after``."""
        return self._page(f"/streams/{stream_id}/report.html", after)

    def download(
        self, stream_id: str, path: Path | str, *, first: int | None = None, last: int | None = None
    ) -> Path:
        """Download the stream's published snapshots as one zip.

        It goes to ``path``, and each one's digest is checked; DigestMismatch leaves nothing.
        """
        query = given({"first": first, "last": last})
        with self._calls.stream(f"/streams/{stream_id}/download", params=query) as answer:
            return archives.save(answer.iter_bytes(), Path(path))

    def _page(self, path: str, after: int | None) -> str:
        return self._calls.request("GET", path, params=given({"after": after})).text
