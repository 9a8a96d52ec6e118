"""A release job, from claim to publication. How each ending settles stands in :mod:`core.jobs.states`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.db.outages import unreachable
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
from core.generators import registry
from core.generators.base import LinkHidingGenerator
from core.jobs.models import JobReason, Stop
from core.logging import get_logger
from core.privacy.guarantee import Guarantee
from core.privacy.meter import TranscriptEntry
from core.tracing import spans
from core.workflows import bundles, publish, samples
from core.workflows.bundles import ReleaseFile
from core.workflows.ingest import fetch_graph
from core.workflows.sensitive_checks import fetch_list
from worker import ticks
from worker.folders import private_folder, write_private
from worker.process import WorkerProcess
from worker.pulse import Pulse
from worker.supervisor import Ending, Orders, no_reads, supervise

COPY_TRIES = 3
COPY_PAUSE_SECONDS = 0.5

REASONS = {
    Ending.FAILED: JobReason.GENERATOR_FAILED,
    Ending.MEMORY: JobReason.MEMORY_EXCEEDED,
    Ending.TIME: JobReason.TIME_EXCEEDED,
    Ending.VIOLATION: JobReason.PRIVACY_VIOLATION,
}

STOPS = {
    Ending.DRAINED: Stop.DRAINED,
    Ending.LOST: Stop.WORKER_LOST,
    Ending.OUTAGE: Stop.OUTAGE,
}

log = get_logger(__name__)


def run_job(process: WorkerProcess, job_id: str, draining: Callable[[], bool]) -> bool:
    """The job is published, has ended, or is another's to finish; False if it was not free.

    What cannot be told the database is left to the lease: it runs out, and the reaper decides.
    """
    work = publish.begin_job(process.services, job_id, process.name)
    if work is None:
        return False
    reach("after_claim")
    settings = process.services.settings
    with (
        spans.attempt("run", work.traceparent, work.job_id, work.attempt),
        private_folder(process.folder / f"release-{work.job_id}-{work.attempt}") as folder,
        Pulse(
            lambda: publish.heartbeat(process.services, work),
            every_seconds=settings.heartbeat_seconds,
            lease_seconds=settings.lease_seconds,
        ) as pulse,
    ):
        try:
            _Attempt(process, work, folder, pulse, draining).run()
        except LeaseLost:
            log.warning("lease_lost")
        except (StorageError, SQLAlchemyError, OSError) as error:
            log.warning("infrastructure_failed", error=type(error).__name__)
            _hand_back(process, work, _stop(error))
    return True


class _Attempt:
    def __init__(
        self,
        process: WorkerProcess,
        work: publish.JobWork,
        folder: Path,
        pulse: Pulse,
        draining: Callable[[], bool],
    ) -> None:
        self._services, self._work, self._folder = process.services, work, folder
        self._pulse, self._draining = pulse, draining

    def run(self) -> None:
        try:
            if not self._laid_out():
                return
        except NotFound:
            publish.fail_job(self._services, self._work, JobReason.DATASET_ARCHIVED)
            return
        spec = json.dumps(self._work.release | {"plan": self._work.plan})
        write_private(self._folder / "spec.json", spec.encode())
        kind, orders = self._orders()
        ending = supervise(kind, self._folder, self._services.settings, self._pulse, orders)
        reach("after_child")
        self._settle(ending)

    def _orders(self) -> tuple[str, Orders]:
        """The kind of child, and what to do with its messages: a sample's has no graph and no meter."""
        if self._work.sample_of is not None:
            return "sample", Orders(record=no_reads, progress=self._progress, draining=self._draining)
        return "release", Orders(
            record=self._record,
            progress=self._progress,
            draining=self._draining,
            opening=self._opening,
        )

    def _laid_out(self) -> bool:
        """The child's input is in the folder; False where the job has ended, or been handed back, before."""
        work, graph = self._work, self._folder / "graph"
        if work.sample_of is not None:
            samples.lay_out(self._services, work, self._folder / "source")
            return True
        if work.release.get("tick") is None:
            fetch_graph(self._services, work.dataset_id, work.version_id, graph)
            return self._links_there(graph)
        ending = ticks.lay_out(self._services, work, self._folder, self._pulse, self._draining)
        if ending is not None and ending is not Ending.FINISHED:
            self._settle(ending)
        return ending is Ending.FINISHED

    def _links_there(self, graph: Path) -> bool:
        """The sensitive links that a method is to hide lie beside the graph; False where they are gone."""
        work = self._work
        try:
            method = registry.get(work.release["method"])
        except UnknownMethod:
            return True  # of another version of the service: the child refuses it, and the job ends
        if not isinstance(method, LinkHidingGenerator):
            return True
        if fetch_list(self._services, work.dataset_id, work.version_id, graph):
            return True
        if not work.release.get("named_links"):
            return True
        publish.fail_job(self._services, work, JobReason.LINKS_NOT_NAMED)
        return False

    def _opening(self) -> None:
        publish.record_opening(self._services, self._work)
        reach("after_open")

    def _record(self, entry: dict[str, Any]) -> None:
        publish.record_read(self._services, self._work, entry)
        reach("after_read")

    def _progress(self, stage: str, done: int, total: int) -> None:
        publish.record_event(self._services, self._work, stage=stage, done=done, total=total)

    def _settle(self, ending: Ending) -> None:
        match ending:
            case Ending.FINISHED:
                self._publish()
            case Ending.CANCELLED:
                publish.cancel_held(self._services, self._work)
            case Ending.DRAINED | Ending.LOST | Ending.OUTAGE:
                publish.hand_back(self._services, self._work, STOPS[ending])
            case _:
                publish.fail_job(self._services, self._work, REASONS[ending])

    def _publish(self) -> None:
        try:
            files = self._checked()
        except PrivacyViolation as error:
            log.error("release_refused", error=type(error).__name__)
            publish.fail_job(self._services, self._work, JobReason.PRIVACY_VIOLATION)
            return
        except InvalidInput as error:
            log.error("release_refused", error=error.message)
            publish.fail_job(self._services, self._work, JobReason.INVALID_RELEASE)
            return
        try:
            publish.stage(self._services, self._work, files)
        except NotFound:
            publish.fail_job(self._services, self._work, JobReason.DATASET_ARCHIVED)
            return
        reach("after_staging")
        try:
            committed = publish.commit_release(self._services, self._work, files)
        except AccountExposed:
            publish.fail_job(self._services, self._work, JobReason.ACCOUNT_EXPOSED)
            return
        if not committed:
            publish.cancel_held(self._services, self._work)
            return
        reach("after_charge")
        self._copy()

    def _checked(self) -> list[ReleaseFile]:
        work, settings = self._work, self._services.settings
        guarantee, transcript = self._supported()
        files = bundles.checked_files(self._folder / "out", settings)
        bundles.check_report(
            files,
            job_id=work.job_id,
            plan_digest=work.plan_digest,
            guarantee=guarantee,
            transcript=transcript,
        )
        return files

    def _supported(self) -> tuple[Guarantee, tuple[TranscriptEntry, ...]]:
        """The guarantee that the transcript supports, and it; PrivacyViolation for a faulty one."""
        work = self._work
        try:
            read = publish.transcript if work.sample_of is None else samples.transcript
            transcript = read(self._services, work)
            guarantee = bundles.check_transcript(
                work.plan,
                work.plan_digest,
                work.kind,
                work.release["delta_atto"],
                transcript,
                None if work.release.get("tick") is None else work.release["nano_epsilon"],
            )
        except (PrivacyViolation, SQLAlchemyError):
            raise
        except Exception as error:
            # Whatever it was: a transcript that cannot be checked is the child's doing, not infrastructure.
            raise PrivacyViolation("the transcript cannot be checked") from error
        return guarantee, transcript

    def _copy(self) -> None:
        """The charge stands, so only success helps; after a few failures the reaper goes on trying."""
        for _ in range(COPY_TRIES):
            try:
                publish.copy_release(self._services, self._work.job_id)
                break
            except StorageError:
                log.warning("copy_failed")
                time.sleep(COPY_PAUSE_SECONDS)
        else:
            return
        reach("before_published")
        publish.finish_release(self._services, self._work.job_id)


def _stop(error: Exception) -> Stop:
    """What stopped the attempt. The worker's own disk is no outage: what a job writes can fill it."""
    outage = isinstance(error, StorageError) or unreachable(error)
    return Stop.OUTAGE if outage else Stop.WORKER_LOST


def _hand_back(process: WorkerProcess, work: publish.JobWork, stop: Stop) -> None:
    try:
        publish.hand_back(process.services, work, stop)
    except (LeaseLost, SQLAlchemyError) as error:
        log.warning("left_to_the_reaper", error=type(error).__name__)
