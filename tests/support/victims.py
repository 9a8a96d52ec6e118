"""Processes that cost a fork: killed for good at any line of the service, or stopped at a failpoint.

A server process imports everything once; each victim is forked from it, does one act, and dies by a real
SIGKILL. What it leaves in PostgreSQL and in the store is what a worker on another host would leave.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from core import failpoints
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import JobReason, Stop
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.releases import publish
from core.workflows.releases.bundles import ReleaseFile
from core.workflows.releases.publish import JobWork
from graphveil.models.streams import Stream
from tests.support.inline import taken
from tests.support.patience import PATIENCE_SECONDS
from tests.support.streams import send
from worker.reaper import reap_once

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        *(__name__, "core.publishing.release", "core.publishing.tick", "core.methods.edgerand"),
        *(
            "papers.psgraph",
            "core.methods._shared.frame.model",
            "core.privacy.mechanisms.randomised_response",
        ),
        *("core.evaluation.utility._triangles", "opendp.measurements", "networkit", "randomgen"),
    ]
)

ROOT = Path(__file__).resolve().parents[2]
Line = tuple[str, int]
"""A file, as in the repository, and a line of it."""
Watched = dict[str, set[str] | None]
"""Files, and which of their functions (None: all)."""

LEDGER: Watched = {
    "core/ledger/service.py": None,
    "core/ledger/posting.py": None,
    "core/ledger/entries.py": None,
}
PUBLICATION: Watched = {
    "core/workflows/releases/publish.py": {"commit_release", "copy_release", "finish_release"}
}
SETTLEMENT: Watched = {
    "core/workflows/releases/publish.py": {
        "fail_job",
        "cancel_held",
        "hand_back",
        "copy_release",
        "finish_release",
    },
    "core/workflows/releases/settle.py": None,
    "core/workflows/operations/recover.py": {"recover", "finish", "expire"},
}


def publishing(services: Services, work: JobWork, files: list[ReleaseFile]) -> None:
    """As the worker does once the bytes are staged."""
    if publish.commit_release(services, work, files):
        publish.finish_release(services, work.job_id, publish.copy_release(services, work.job_id))
    else:
        publish.cancel_held(services, work)


def failing(services: Services, work: JobWork) -> None:
    """As the worker does when the child has failed."""
    publish.fail_job(services, work, JobReason.GENERATOR_FAILED)


def stopping(services: Services, work: JobWork) -> None:
    """As the worker does when the child was stopped on request."""
    publish.cancel_held(services, work)


def handing_back(services: Services, work: JobWork) -> None:
    """As the worker does when it is drained."""
    publish.hand_back(services, work, Stop.DRAINED)


def reaping(services: Services) -> None:
    """As the reaper does."""
    reap_once(services)


def working(services: Services, topic: Topic, subject_id: str) -> None:
    """As a worker does, with its child's work done in its own process."""
    taken(services.settings, topic, subject_id)


def sending(services: Services, stream: Stream, step: int) -> None:
    """As the API does with a snapshot."""
    sender = Principal("acme", "key_test", "test", frozenset({Role.CURATOR, Role.REQUESTER}))
    send(services, sender, stream, step)


def start(
    act: Callable[..., None],
    settings: Settings,
    *arguments: Any,
    points: str = "",
    watched: Watched | None = None,
    line: Line | None = None,
    into: Path | None = None,
) -> ForkServerProcess:
    """A process does the act; it is killed when it comes to the line, or as the failpoints say.

    ``into``: the lines of the watched functions that it came to are written there, in order.
    """
    own = settings.model_copy(update={"failpoints": points})
    process = _context.Process(target=_live, args=(act, own, arguments, watched or {}, line, into))
    process.start()
    return process


def killed(process: ForkServerProcess) -> bool:
    """Whether the victim was killed; otherwise it came to its end."""
    process.join(PATIENCE_SECONDS)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def die(settings: Settings, topic: Topic, subject_id: str, point: str) -> None:
    """A worker took the work, and was killed at the point."""
    assert killed(start(working, settings, topic, subject_id, points=point)), f"it never came to {point}"


def lines(
    act: Callable[..., None], settings: Settings, *arguments: Any, watched: Watched, into: Path
) -> list[Line]:
    """The lines of the watched functions to which the act comes when nothing happens to it, each once."""
    assert not killed(start(act, settings, *arguments, watched=watched, into=into))
    return list(dict.fromkeys((name, number) for name, number in json.loads(into.read_text())))


def _live(
    act: Callable[..., None],
    settings: Settings,
    arguments: tuple[Any, ...],
    watched: Watched,
    line: Line | None,
    into: Path | None,
) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until this process ends
    failpoints.arm(settings.failpoints)
    services = open_services(settings)
    with _traced(watched, line) as seen:
        act(services, *arguments)
    services.close()
    if into is not None:
        into.write_text(json.dumps(seen))


@contextmanager
def _traced(watched: Watched, line: Line | None) -> Iterator[list[Line]]:
    """Lines of watched functions are noted as the main thread comes to them; at the one line it is killed."""
    seen: list[Line] = []
    files = {str(ROOT / name): (name, functions) for name, functions in watched.items()}

    def each(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if event == "line":
            here = (files[frame.f_code.co_filename][0], frame.f_lineno)
            if here == line:
                os.kill(os.getpid(), signal.SIGKILL)
            seen.append(here)
        return each

    def called(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        return each if _is_watched(frame.f_code) else None

    def _is_watched(code: CodeType) -> bool:
        _, functions = files.get(code.co_filename, ("", set()))
        return functions is None or code.co_name in functions

    if files:
        sys.settrace(called)
    try:
        yield seen
    finally:
        sys.settrace(None)
