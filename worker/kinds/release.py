"""A release job, from claim to publication. How each ending settles stands in :mod:`core.jobs.states`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.errors import (
    AccountExposed,
    InvalidInput,
    LeaseLost,
    NotFound,
    PrivacyViolation,
    StorageError,
    UnknownMethod,
)
from core.failpoints import reach
from core.jobs.events import Step
from core.jobs.models import RELEASES, JobReason, Stop
from core.logging import get_logger
from core.methods import registry
from core.privacy.accounting.guarantee import Guarantee
from core.privacy.accounting.meter import TranscriptEntry
from core.publishing.spec import Declared, InParts, Plain, Sample, Tick
from core.tracing import spans
from core.workflows.common.context import Services
from core.workflows.datasets.ingest import fetch_graph, unpack_graph
from core.workflows.datasets.link_checks import fetch_list
from core.workflows.jobs import declared, samples
from core.workflows.releases import bundles, elsewhere, publish, sharded
from core.workflows.releases.bundles import ReleaseFile
from core.workflows.releases.publish import JobWork
from worker.folders import write_private
from worker.kinds import in_parts, tick
from worker.kinds.base import Held, WorkKind
from worker.supervisor import Ending, Orders, no_reads, supervise

COPY_TRIES = 3
COPY_PAUSE_SECONDS = 0.5

REASONS = {
    Ending.FAILED: JobReason.GENERATOR_FAILED,
    Ending.MEMORY: JobReason.MEMORY_EXCEEDED,
    Ending.TIME: JobReason.TIME_EXCEEDED,
    Ending.VIOLATION: JobReason.PRIVACY_VIOLATION,
}

log = get_logger(__name__)


class ReleaseKind(WorkKind[JobWork]):
    """Releases: of a whole dataset, of a snapshot of a live stream, or a further sample of a model."""

    leased = RELEASES
    name, child = "release", "release"
    own_doing = ()  # failures are told apart below: what one costs depends on its reason

    def begin(self, services: Services, subject_id: str, worker: str) -> JobWork | None:
        return publish.begin_job(services, subject_id, worker)

    def stopped(self, session: Session, work: JobWork) -> bool:
        return publish.asked_to_stop(session, work.job_id)

    def on_gpu(self, work: JobWork) -> bool:
        return work.gpu

    def span(self, work: JobWork) -> AbstractContextManager[None]:
        return spans.attempt("run", work.traceparent, work.job_id, work.attempt)

    def run(self, held: Held[JobWork]) -> None:
        try:
            ending = _lay_out(held)
        except NotFound:
            publish.fail_job(held.services, held.work, JobReason.DATASET_ARCHIVED)
            return
        if ending is not Ending.FINISHED:
            if ending is not None:
                self.settle(held, ending)
            return
        write_private(held.folder / "spec.json", json.dumps(held.work.task).encode())
        settings, gpu = held.services.settings, held.own_gpu if self.on_gpu(held.work) else None
        ending = supervise(held.work.child, held.folder, settings, held.heartbeat, _orders(held), gpu)
        reach("after_child")
        self.settle(held, ending)

    def settle(self, held: Held[JobWork], ending: Ending) -> None:
        """Settle as every kind does. A job that was requested to stop is cancelled."""
        if ending is Ending.CANCELLED:
            publish.cancel_held(held.services, held.work)
        else:
            super().settle(held, ending)

    def finish(self, held: Held[JobWork]) -> None:
        """Publish what the child left. It must be what was requested and paid for; what is sampled from is
        kept."""
        services, work = held.services, held.work
        if work.child == InParts.child:
            self._finish_fit(held)
            return
        try:
            files = _checked(held)
        except PrivacyViolation as error:
            log.error("release_refused", error=type(error).__name__)
            publish.fail_job(services, work, JobReason.PRIVACY_VIOLATION)
            return
        except InvalidInput as error:
            log.error("release_refused", error=error.message)
            publish.fail_job(services, work, JobReason.INVALID_RELEASE)
            return
        try:
            publish.stage(services, work, files, in_parts.stored(held))
        except NotFound:
            publish.fail_job(services, work, JobReason.DATASET_ARCHIVED)
            return
        reach("after_staging")
        try:
            committed = publish.commit_release(services, work, files)
        except AccountExposed:
            publish.fail_job(services, work, JobReason.ACCOUNT_EXPOSED)
            return
        if not committed:
            publish.cancel_held(services, work)
            return
        reach("after_charge")
        _copy(held, [publish.charged(work, file) for file in files])

    def _finish_fit(self, held: Held[JobWork]) -> None:
        """Let the shards be drawn, if what was read is what was paid for."""
        services, work = held.services, held.work
        try:
            _supported(held)
            count = in_parts.shards(held)
        except PrivacyViolation as error:
            log.error("release_refused", error=type(error).__name__)
            publish.fail_job(services, work, JobReason.PRIVACY_VIOLATION)
            return
        except InvalidInput as error:
            log.error("release_refused", error=error.message)
            publish.fail_job(services, work, JobReason.INVALID_RELEASE)
            return
        try:
            sharded.keep_fitted(services, work, held.folder / "out")
        except NotFound:
            publish.fail_job(services, work, JobReason.DATASET_ARCHIVED)
            return
        reach("after_fit_kept")
        if not sharded.end_fit(services, work, count):
            publish.cancel_held(services, work)

    def fail(self, services: Services, work: JobWork, ending: Ending) -> None:
        publish.fail_job(services, work, REASONS[ending])

    def hand_back(self, services: Services, work: JobWork, stop: Stop) -> None:
        publish.hand_back(services, work, stop)


def _lay_out(held: Held[JobWork]) -> Ending | None:
    """Lays out what the child reads: FINISHED then; None where the job has ended before.

    Else how a child ended that had to go before it.
    """
    services, work, graph = held.services, held.work, held.folder / "graph"
    match work.spec.release:
        case Tick():
            return tick.lay_out(held)
        case Sample():
            samples.lay_out(services, work, held.folder / "source")
            return Ending.FINISHED
        case Declared():
            declared.lay_out(services, work, held.folder)
            return Ending.FINISHED
        case InParts() if work.fitted_attempt is not None:
            return Ending.FINISHED if in_parts.lay_out(held) else None
        case InParts():
            try:
                elsewhere.try_place(work.spec.release, services.settings)
            except InvalidInput:
                publish.fail_job(services, work, JobReason.TABLE_REFUSED)
                return None
            fetch_graph(services, work.dataset_id, work.version_id, graph)
            return Ending.FINISHED
        case Plain():
            if work.stored is not None:
                unpack_graph(services, work.stored, graph)
            else:
                fetch_graph(services, work.dataset_id, work.version_id, graph)
            return Ending.FINISHED if _links_there(services, work, graph) else None


def _orders(held: Held[JobWork]) -> Orders:
    """Choose what to do with a child's messages: a sample's, or one that joins, has no meter, nor has what
    is made from declarations."""

    def progress(steps: Sequence[Step]) -> None:
        publish.record_events(held.services, held.work, steps)

    def opening() -> None:
        publish.record_opening(held.services, held.work)
        reach("after_open")

    def record(entry: dict[str, Any]) -> None:
        publish.record_read(held.services, held.work, entry)
        reach("after_read")

    if isinstance(held.work.spec.release, Sample | Declared) or held.work.fitted_attempt is not None:
        return Orders(record=no_reads, progress=progress, draining=held.draining, last=held.keep)
    return Orders(record=record, progress=progress, draining=held.draining, opening=opening, last=held.keep)


def _links_there(services: Services, work: JobWork, graph: Path) -> bool:
    """Lay the sensitive links that a method is to hide beside the graph; False where they are gone."""
    try:
        method = registry.get(work.spec.release.method)
    except UnknownMethod:
        return True  # of another version of the service: the child refuses it, and the job ends
    if not method.hides_links:
        return True
    if fetch_list(services, work.dataset_id, work.version_id, graph):
        return True
    if not work.spec.release.named_links:
        return True
    publish.fail_job(services, work, JobReason.LINKS_NOT_NAMED)
    return False


def _checked(held: Held[JobWork]) -> list[ReleaseFile]:
    work = held.work
    guarantee, transcript = _supported(held)
    parts = None if work.fitted_attempt is None else in_parts.told(held)
    required = bundles.DECLARED if isinstance(work.spec.release, Declared) else bundles.REQUIRED
    files = bundles.checked_files(held.folder / "out", held.services.settings, parts, required)
    bundles.check_report(
        files,
        job_id=work.job_id,
        plan_digest=work.plan_digest,
        guarantee=guarantee,
        transcript=transcript,
        protected_type=work.protected_type,
        derived=work.spec.release.derived,
    )
    return files


def _supported(held: Held[JobWork]) -> tuple[Guarantee, tuple[TranscriptEntry, ...]]:
    """Check the transcript; the guarantee that it supports, and it. PrivacyViolation for a faulty one."""
    work, release = held.work, held.work.spec.release
    try:
        transcript = publish.transcript(held.services, work, held.untold)
        guarantee = bundles.check_transcript(
            work.task["plan"],
            work.plan_digest,
            work.spec.kind,
            release.delta_atto,
            transcript,
            release.window_nano_epsilon,
        )
    except (PrivacyViolation, LeaseLost, SQLAlchemyError):
        raise
    except Exception as error:
        # Whatever it was: a transcript that cannot be checked is the child's doing, not infrastructure.
        raise PrivacyViolation("the transcript cannot be checked") from error
    return guarantee, transcript


def _copy(held: Held[JobWork], files: Sequence[elsewhere.Charged]) -> None:
    """Copy what is charged: only success helps, and after a few failures the reaper goes on trying."""
    job_id, attempt = held.work.job_id, held.work.attempt
    table = elsewhere.table_of(held.work.spec.release)
    for _ in range(COPY_TRIES):
        try:
            tables = publish.copy_files(held.services, job_id, attempt, files, table)
            break
        except StorageError:
            log.warning("copy_failed")
            time.sleep(COPY_PAUSE_SECONDS)
    else:
        return
    reach("before_published")
    publish.finish_release(held.services, job_id, tables)
