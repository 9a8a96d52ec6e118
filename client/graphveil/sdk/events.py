"""The calls that follow a job.

They do over a stream of events where there is one, by polls where there is not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from graphveil.errors import ClientError, ProblemError, TransportError, WaitTimeout
from graphveil.models.jobs import TERMINAL, Event, Events, Job
from graphveil.sdk.transport import Transport

POLL_SECONDS = 2.0
SILENCE_SECONDS = 60.0  # a stream says something several times a minute
STREAM = "text/event-stream"
_REFUSALS_OF_STREAMS = frozenset({406, 429, 502, 503, 504})


@dataclass(frozen=True)
class Change:
    """What happened to a job.

    It is a step forward, or a state that it came to; the other one is None.

    ``sequence`` is where to go on after a break; None where a poll found the state.
    """

    sequence: int | None
    step: Event | None = None
    state: str | None = None


class _NoStreamError(ClientError):
    """Something between here and the service answers without a stream."""


class EventCalls:
    """List a job's steps, follow them, wait for the end."""

    _calls: Transport
    job: Callable[[str], Job]

    def events(self, job_id: str, *, after: int = 0) -> list[Event]:
        """Read the job's steps since the one numbered ``after``."""
        return self._calls.read(Events, "GET", f"/jobs/{job_id}/events", params={"after": after}).items

    def follow(
        self, job_id: str, *, after: int = 0, timeout_seconds: float | None = None
    ) -> Iterator[Change]:
        """Yield the job's events behind ``after`` until it ends.

        ``after`` is a number; events come as they happen. A stream that breaks off, or has used up its time,
        is taken up where it was. Where the service gives none, it is polled. WaitTimeout once the time is
        over.
        """
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        place, state, streaming = after, None, True
        while True:
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"job {job_id} has not ended within {timeout_seconds} seconds")
            if streaming:
                try:
                    for change in self._streamed(job_id, place, deadline):
                        if change is None:
                            return
                        place = change.sequence or place
                        yield change
                except (_NoStreamError, TransportError):
                    streaming = False
                except ProblemError as problem:
                    if problem.status not in _REFUSALS_OF_STREAMS:
                        raise
                    streaming = False
                continue
            job = self.job(job_id)  # before its steps: once it has ended, they are all there
            for step in self.events(job_id, after=place):
                place = step.sequence
                yield Change(step.sequence, step=step)
            if job.state != state:
                state = job.state
                yield Change(None, state=state)
            if job.state in TERMINAL:
                return
            self._calls.sleep(POLL_SECONDS)

    def wait(
        self,
        job_id: str,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[Job, Event | None], None] | None = None,
    ) -> Job:
        """Wait for the job's last state, and return it.

        It is whichever state that is; WaitTimeout if it comes too late.

        ``on_progress`` is called at every change with the job and its newest step, if there is one.
        """
        job = self.job(job_id)
        newest: Event | None = None
        if on_progress:
            steps = self.events(job_id)
            newest = steps[-1] if steps else None
            on_progress(job, newest)
        if job.state in TERMINAL:
            return job
        after = newest.sequence if newest else 0
        for change in self.follow(job_id, after=after, timeout_seconds=timeout_seconds):
            newest = change.step or newest
            if change.state is not None:
                job = job.model_copy(update={"state": change.state})
            if on_progress:
                on_progress(job, newest)
        return self.job(job_id)

    def _streamed(self, job_id: str, place: int, deadline: float | None) -> Iterator[Change | None]:
        """Yield the changes of one stream, and None once the job has ended; stop where the stream or time
        ends.
        """
        silence = SILENCE_SECONDS
        if deadline is not None:
            silence = min(silence, max(0.1, deadline - time.monotonic()))
        headers = {"Accept": STREAM, "Last-Event-ID": str(place)}
        path = f"/jobs/{job_id}/events"
        with self._calls.stream(path, headers=headers, silence_seconds=silence) as answer:
            if not answer.headers.get("Content-Type", "").startswith(STREAM):
                raise _NoStreamError("the answer is no stream of events")
            for name, data in frames(answer.iter_lines()):
                if name == "step":
                    step = Event.model_validate(data)
                    yield Change(step.sequence, step=step)
                elif name == "state":
                    yield Change(int(data["sequence"]), state=str(data["state"]))
                elif name == "end":
                    yield None
                    return
                if deadline is not None and time.monotonic() >= deadline:
                    return


def frames(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Parse each event into its name and JSON content. A comment is an event without a name or content."""
    name, data = "", []
    for line in lines:
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            continue
        yield name, json.loads("\n".join(data)) if data else None
        name, data = "", []
