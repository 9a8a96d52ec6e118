"""One shard of a release. It is sampled from the law that its job's fit left, without the graph, and
stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import InvalidInput, LeaseLost, NotFound, StorageError
from core.failpoints import reach
from core.graphs.counted import places
from core.graphs.schema.partable import Part, part_name
from core.jobs.models import SHARDS, JobReason, Stop
from core.logging import get_logger
from core.publishing.drawn import DEGREES, LAW, PARTS, Drawing
from core.tracing import spans
from core.workflows.common.context import Services
from core.workflows.releases import elsewhere, sharded
from core.workflows.releases.sharded import ShardWork
from worker.kinds import on_engine
from worker.kinds.base import STOPS, Held, WorkKind, read_result
from worker.supervisor import Ending

REASONS = {
    Ending.FAILED: JobReason.GENERATOR_FAILED,
    Ending.MEMORY: JobReason.MEMORY_EXCEEDED,
    Ending.TIME: JobReason.TIME_EXCEEDED,
    Ending.VIOLATION: JobReason.PRIVACY_VIOLATION,
}

log = get_logger(__name__)


class ShardKind(WorkKind[ShardWork]):
    """Shards: a part that is stored, and told of in its row; a failure is the whole job's."""

    leased = SHARDS
    name, child = "shard", "shard"

    def begin(self, services: Services, subject_id: str, worker: str) -> ShardWork | None:
        return sharded.begin_shard(services, subject_id, worker)

    def span(self, work: ShardWork) -> AbstractContextManager[None]:
        return spans.attempt("shard", work.traceparent, work.job_id, work.attempt)

    def extend(self, services: Services, work: ShardWork) -> None:
        sharded.extend_beside(services, work)

    def run(self, held: Held[ShardWork]) -> None:
        try:
            if held.work.on_engine:
                self._run_there(held)
            else:
                super().run(held)
        except (InvalidInput, ValueError, OSError) as error:
            if not held.work.on_engine:
                raise
            log.warning("engine_failed", error=type(error).__name__)
            self.hand_back(held.services, held.work, Stop.WORKER_LOST)
        except NotFound:
            sharded.fail_shard(held.services, held.work, JobReason.DATASET_ARCHIVED)

    def spec(self, held: Held[ShardWork]) -> Mapping[str, Any]:
        work = held.work
        sharded.fetch_fitted(held.services, work, sharded.LAW, held.folder / "law")
        return {"method": work.method, "number": work.number, "shards": work.shards}

    def finish(self, held: Held[ShardWork]) -> None:
        _keep(held.services, held.work, lambda: _checked(held), map(places.pieces, _files(held)))

    def _run_there(self, held: Held[ShardWork]) -> None:
        """Let tasks of the engine draw the shards. Whatever ends them, they are handed back: the last
        attempt is a child's."""
        services, work = held.services, held.work
        own, settings = [*work.beside, work], services.settings  # this one last: its lease is the first
        with on_engine.engine(settings, f"{work.job_id}/{work.number}", work.attempt) as engine:
            numbers = tuple(each.number for each in own)
            drawing = Drawing(engine.place, work.method, numbers, work.shards, secrets.token_bytes(32))
            drawing.put(LAW, sharded.fitted(services, work, sharded.LAW))
            told, ending = on_engine.watched(held, lambda: engine.each(drawing, len(own)), engine.stop)
            if told is None:
                self.hand_back(services, work, STOPS.get(ending, Stop.WORKER_LOST))
                return
            for each, description in zip(own, told, strict=True):
                name = part_name(each.number, each.shards)
                content, degrees = (_fetched(drawing, f"{folder}/{name}") for folder in (PARTS, DEGREES))
                files = elsewhere.checked(content, str(description.get("sha256"))), degrees
                if not _keep(services, each, partial(_part, description, name), files):
                    return
        if sharded.all_drawn(services, work):
            on_engine.forget(settings, work.job_id)

    def fail(self, services: Services, work: ShardWork, ending: Ending) -> None:
        sharded.fail_shard(services, work, REASONS.get(ending, JobReason.GENERATOR_FAILED))

    def hand_back(self, services: Services, work: ShardWork, stop: Stop) -> None:
        for each in work.beside:
            with suppress(LeaseLost):  # it is drawn, or the job has ended
                sharded.hand_back_shard(services, each)
        sharded.hand_back_shard(services, work)


def _keep(
    services: Services, work: ShardWork, told: Callable[[], Part], files: Iterable[Iterator[bytes]]
) -> bool:
    """Keep a part and its degrees, if they are as ``told``: False where not, and the job has failed."""
    try:
        part = told()
        reach("before_part")
        sharded.record_part(services, work, part)
    except (InvalidInput, FileNotFoundError, ValueError) as error:
        log.error("part_refused", error=type(error).__name__)
        sharded.fail_shard(services, work, JobReason.INVALID_RELEASE)
        return False
    content, degrees = files
    sharded.keep_part(services, work, part, content, degrees)
    reach("after_part")
    sharded.finish_shard(services, work)
    reach("after_shard")
    return True


def _fetched(drawing: Drawing, name: str) -> Iterator[bytes]:
    """Fetch a file that a task left. StorageError where it is gone or altered."""
    try:
        yield from drawing.get(name)
    except OSError as error:
        raise StorageError("what the engine drew cannot be fetched") from error


def _files(held: Held[ShardWork]) -> tuple[Path, Path]:
    """Say where the child leaves its part, and the degrees of its nodes."""
    out, name = held.folder / "out", part_name(held.work.number, held.work.shards)
    return out / name, out / DEGREES / name


def _checked(held: Held[ShardWork]) -> Part:
    """Check what the child tells of its part: name, size and digest; its rows when parts are joined."""
    path, degrees = _files(held)
    part = _part(read_result(held.folder).get("report"), path.name)
    if degrees.is_symlink() or degrees.parent.is_symlink() or not degrees.is_file():
        raise InvalidInput("the child left no degrees")
    if path.is_symlink() or part.bytes != path.stat().st_size:
        raise InvalidInput("the child left no part of the size that it tells")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != part.sha256:
            raise InvalidInput("the part has another digest than the child tells")
    return part


def _part(told: Any, name: str) -> Part:
    """Read what is told of the part of that name. InvalidInput for what is no description."""
    try:
        part = Part(**told)
    except TypeError as error:
        raise InvalidInput("no part is told of") from error
    numbers = (part.bytes, part.rows, part.first_source, part.last_source)
    if any(type(number) is not int or not -1 <= number < 2**63 for number in numbers):
        raise InvalidInput("what is told of the part is no number")
    if part.name != name or re.fullmatch("[0-9a-f]{64}", str(part.sha256)) is None:
        raise InvalidInput("another part is told of")
    return part
