"""All releases of a stream as one ZIP file. It is written as it is sent: stored, not deflated, in constant
memory.

Each step's file carries its step, so that pandas, pyarrow and polars read all of them as one table.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.errors import InvalidInput, JobNotFinished, StorageError
from core.graphs.schema import GraphSchema, TimeGrid
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository as jobs
from core.jobs.models import Artifact
from core.ledger import service as ledger
from core.ledger.kinds import EntryKind
from core.streams import repository, service
from core.streams.models import Stream
from core.workflows.common.context import Services
from graphveil.amounts import format_epsilon

NODES, EDGES, SCHEMA = "nodes.parquet", "edges.parquet", "schema.json"
BATCH = 256
DATE = (1980, 1, 1, 0, 0, 0)
"""One date for every file: when a step was published can depend on the data."""

README = """The published steps of one stream: synthetic graphs under w-event differential privacy.

nodes.parquet               the nodes, the same in every step: id, type and public attributes
edges/step-000012.parquet   one file for each published step: source, target (ids), type, step, and what the
                            edges carry, where the stream's method synthesises it
schema.json                 node types, relations, and the time grid up to the last step of this file
index.json                  for each step: its job, epsilon, and the SHA-256 of its files

Read all steps at once:

  import pandas as pd
  edges = pd.read_parquet("edges")

  import pyarrow.dataset as ds
  edges = ds.dataset("edges").to_table()

A step that is not here was not published, or lies outside the range that was asked for. What the guarantee
covers stands in the stream's report: epsilon is that of any window of consecutive steps.
"""


@dataclass(frozen=True)
class _Step:
    """One published step: its files by name, and what it cost."""

    step: int
    job_id: str
    nano_epsilon: int
    files: dict[str, Artifact]


def combined(
    services: Services,
    principal: Principal,
    stream_id: str,
    first: int | None = None,
    last: int | None = None,
) -> Iterator[bytes]:
    """Write a ZIP file of every published step. Steps are from ``first`` to ``last`` (both included), in
    constant memory.

    ``nodes.parquet``, ``schema.json``, ``README.txt``, ``index.json``, and ``edges/step-000012.parquet``
    for each step. Everything that can be refused is refused before the first byte: NotFound, InvalidInput for
    a range without steps, JobNotFinished where none of its steps is published yet.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    low, high = 0 if first is None else first, service.MAX_STEP if last is None else last
    if not 0 <= low <= high <= service.MAX_STEP:
        raise InvalidInput(
            f"Steps are numbered from 0 to {service.MAX_STEP}, and the first is at most the last.",
            field="first",
        )
    with services.db.transaction() as session:
        stream = service.get(session, tenant=principal.tenant, stream_id=stream_id)
    # Before the answer begins: once bytes are sent no error can be told any more.
    opening = _batch(services, stream_id, low, high)
    if not opening:
        raise JobNotFinished(
            "None of these steps is published.",
            state="unpublished",
            retry_after=services.settings.poll_after_seconds,
        )
    return _zip(services, stream, opening, high)


def _zip(services: Services, stream: Stream, opening: list[_Step], high: int) -> Iterator[bytes]:
    sink = _Sink()
    index: list[dict[str, Any]] = []
    # Stored as they are: Parquet is compressed already.
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        yield from _write(archive, sink, "README.txt", [README.encode()])
        batch = opening
        yield from _copy(services, archive, sink, NODES, opening[0].files[NODES])
        while batch:
            for each in batch:
                name = f"edges/step-{each.step:06d}.parquet"
                yield from _copy(services, archive, sink, name, each.files[EDGES])
                index.append(_line(each))
            batch = _batch(services, stream.id, batch[-1].step + 1, high)
        # Near the end, as only now the last step of this file is known.
        schema = _schema(services, opening[0].files[SCHEMA], stream, index[-1]["step"])
        yield from _write(archive, sink, SCHEMA, [schema.encode()])
        told = json.dumps({"stream_id": stream.id, "method": stream.method, "steps": index}, indent=1)
        yield from _write(archive, sink, "index.json", [f"{told}\n".encode()])
    yield sink.taken()


def _batch(services: Services, stream_id: str, first: int, last: int) -> list[_Step]:
    """Up to ``BATCH`` published steps with their files, each named by its charge. StorageError otherwise."""
    if first > last:
        return []
    found = []
    with services.db.transaction() as session:
        for row in repository.published(session, stream_id, first=first, last=last, limit=BATCH):
            job = jobs.by_id(session, row.job_id)
            assert job is not None  # a snapshot's job is never deleted
            entry = ledger.terminal_of(session, job.reservation_id)
            wanted = (jobs.artifact(session, job.id, name) for name in (NODES, EDGES, SCHEMA))
            files = {file.name: file for file in wanted if file is not None}
            charged = entry is not None and entry.kind == EntryKind.CHARGE
            if entry is None or not charged or len(files) != 3:
                raise StorageError("a published step has no charge, or not all of its files", job_id=job.id)
            # Only what was charged is handed on, byte by byte.
            if any(entry.digests.get(name) != file.sha256 for name, file in files.items()):
                raise StorageError("no charge names this file", job_id=job.id)
            found.append(_Step(row.step, job.id, job.reserved, files))
    return found


def _line(each: _Step) -> dict[str, Any]:
    return {
        "step": each.step,
        "job_id": each.job_id,
        "epsilon": format_epsilon(each.nano_epsilon),
        "sha256": {name: file.sha256 for name, file in each.files.items()},
    }


def _schema(services: Services, file: Artifact, stream: Stream, last: int) -> str:
    """A step's schema with the stream's grid, up to the last step: the column ``step`` counts by it."""
    schema = GraphSchema.model_validate_json(b"".join(services.store.get(file.object_key)))
    period = schema.time.period if schema.time else None
    grid = TimeGrid(start=stream.grid_start, width=stream.grid_width, count=last + 1, period=period)
    return schema.model_copy(update={"time": grid}).model_dump_json(indent=2) + "\n"


def _copy(
    services: Services, archive: zipfile.ZipFile, sink: _Sink, name: str, file: Artifact
) -> Iterator[bytes]:
    return _write(archive, sink, name, services.store.get(file.object_key))


def _write(
    archive: zipfile.ZipFile, sink: _Sink, name: str, chunks: Iterator[bytes] | list[bytes]
) -> Iterator[bytes]:
    with archive.open(zipfile.ZipInfo(name, DATE), "w", force_zip64=True) as target:
        for chunk in chunks:
            target.write(chunk)
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """Where the ZIP file is written: what was written is taken, and forgotten. Never rewound."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._position = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        self._held += data
        self._position += len(data)
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last time."""
        found = bytes(self._held)
        self._held.clear()
        return found
