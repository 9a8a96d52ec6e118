"""One shard of a release. It is sampled from the law that its job's fit left, without the graph, and
stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from core.errors import InvalidInput, NotFound
from core.failpoints import reach
from core.graphs.schema.partable import Part, part_name
from core.jobs.models import SHARDS, JobReason, Stop
from core.logging import get_logger
from core.tracing import spans
from core.workflows.common.context import Services
from core.workflows.releases import sharded
from core.workflows.releases.sharded import DEGREES, ShardWork
from worker.kinds.base import Held, WorkKind, read_result
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

    def run(self, held: Held[ShardWork]) -> None:
        try:
            super().run(held)
        except NotFound:
            sharded.fail_shard(held.services, held.work, JobReason.DATASET_ARCHIVED)

    def spec(self, held: Held[ShardWork]) -> Mapping[str, Any]:
        work = held.work
        sharded.fetch_fitted(held.services, work, sharded.LAW, held.folder / "law")
        return {"method": work.method, "number": work.number, "shards": work.shards}

    def finish(self, held: Held[ShardWork]) -> None:
        services, work = held.services, held.work
        try:
            part = _checked(held)
            reach("before_part")
            sharded.record_part(services, work, part)
        except (InvalidInput, FileNotFoundError, ValueError) as error:
            log.error("part_refused", error=type(error).__name__)
            sharded.fail_shard(services, work, JobReason.INVALID_RELEASE)
            return
        sharded.keep_part(services, work, part, *_files(held))
        reach("after_part")
        sharded.finish_shard(services, work)
        reach("after_shard")

    def fail(self, services: Services, work: ShardWork, ending: Ending) -> None:
        sharded.fail_shard(services, work, REASONS.get(ending, JobReason.GENERATOR_FAILED))

    def hand_back(self, services: Services, work: ShardWork, stop: Stop) -> None:
        sharded.hand_back_shard(services, work)


def _files(held: Held[ShardWork]) -> tuple[Path, Path]:
    """Say where the child leaves its part, and the degrees of its nodes."""
    out, name = held.folder / "out", part_name(held.work.number, held.work.shards)
    return out / name, out / DEGREES / name


def _checked(held: Held[ShardWork]) -> Part:
    """Check what the child tells of its part: name, size and digest; its rows when parts are joined."""
    try:
        part = Part(**read_result(held.folder)["report"])
    except (KeyError, TypeError) as error:
        raise InvalidInput("the child tells of no part") from error
    path, degrees = _files(held)
    if degrees.is_symlink() or degrees.parent.is_symlink() or not degrees.is_file():
        raise InvalidInput("the child left no degrees")
    if path.is_symlink() or part.name != path.name or part.bytes != path.stat().st_size:
        raise InvalidInput("the child left no part of the name and size that it tells")
    numbers = (part.bytes, part.rows, part.first_source, part.last_source)
    if any(type(number) is not int or not -1 <= number < 2**63 for number in numbers):
        raise InvalidInput("what the child tells of its part is no number")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != part.sha256:
            raise InvalidInput("the part has another digest than the child tells")
    return part
