"""A small service with one of everything, to which faults happen; and what must hold whatever happened."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import func, select

from core.audits.models import AuditState
from core.datasets.models import Dataset, DatasetVersion, ListState, VersionState
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import EvaluationState, Job, JobState, ShardState
from core.jobs.repository import artifacts
from core.jobs.states import TERMINAL
from core.outbox.models import OutboxMessage, Topic
from core.settings import Settings
from core.streams.models import Stream as StreamRow
from core.workflows.audits.requests import AuditRequest, submit_audit
from core.workflows.common.context import Services, open_services
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.sensitive_links import receive_list
from core.workflows.datasets.upload import receive_part
from core.workflows.ledger.invariants.run import check, promises
from core.workflows.operations.leased import KINDS
from graphveil.models.streams import Stream
from tests.support.faults import assert_sound, endings, lapse
from tests.support.inline import Sabotage, taken
from tests.support.releases import (
    SCHEMA,
    job_row,
    parted_dataset,
    queued_job,
    ready_dataset,
    ring_edges,
)
from tests.support.sharded import draw, fitted_job, shard, small_shards
from tests.support.streams import open_stream, seen, send, stream_dataset
from worker.reaper import reap_once

CALLER = Principal("acme", "key_test", "test", frozenset({Role.CURATOR, Role.REQUESTER}))
METHOD = "edgerand"
GONE = "gone"
"""The state of a shard whose job has ended."""
LINKS = b"source,target\n0,1\n1,8\n"  # of the ring with chords
ENDS: dict[Topic, frozenset[str]] = {
    Topic.RUN: frozenset(TERMINAL),
    Topic.SHARD: frozenset({ShardState.DRAWN, GONE}),
    Topic.EVALUATE: frozenset({EvaluationState.DONE, EvaluationState.FAILED}),
    Topic.INGEST: frozenset(
        {VersionState.READY, VersionState.REJECTED, VersionState.PROPOSED, VersionState.ERASED}
    ),
    Topic.AUDIT: frozenset({AuditState.DONE, AuditState.FAILED}),
    Topic.LINKS: frozenset({ListState.READY, ListState.REJECTED}),
}


@dataclass(frozen=True)
class Piece:
    """One piece of work, as a message names it."""

    topic: Topic
    subject_id: str


@dataclass
class World:
    """``settings`` lead to the servers by the straight way, whatever way the faults take."""

    settings: Settings
    services: Services
    dataset: Dataset
    parted: Dataset
    stream: Stream
    _numbers: Any = field(default_factory=itertools.count)

    def job(self, **asked: Any) -> Piece:
        """A job of 0.01 epsilon that waits."""
        request = {"epsilon": "0.01", "method": METHOD} | asked
        job = queued_job(self.services, CALLER, self.dataset.id, secrets.token_hex(8), **request)
        return Piece(Topic.RUN, job.id)

    def tick(self) -> Piece:
        """The stream's next snapshot, which waits; the ones before it have ended."""
        with self.services.db.transaction() as session:
            step = session.get_one(StreamRow, self.stream.id).next_step
        return Piece(Topic.RUN, send(self.services, CALLER, self.stream, step)[0].job_id)

    def empty_dataset(self) -> Dataset:
        """A registered dataset, without content."""
        declared = {"unit": "edge", "epsilon": "1", "graph_schema": SCHEMA}
        name = f"empty-{next(self._numbers)}"
        return register_dataset(self.services, CALLER, NewDataset(name=name, **declared))

    def upload(self) -> Piece:
        """A dataset's upload that waits to be validated."""
        return Piece(Topic.INGEST, put_edges(self.services, self.empty_dataset().id).id)

    def audit(self) -> Piece:
        """A small audit that waits."""
        request = AuditRequest(method="laplace", epsilon="1", runs=100)
        return Piece(Topic.AUDIT, submit_audit(self.services, CALLER, request, secrets.token_hex(8))[0].id)

    def links(self) -> Piece:
        """A list of sensitive links that waits to be checked; the one before has ended."""
        view = receive_list(
            self.services, CALLER, self.dataset.id, format="csv", options={}, chunks=[LINKS], length=None
        )
        assert view.upload is not None
        return Piece(Topic.LINKS, view.upload.id)

    def evaluation(self) -> Piece:
        """The comparison of a release, which waits."""
        job = self.job(suite="quick")
        self.work(job)
        return Piece(Topic.EVALUATE, job.subject_id)

    def shard(self) -> Piece:
        """The first of several shards of a job, which wait."""
        return Piece(Topic.SHARD, shard(self._fitted()))

    def drawn(self) -> Piece:
        """A job whose shards are drawn, and which waits to be joined."""
        job = self._fitted()
        draw(self.services, job)
        return Piece(Topic.RUN, job.id)

    def _fitted(self) -> Job:
        return fitted_job(self.services, CALLER, self.parted, secrets.token_hex(8))

    def work(self, piece: Piece, settings: Settings | None = None, sabotage: Sabotage | None = None) -> bool:
        """A worker took the piece as far as it could; False if it was not free."""
        return taken(settings or self.settings, piece.topic, piece.subject_id, sabotage)

    def state(self, piece: Piece) -> str:
        """The state as the database has it."""
        with self.services.db.transaction() as session:
            row = session.get(KINDS[piece.topic].kind.model, piece.subject_id)
            return GONE if row is None else str(row.state)

    def ended(self, piece: Piece) -> bool:
        """Whether nobody has to do anything for the piece any more."""
        return self.state(piece) in ENDS[piece.topic]

    def lapse(self) -> None:
        """Time goes by: every lease that is held has run out."""
        lapse(self.services)

    def finish(self, piece: Piece, sabotage: Sabotage | None = None) -> str:
        """The state in which the piece ends, once leases run out, the reaper comes, and workers try again."""
        for _ in range(2 * self.settings.max_attempts):
            if self.ended(piece):
                break
            self.lapse()
            reap_once(self.services)
            self.work(piece, sabotage=sabotage)
        reap_once(self.services)
        return self.state(piece)

    def entries(self, job_id: str) -> list[str]:
        """The kinds of a job's ledger entries, in order."""
        return endings(self.services, job_id)

    def flaws(self, piece: Piece | None = None) -> list[str]:
        """What does not hold: in any account; in the piece's entries, files and digests."""
        found = [
            f"{promise.name}: {each.detail}"
            for promise in promises(self.services)
            for each in check(self.services, promise).findings
        ]
        return found if piece is None else found + self.flaws_of(piece)

    def flaws_of(self, piece: Piece) -> list[str]:
        """What does not hold in a job's entries, files and digests."""
        if piece.topic is not Topic.RUN:
            return []
        found = []
        kinds = self.entries(piece.subject_id)
        begun, ended = kinds.count("reserve"), len(kinds) - kinds.count("reserve")
        if kinds.count("charge") + kinds.count("forfeit") > 1:
            found.append(f"paid twice: {kinds}")
        if begun - ended != (0 if self.ended(piece) else 1) and self.state(piece) != JobState.PUBLISHING:
            found.append(f"{begun} reservations, {ended} ends: {kinds}")
        if self.state(piece) == JobState.PUBLISHED and kinds[-1:] != ["charge"]:
            found.append(f"published without a charge: {kinds}")
        found += self._told(piece) + self._altered(piece)
        try:
            assert_sound(self.services, piece.subject_id)
        except AssertionError as error:
            found.append(f"unsound: {error}")
        return found

    def _told(self, piece: Piece) -> list[str]:
        """A job that waits, of which no message was ever written."""
        if self.state(piece) != JobState.QUEUED:
            return []
        with self.services.db.transaction() as session:
            of_it = select(func.count()).where(OutboxMessage.subject_id == piece.subject_id)
            return [] if session.scalar(of_it) else ["nobody is told of the job"]

    def _altered(self, piece: Piece) -> list[str]:
        """Published files whose bytes are not those that were charged."""
        if self.state(piece) != JobState.PUBLISHED:
            return []
        with self.services.db.transaction() as session:
            files = [file for file in artifacts(session, piece.subject_id) if not file.encrypted]
        stored = {file: b"".join(self.services.store.get(file.object_key)) for file in files}
        return [
            f"other bytes: {file.name}"
            for file, content in stored.items()
            if hashlib.sha256(content).hexdigest() != file.sha256
        ]

    def row(self, piece: Piece) -> Job:
        """The job of the piece."""
        return job_row(self.services, piece.subject_id)

    def step_state(self, step: int) -> str:
        """What became of a step of the stream."""
        return str(seen(self.services, CALLER, self.stream, step).state)

    @property
    def kinds(self) -> dict[str, Callable[[], Piece]]:
        """Every kind of work, by what makes a piece of it that waits."""
        return {
            "job": self.job,
            "snapshot": self.tick,
            "upload": self.upload,
            "comparison": self.evaluation,
            "audit": self.audit,
            "list": self.links,
            "shard": self.shard,
            "drawn job": self.drawn,
        }

    def close(self) -> None:
        """Its connections are closed."""
        self.services.close()


def put_edges(services: Services, dataset_id: str) -> DatasetVersion:
    """The dataset has received its edges."""
    receive = partial(receive_part, part="edges", format="csv", options={}, length=None)
    return receive(services, CALLER, dataset_id, chunks=[ring_edges()])


def open_world(settings: Settings) -> World:
    """A world with a ready dataset, one in parts, an open stream on a third, and budget for many jobs."""
    patient = small_shards(settings.model_copy(update={"give_backs_before_block": 10**6}))
    services = open_services(patient)
    dataset = ready_dataset(services, CALLER, epsilon="900")
    calls = stream_dataset(services, CALLER, epsilon="3")
    parted = parted_dataset(services, CALLER, epsilon="9000")
    return World(patient, services, dataset, parted, open_stream(services, CALLER, calls.id))
