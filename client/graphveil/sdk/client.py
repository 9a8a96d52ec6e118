"""The service as a Python object. Every method is one call, or a loop of polls that says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from typing_extensions import Self

from graphveil.errors import ClientError, WaitTimeout
from graphveil.models.datasets import Dataset, Datasets, Received
from graphveil.models.identity import Me
from graphveil.models.jobs import Artifact, Artifacts, Job, Jobs
from graphveil.models.plans import Menu, Method, Methods, Plan
from graphveil.sdk import direct, files, forms
from graphveil.sdk.audits import AuditCalls
from graphveil.sdk.events import EventCalls
from graphveil.sdk.evidence import EvidenceCalls
from graphveil.sdk.governance import GovernanceCalls
from graphveil.sdk.keys import KeyCalls
from graphveil.sdk.ledger import LedgerCalls
from graphveil.sdk.samples import SampleCalls
from graphveil.sdk.sensitive_links import SensitiveLinkCalls
from graphveil.sdk.streams import StreamCalls
from graphveil.sdk.transport import Transport, given, once
from graphveil.sdk.webhooks import WebhookCalls
from graphveil.sources.opening import Source

_SETTLED = frozenset({"ready", "proposed", "rejected", "archived"})


class Graphveil(
    AuditCalls,
    EventCalls,
    EvidenceCalls,
    GovernanceCalls,
    LedgerCalls,
    SampleCalls,
    SensitiveLinkCalls,
):
    """A connection to one service as one API key.

    Every method may raise ProblemError, when the service refuses or fails, and TransportError. The calls
    about live streams are those of ``streams``, those about webhooks of ``webhooks``, those about keys of
    ``keys``.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout_seconds: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._calls = Transport(
            base_url, token, timeout_seconds=timeout_seconds, transport=transport, sleep=sleep
        )
        self.streams = StreamCalls(self._calls)
        self.webhooks = WebhookCalls(self._calls)
        self.keys = KeyCalls(self._calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._calls.close()

    def me(self) -> Me:
        """Read who is calling, as the service sees it."""
        return self._calls.read(Me, "GET", "/me")

    # datasets

    def register_dataset(
        self,
        name: str,
        *,
        unit: str,
        epsilon: str,
        delta: str = "0",
        graph_schema: Mapping[str, Any] | None = None,
        **declared: Any,
    ) -> Dataset:
        """Declare a dataset and open (or join) its budget account.

        ``declared``: window, filter, protection_domain, policy, public, in_parts, as the API documents them.
        """
        body = {"name": name, "unit": unit, "epsilon": epsilon, "delta": delta, **declared}
        if graph_schema is not None:
            body["graph_schema"] = dict(graph_schema)
        return self._calls.read(Dataset, "POST", "/datasets", json=body)

    def upload(
        self,
        dataset_id: str,
        source: Source,
        *,
        part: str = "edges",
        format: str | None = None,
        options: Mapping[str, str | list[str]] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Received:
        """Upload the dataset's ``nodes`` or ``edges``.

        ``nodes`` come first, ``edges`` completes the upload. Of a dataset in parts the last of
        ``edges-1-of-8`` to ``edges-8-of-8`` that was missing does.

        ``source``: a file, a folder of Parquet parts, ``s3://bucket/key`` (``s3://bucket/prefix/`` of parts),
        or a :class:`graphveil.sources.Query`. What is no file is made one first, on this machine, and removed
        after: no address and no password leaves it. Of a dataset in parts a folder, partitioned or not, or a
        glob (``"ties/year=*/"``) is sent file by file, and nothing is joined.

        The file streams in constant memory and is sent again from its start when the connection breaks. A
        large one goes straight into the service's bucket, part by part, where there is a bucket. ``format``
        is taken from the name when it is left out; ``options`` say what the file does not, such as
        ``{"columns": "source=caller,target=callee"}``; ``on_progress(sent_bytes, total_bytes)``. Raises
        ClientError for a source that cannot be read.
        """
        from graphveil.sources import of_files, opened

        if part == "edges" and of_files(source) and self.dataset(dataset_id).in_parts:
            return self._upload_files(dataset_id, source, format, options or {}, on_progress)
        with opened(source) as path:
            return self._upload(dataset_id, path, part, format, options or {}, on_progress)

    def _upload_files(
        self,
        dataset_id: str,
        source: Source,
        format: str | None,
        options: Mapping[str, str | list[str]],
        on_progress: Callable[[int, int], None] | None,
    ) -> Received:
        from graphveil.sources import several

        with several(source) as found:
            total, before = sum(path.stat().st_size for path in found), 0
            for number, path in enumerate(found, start=1):
                part = f"edges-{number}-of-{len(found)}"
                moved = None if on_progress is None else partial(_further, on_progress, before, total)
                received = self._upload(dataset_id, path, part, format, options, moved)
                before += path.stat().st_size
            return received

    def _upload(
        self,
        dataset_id: str,
        source: Path,
        part: str,
        format: str | None,
        options: Mapping[str, str | list[str]],
        on_progress: Callable[[int, int], None] | None,
    ) -> Received:
        named = {"part": part, "format": format or files.format_of(source)}
        query = {**options, **named}
        total = source.stat().st_size
        if total >= direct.SMALLEST_BYTES:
            request = {**named, "options": dict(options)}
            received = direct.upload_direct(self._calls, dataset_id, source, request, on_progress)
            if received is not None:
                return received
        return self._calls.read(
            Received,
            "PUT",
            f"/datasets/{dataset_id}/content",
            params=query,
            body=lambda: files.chunks(source, total, on_progress),
            headers={"Content-Length": str(total), "Content-Type": "application/octet-stream"},
        )

    def read_again(self, dataset_id: str, *, part: str = "edges", **said: Any) -> Received:
        """Have the kept file of a proposal read as you say.

        Another schema is proposed from it.

        ``said``: columns (a text, or a mapping of roles and columns), delimiter, header, decimal, encoding,
        bipartite, dates. What is not said stays as it was read: see ``dataset(...).version.readings``.
        """
        body = {"part": part, **said}
        return self._calls.read(Received, "POST", f"/datasets/{dataset_id}/reading", json=body)

    def confirm_schema(self, dataset_id: str, graph_schema: Mapping[str, Any]) -> Dataset:
        """Confirm the dataset's schema, and make it public. An upload that waited for it is validated."""
        return self._calls.read(Dataset, "PUT", f"/datasets/{dataset_id}/schema", json=dict(graph_schema))

    def wait_ready(
        self,
        dataset_id: str,
        *,
        timeout_seconds: float | None = None,
        on_change: Callable[[Dataset], None] | None = None,
    ) -> Dataset:
        """Wait until the dataset is settled.

        It is when ready, rejected, archived or proposed (a schema waits for a yes).
        """

        def settled(answer: httpx.Response) -> Dataset | None:
            dataset = Dataset.model_validate(answer.json())
            if on_change:
                on_change(dataset)
            return dataset if dataset.state in _SETTLED else None

        return self._calls.poll(f"/datasets/{dataset_id}", settled, timeout_seconds)

    def dataset(self, dataset_id: str) -> Dataset:
        """Read one dataset."""
        return self._calls.read(Dataset, "GET", f"/datasets/{dataset_id}")

    def datasets(self) -> Iterator[Dataset]:
        """List the tenant's datasets, newest first, page by page."""
        return self._calls.pages(Datasets, "/datasets")

    def archive(self, dataset_id: str) -> None:
        """Erase the dataset's content for good. Its budget account and ledger stay."""
        self._calls.request("DELETE", f"/datasets/{dataset_id}")

    # jobs

    def methods(self) -> list[Method]:
        """List what can be requested."""
        return self._calls.read(Methods, "GET", "/methods").items

    def plan(self, dataset_id: str, *, epsilon: str | None = None, **request: Any) -> Plan:
        """Compute what a job would cost and leave. Spends nothing. ``request`` as in :meth:`submit`."""
        body = {"dataset_id": dataset_id, **given({"epsilon": epsilon}), **request}
        return self._calls.read(Plan, "POST", "/jobs", params={"dry_run": "true"}, json=body)

    def menu(
        self,
        dataset_id: str,
        *,
        methods: Sequence[str | Mapping[str, Any]],
        epsilons: Sequence[str],
        **request: Any,
    ) -> Menu:
        """Plan every method at every epsilon, 50 plans at most. Spends nothing.

        ``methods``: names, or ``{"method": ..., "parameters": ...}``; ``request``: delta, edge_types,
        project, assume.
        """
        named = [{"method": each} if isinstance(each, str) else dict(each) for each in methods]
        body = {"dataset_id": dataset_id, "methods": named, "epsilons": list(epsilons), **request}
        return self._calls.read(Menu, "POST", "/plans", json=body)

    def submit(
        self,
        dataset_id: str,
        *,
        epsilon: str | None = None,
        idempotency_key: str | None = None,
        **request: Any,
    ) -> Job:
        """Queue a job and reserve its budget, once.

        It is once, however often the request had to be repeated.

        ``request``: ``target`` (and ``assume``) where no epsilon is given,
        method, delta, parameters, edge_types, formats, seed, suite, label, project, repeat,
        ``size`` (``{"nodes": 10_000}``) for another number of nodes than the original's, and ``write_to``
        for the folder that tables of a release in parts are written to. The
        key is made here and kept nowhere: give your own to make a repeat from another process safe.
        """
        body = {"dataset_id": dataset_id, **given({"epsilon": epsilon}), **request}
        return self._calls.read(Job, "POST", "/jobs", json=body, headers=once(idempotency_key))

    def job(self, job_id: str) -> Job:
        """Read one job."""
        return self._calls.read(Job, "GET", f"/jobs/{job_id}")

    def jobs(self, *, state: str | None = None, dataset_id: str | None = None) -> Iterator[Job]:
        """List the tenant's jobs, newest first, page by page."""
        return self._calls.pages(Jobs, "/jobs", state=state, dataset_id=dataset_id)

    def cancel(self, job_id: str) -> Job:
        """Ask the job to stop."""
        return self._calls.read(Job, "POST", f"/jobs/{job_id}/cancel")

    # releases

    def report(self, job_id: str) -> dict[str, Any]:
        """Read the report of a published job. WaitTimeout while it still runs."""
        report: dict[str, Any] = self._report(job_id, "report", {}).json()
        return report

    def report_as(self, job_id: str, form: str, **said: str) -> str:
        """Read the report as text in one of its forms.

        They are json, html, markdown, card, dcat, croissant, openlineage or deployment.

        ``said``: what only its publisher can say, for card and metadata: title, publisher, license and others
        that the API documents. WaitTimeout while the job still runs; ClientError for an unknown form.
        """
        return self._report(job_id, forms.path_of(form, says=bool(said)), said).text

    def wait_report(self, job_id: str, *, timeout_seconds: float | None = None) -> dict[str, Any]:
        """Wait for a job's report with its comparison.

        The job is published; the comparison with the original is made, or has failed. For a key that may not
        read the comparison: the report at once. WaitTimeout when it takes too long.
        """

        def evaluated(answer: httpx.Response) -> dict[str, Any] | None:
            report = answer.json()
            waits = answer.status_code == 202 or (report.get("curator") or {}).get("status") == "pending"
            return None if waits else report

        return self._calls.poll(f"/jobs/{job_id}/report", evaluated, timeout_seconds)

    def artifacts(self, job_id: str) -> list[Artifact]:
        """List the release files that the key may see."""
        return self._calls.read(Artifacts, "GET", f"/jobs/{job_id}/artifacts").items

    def download(self, job_id: str, name: str, path: Path | str) -> Path:
        """Download a file to ``path`` and check its digest. DigestMismatch leaves nothing there."""
        listed = next((a for a in self.artifacts(job_id) if a.name == name), None)
        if listed is None:
            raise ClientError(f"the release of {job_id} lists no file {name}")
        if listed.written_to is not None:
            raise ClientError(f"{name} is not in the bundle; read it at {listed.written_to}")
        with self._calls.stream(f"/jobs/{job_id}/artifacts/{name}") as answer:
            return files.save_released(answer.iter_bytes(), Path(path), listed.sha256)

    def _report(self, job_id: str, path: str, query: Mapping[str, str]) -> httpx.Response:
        answer = self._calls.request("GET", f"/jobs/{job_id}/{path}", params=dict(query))
        if answer.status_code == 202:
            raise WaitTimeout(f"job {job_id} is {answer.json().get('state')}; there is no report yet")
        return answer


def _further(tell: Callable[[int, int], None], before: int, total: int, sent: int, _: int) -> None:
    tell(before + sent, total)
