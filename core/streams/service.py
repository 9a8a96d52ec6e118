"""What may happen to a stream and its snapshots. No SQL, no commit.

Steps come in order, and every step that was received is published once: what was released cannot be taken
back. The exceptions are a snapshot that was refused for its content before anything of it was read through a
meter, and one whose workers were lost: its step may be sent anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from core.db.session import database_now
from core.errors import (
    IdempotencyKeyReused,
    InvalidInput,
    NotFound,
    SnapshotConflict,
    SnapshotEarly,
    SnapshotLate,
    StreamBusy,
    StreamClosed,
)
from core.streams import repository
from core.streams.models import SENT_ANEW, MissingSteps, Outcome, Snapshot, Stream, StreamState

MAX_STEP = 99_999
"""The last step that a plan can speak of."""


class Arrival(StrEnum):
    """What a snapshot that arrives is to its stream."""

    REPEATED = "repeated"
    MENDED = "mended"
    NEXT = "next"


@dataclass(frozen=True)
class Content:
    """What was sent. It has format, options, and the keyed digest of its bytes."""

    format: str
    options: dict[str, object]
    mac: str

    def same(self, row: Snapshot) -> bool:
        """Tell whether the snapshot was made from this content."""
        return (row.format, row.options, row.content_mac) == (self.format, self.options, self.mac)


def get(session: Session, *, tenant: str, stream_id: str) -> Stream:
    """Return the tenant's stream. NotFound when there is none, or when it is another tenant's."""
    stream = repository.by_id(session, stream_id)
    if stream is None or stream.tenant != tenant:
        raise NotFound("There is no such stream.", id=stream_id)
    return stream


def get_locked(session: Session, *, tenant: str, stream_id: str) -> Stream:
    """Do as :func:`get`, and lock the stream. No other transaction changes it until this one ends."""
    get(session, tenant=tenant, stream_id=stream_id)
    stream = repository.locked(session, stream_id)
    if stream is None:
        raise NotFound("There is no such stream.", id=stream_id)
    return stream


def earlier(session: Session, *, tenant: str, key: str, digest: str) -> Stream | None:
    """Find the stream that this key opened earlier. None without one; IdempotencyKeyReused for other
    content."""
    stream = repository.by_key(session, tenant=tenant, key=key)
    if stream is not None and stream.payload_hash != digest:
        raise IdempotencyKeyReused(
            "This Idempotency-Key was used for another request; use a new key.", field="Idempotency-Key"
        )
    return stream


def step_of(stream: Stream, *, step: int | None, time: int | None) -> int:
    """Find the step that is meant. It goes by its number or by a time that lies in it. InvalidInput
    otherwise."""
    if (step is None) == (time is None):
        raise InvalidInput("Say which step the snapshot is of: give step or time.", field="step")
    if step is None:
        assert time is not None
        # Rounded down before the grid's start too: such steps are negative, and refused below.
        step = (time - stream.grid_start) // stream.grid_width
    if not 0 <= step <= MAX_STEP:
        field = "step" if time is None else "time"
        raise InvalidInput(f"A stream's steps are numbered from 0 to {MAX_STEP}.", field=field)
    return step


def arrival(
    stream: Stream,
    step: int,
    row: Snapshot | None,
    content: Content | None,
    *,
    waiting: int,
    limit: int,
    pause_seconds: int,
) -> Arrival:
    """Decide what a snapshot of this step is. It is decided if it may be taken. ``row``: what stands for the
    step.

    ``content`` None: it has not been read yet, and what only it can decide is not refused. ``pause_seconds``:
    when to try again where the stream is busy. Raises SnapshotConflict, SnapshotLate, StreamClosed,
    SnapshotEarly and StreamBusy.
    """
    # A repetition first: it is answered whatever has become of the stream since.
    if row is not None and row.outcome != Outcome.LOST and (content is None or content.same(row)):
        return Arrival.REPEATED
    known = {"stream_id": stream.id, "step": step, "next_step": stream.next_step}
    if row is not None and row.outcome not in SENT_ANEW:
        raise SnapshotConflict(
            "Another snapshot was received for this step; a step is published once.",
            **known,
            state=row.outcome or "waiting",
        )
    if row is None and step < stream.next_step:
        raise SnapshotLate(
            f"The stream has gone past step {step}, for which nothing was received; it waits for step "
            f"{stream.next_step}.",
            **known,
        )
    if stream.state != StreamState.OPEN:
        raise StreamClosed("The stream is closed; it takes no further snapshot.", **known, state=stream.state)
    if row is None and step > stream.next_step and stream.missing_steps == MissingSteps.REFUSE:
        raise SnapshotEarly(
            f"Steps before {step} are missing; the stream waits for step {stream.next_step}.", **known
        )
    if waiting >= limit:
        raise StreamBusy(
            f"{waiting} snapshots of this stream wait to be published; send again later.",
            **known,
            waiting=waiting,
            limit=limit,
            retry_after=pause_seconds,
        )
    return Arrival.NEXT if row is None else Arrival.MENDED


def missing(stream: Stream, step: int, *, limit: int) -> range:
    """List the steps before this one that nobody sent. SnapshotEarly where they are more than the limit."""
    steps = range(stream.next_step, step)
    if len(steps) > limit:
        raise SnapshotEarly(
            f"{len(steps)} steps before {step} are missing; at most {limit} are published as empty at once.",
            stream_id=stream.id,
            step=step,
            next_step=stream.next_step,
            limit=limit,
        )
    return steps


def close(session: Session, stream: Stream) -> None:
    """Close the stream: it takes no further snapshot."""
    if stream.state == StreamState.OPEN:
        stream.state = StreamState.CLOSED
        stream.closed_at = database_now(session)
